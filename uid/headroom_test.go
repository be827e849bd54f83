package uid

import "testing"

// TestHeadroomIsCleared gives a lane a word with the traces of two billion failed adds: whoever prepares the lane for a new run
// clears them, so that they never spill into run and tick.
func TestHeadroomIsCleared(t *testing.T) {
	t.Parallel()
	k := newCodec(28, 35, 13, 9, 0)
	var l lane
	l.word.Store(k.usedUp() + 1<<31)
	if !l.idle(&k) || l.word.Load() != k.usedUp() {
		t.Errorf("the word is %#x, want %#x", l.word.Load(), k.usedUp())
	}
	l.word.Store(k.word(7, 512)) // inside a run: not to be touched
	if l.idle(&k) || l.word.Load() != k.word(7, 512) {
		t.Errorf("the word of a run is %#x, want %#x", l.word.Load(), k.word(7, 512))
	}
}
