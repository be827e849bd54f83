package uid

import "testing"

// TestHeadroomIsCleared gives a lane a word with the traces of two billion failed adds: whoever prepares the lane for a new run
// clears them, so that they never spill into run and tick.
func TestHeadroomIsCleared(t *testing.T) {
	t.Parallel()
	k := newCodec(28, 35, 13, 9, 0)
	var l lane
	l.Word.Store(k.UsedUp() + 1<<31)
	if !l.Idle(&k.Counter) || l.Word.Load() != k.UsedUp() {
		t.Errorf("the word is %#x, want %#x", l.Word.Load(), k.UsedUp())
	}
	l.Word.Store(k.word(7, 512)) // inside a run: not to be touched
	if l.Idle(&k.Counter) || l.Word.Load() != k.word(7, 512) {
		t.Errorf("the word of a run is %#x, want %#x", l.Word.Load(), k.word(7, 512))
	}
}
