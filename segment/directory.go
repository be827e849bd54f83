package segment

import "unsafe"

// directory finds a tag by its name. It is immutable; a change makes another one. A map alone costs about as much as the
// atomic add that the look-up is for, so names are looked up in a small table first, whose index takes three loads and two
// multiplications to compute, and there is nothing that a look-up writes.
type directory struct {
	slots [64]*Tag // by slot(name); of names that share a slot, one
	tags  map[string]*Tag
}

// slot takes a name's length, last and middle byte into account, where names of one scheme differ the most.
func slot(name string) uint {
	n := uint(len(name))
	if n == 0 {
		return 0
	}
	return (n + 7*uint(name[n-1]) + 29*uint(name[n/2])) % 64
}

// find returns the tag of that name or nil.
func (d *directory) find(name string) *Tag {
	if t := d.slots[slot(name)]; t != nil && same(t.name, name) {
		return t
	}
	return d.tags[name]
}

// same is a == b. The compiler's comparison is a call; a program that names a tag by a constant passes the very bytes that the
// tag was made with, and is spared it. The pointers are compared and not followed, so unsafe is harmless.
func same(a, b string) bool {
	return len(a) == len(b) && (unsafe.StringData(a) == unsafe.StringData(b) || a == b)
}

// with returns a directory that also has t.
func (d *directory) with(t *Tag) *directory {
	e := &directory{tags: make(map[string]*Tag, len(d.tags)+1)}
	for _, o := range d.tags {
		e.add(o)
	}
	e.add(t)
	return e
}

// without returns a directory that does not have t.
func (d *directory) without(t *Tag) *directory {
	e := &directory{tags: make(map[string]*Tag, len(d.tags))}
	for _, o := range d.tags {
		if o != t {
			e.add(o)
		}
	}
	return e
}

func (d *directory) add(t *Tag) {
	d.tags[t.name] = t
	if i := slot(t.name); d.slots[i] == nil {
		d.slots[i] = t
	}
}
