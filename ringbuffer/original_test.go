package ringbuffer_test

import (
	"errors"
	"testing"
)

// original is the take logic of the design that this ring repairs, in slow motion: a flag says full
// or empty and nothing of the lap, a take reads the cursor and advances it in two steps, judges
// "empty" by comparing the two values, and gives the slot back in a step of its own. It serves the
// tests below, which show what that leads to, and that this ring does not.
type original struct {
	uids         []int64
	full         []bool
	tail, cursor int64
}

var errNotFull = errors.New("the slot is not full")

func newOriginal(size int) *original {
	return &original{uids: make([]int64, size), full: make([]bool, size), tail: -1, cursor: -1}
}

func (o *original) slot(p int64) int { return int(p) & (len(o.uids) - 1) }

// put fills the slot after the tail, if the distance to the cursor allows it and the flag says that
// the slot is empty.
func (o *original) put(uid int64) bool {
	i := o.slot(o.tail + 1)
	if o.tail-max(o.cursor, 0) == int64(len(o.uids))-1 || o.full[i] {
		return false
	}
	o.uids[i], o.full[i] = uid, true
	o.tail++
	return true
}

// originalTake is one take. Each method is one step.
type originalTake struct {
	o            *original
	before, next int64
}

// load reads the cursor.
func (o *original) load() originalTake { return originalTake{o: o, before: o.cursor} }

// advance moves the cursor unless it has reached the tail, and reports whether it believes to have
// a uid.
func (k *originalTake) advance() bool {
	if k.o.cursor != k.o.tail {
		k.o.cursor++
	}
	k.next = k.o.cursor
	return k.next != k.before
}

// read reads the uid of the slot it believes to own, if its flag says full.
func (k *originalTake) read() (int64, error) {
	if !k.o.full[k.o.slot(k.next)] {
		return 0, errNotFull
	}
	return k.o.uids[k.o.slot(k.next)], nil
}

// free gives the slot back.
func (k *originalTake) free() { k.o.full[k.o.slot(k.next)] = false }

// take is a whole take without interruption.
func (o *original) take() (int64, error) {
	k := o.load()
	if !k.advance() {
		return 0, errNotFull
	}
	uid, err := k.read()
	if err == nil {
		k.free()
	}
	return uid, err
}

// TestTwoTakersOneUID: two takers meet at the last uid of the ring. The original gives it to both
// of them.
func TestTwoTakersOneUID(t *testing.T) {
	t.Parallel()

	o := newOriginal(8)
	o.put(100)
	a, b := o.load(), o.load()
	if !a.advance() {
		t.Fatal("original: the first taker finds the ring empty")
	}
	// The cursor has reached the tail, and differs from what the second taker loaded: it takes the
	// first one's step for its own.
	if !b.advance() {
		t.Fatal("original: the second taker finds the ring empty, so the model does not show the flaw")
	}
	uidA, errA := a.read()
	uidB, errB := b.read()
	if uidA != 100 || uidB != 100 || errA != nil || errB != nil {
		t.Fatalf("original: takers got %d, %v and %d, %v, and the model is to show 100 twice", uidA, errA, uidB, errB)
	}

	r := newRing(t, 8, nil)
	wantPut(t, r, 100)
	c, d := r.Look(), r.Look()
	if uid, ahead := c.Peek(); uid != 100 || ahead != 0 {
		t.Fatalf("first Peek = %d, %d, want 100, 0", uid, ahead)
	}
	if uid, ahead := d.Peek(); uid != 100 || ahead != 0 {
		t.Fatalf("second Peek = %d, %d, want 100, 0", uid, ahead)
	}
	if !c.Claim(1) {
		t.Error("first Claim = false, want true")
	}
	if d.Claim(1) {
		t.Error("second Claim = true, want false: the uid has an owner")
	}
	wantEmpty(t, r)
}

// TestStaleIndexTakesLaterLap: a taker with an index of one lap goes on in the next. The original
// gives it the later lap's uid, out of turn; whose turn it is finds the slot empty, and fails
// although the ring is not.
func TestStaleIndexTakesLaterLap(t *testing.T) {
	t.Parallel()
	const size = 2

	o := newOriginal(size)
	o.put(100)
	stale := o.load()
	if uid, err := o.take(); uid != 100 || err != nil {
		t.Fatalf("original: take = %d, %v, want 100", uid, err)
	}
	if !stale.advance() { // as in TestTwoTakersOneUID
		t.Fatal("original: the stale taker finds the ring empty, so the model does not show the flaw")
	}
	o.put(101)
	if uid, err := o.take(); uid != 101 || err != nil {
		t.Fatalf("original: take = %d, %v, want 101", uid, err)
	}
	o.put(102) // the slot of 100, a lap later
	uid, err := stale.read()
	if uid != 102 || err != nil {
		t.Fatalf("original: the stale taker got %d, %v, and the model is to show 102, a lap too late", uid, err)
	}
	stale.free()
	if _, err := o.take(); !errors.Is(err, errNotFull) {
		t.Fatalf("original: take = %v, and the model is to show %v", err, errNotFull)
	}

	r := newRing(t, size, nil)
	wantPut(t, r, 100)
	late := r.Look()
	wantTake(t, r, 100)
	wantPut(t, r, 101)
	wantPut(t, r, 102)
	if uid, ahead := late.Peek(); ahead != size {
		t.Errorf("Peek = %d, %d, want a flag that is %d ahead", uid, ahead, size)
	}
	if late.Claim(1) {
		t.Error("Claim = true, want false")
	}
	wantTake(t, r, 101)
	wantTake(t, r, 102)
	wantEmpty(t, r)
}

// TestTakerThatDies: a taker ends between moving the cursor and giving the slot back, as one does
// whose caller panics or is killed. The original's slot stays full: each lap ends there, for ever.
func TestTakerThatDies(t *testing.T) {
	t.Parallel()
	const size = 2

	o := newOriginal(size)
	o.put(100)
	dying := o.load()
	dying.advance()
	if !o.put(101) {
		t.Fatal("original: no room for 101")
	}
	if uid, err := o.take(); uid != 101 || err != nil {
		t.Fatalf("original: take = %d, %v, want 101", uid, err)
	}
	if o.put(102) || o.tail != o.cursor {
		t.Fatal("original: the empty ring takes a uid, and the model is to show that it never does again")
	}

	r := newRing(t, size, nil)
	wantPut(t, r, 100)
	if dead := r.Look(); !dead.Claim(1) { // claimed, and nothing follows
		t.Fatal("Claim = false, want true")
	}
	for uid := int64(101); uid < 110; uid++ {
		wantPut(t, r, uid)
		wantTake(t, r, uid)
	}
}
