// Package ringbuffer is a bounded ring of uids: one producer at a time, lock-free takers.
package ringbuffer
