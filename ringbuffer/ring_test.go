package ringbuffer

import "testing"

func TestFIFO(t *testing.T) {
	t.Parallel()
	r, err := New(4, nil)
	if err != nil {
		t.Fatal(err)
	}
	var next int64
	for i := range int64(1000) {
		if !r.TryPut(i) {
			t.Fatalf("TryPut(%d) = false", i)
		}
		if i%3 == 2 {
			for {
				uid, ok := r.TryTake()
				if !ok {
					break
				}
				if uid != next {
					t.Fatalf("got %d, want %d", uid, next)
				}
				next++
			}
		}
	}
}
