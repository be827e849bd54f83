package lease

import (
	"strings"
	"testing"
)

// at is a store that says where it is, and no more.
type at struct {
	Store
	place string
}

func (s at) String() string { return s.place }

// TestMovePlaces: what headers keep of the places of a move fits its columns, has nothing that a list of
// layouts gives a meaning, and tells places apart.
func TestMovePlaces(t *testing.T) {
	t.Parallel()
	of := func(place string) *space { return &space{store: at{place: place}} }
	for place, want := range map[string]string{
		"etcd at [::1]:2379 ~":     "moved to etcd at [::1]:2379 ?",
		"a|b~c, of\x00\n\x1fé\x7f": "moved to a?b?c, of?????",
		strings.Repeat("x", 182):   "moved to " + strings.Repeat("x", 182),
		strings.Repeat("x", 183):   "moved to " + strings.Repeat("x", 182),
	} {
		if got := sealOf(of(place)); got != want {
			t.Errorf("sealOf(%q) = %q, want %q", place, got, want)
		}
	}
	long := strings.Repeat("x", 42)
	for place, want := range map[string]string{
		"a|b": "a?b", long: long, "y" + long: long,
	} {
		text, hash, ok := strings.Cut(originOf(of(place)), " #")
		if !ok || text != want || len(hash) != 16 {
			t.Errorf("originOf(%q) = %q and %q, want %q and 16 digits", place, text, hash, want)
		}
	}
	if originOf(of("y"+long)) == originOf(of("z"+long)) {
		t.Error("two places with one end have one origin")
	}
}

// TestMaxWorkerOf: the highest worker id of a list is that of the layout with the fewest.
func TestMaxWorkerOf(t *testing.T) {
	t.Parallel()
	const rest = "-13-0/1s@2000-01-01T00:00:00Z"
	for layouts, want := range map[string]int64{
		"28-22" + rest: 1<<22 - 1, "28-22" + rest + ",30-20" + rest: 1<<20 - 1,
		"30-20" + rest + ",28-22" + rest: 1<<20 - 1,
		"":                               0, "a layout": 0, "28-22" + rest + ",x": 0, "28--5" + rest: 0, "28-22": 0,
	} {
		if got := maxWorkerOf(layouts); got != want {
			t.Errorf("maxWorkerOf(%q) = %d, want %d", layouts, got, want)
		}
	}
}
