// Package segbound has the bounds of a segment.Range.
package segbound

// The bounds.
const (
	Stride = 65535          // the largest Stride, that of MySQL's auto_increment_increment
	Span   = int64(1) << 31 // the largest To-From, and so the largest step
)
