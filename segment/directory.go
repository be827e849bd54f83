package segment

import (
	"maps"
	"sync/atomic"
	"unsafe"
)

// directory finds a tag by its name. A map alone costs about as much as the atomic add that the look-up is for, so names are
// looked up in a small table first, whose index takes three loads and two multiplications to compute. A look-up writes
// nothing. Changes are made under Generator.mu; a look-up that overlaps one finds what was there before it or after it.
type directory struct {
	near [slots]atomic.Pointer[Tag]      // by slot(name); of the tags that share a slot, one or none
	all  atomic.Pointer[map[string]*Tag] // every tag; the map is never changed, but replaced. nil: no tag yet
}

const slots = 256

// slot takes a name's length, last and middle byte into account, where names of one scheme differ the most.
func slot(name string) uint8 {
	n := len(name)
	if n == 0 {
		return 0
	}
	return uint8(n) + 7*name[n-1] + 29*name[n/2]
}

// same is a == b. The compiler's comparison is a call; a program that names a tag by a constant passes the very bytes that the
// tag was made with, and is spared it. The pointers are compared and not followed, so unsafe is harmless.
func same(a, b string) bool {
	return len(a) == len(b) && (unsafe.StringData(a) == unsafe.StringData(b) || a == b)
}

// find returns the tag of that name or nil. Generator.Next looks into near first.
func (d *directory) find(name string) *Tag { return d.tags()[name] }

// tags returns all tags, not to be changed.
func (d *directory) tags() map[string]*Tag {
	if m := d.all.Load(); m != nil {
		return *m
	}
	return nil
}

// add adds t and publishes its fields to every look-up.
func (d *directory) add(t *Tag) {
	tags := maps.Clone(d.tags())
	if tags == nil {
		tags = make(map[string]*Tag)
	}
	tags[t.name] = t
	d.all.Store(&tags)
	d.near[slot(t.name)].CompareAndSwap(nil, t)
}

// remove removes t if it is there.
func (d *directory) remove(t *Tag) {
	if d.tags()[t.name] != t {
		return
	}
	tags := maps.Clone(d.tags())
	delete(tags, t.name)
	d.all.Store(&tags)
	d.near[slot(t.name)].CompareAndSwap(t, nil)
}
