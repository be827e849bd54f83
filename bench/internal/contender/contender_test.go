package contender_test

import (
	"regexp"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/uidring/uidring/bench/internal/contender"
)

// flawed are the contenders that are known to hand an id out twice when goroutines share them.
func flawed(name string) bool { return name == contender.Original || name == "muyo/sno" }

func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range contender.All() {
		if seen[c.Name] {
			t.Errorf("two contenders are called %q", c.Name)
		}
		seen[c.Name] = true
		if got, ok := contender.ByName(c.Name); !ok || got.Name != c.Name {
			t.Errorf("ByName(%q) = %q, %v", c.Name, got.Name, ok)
		}
	}
	if _, ok := contender.ByName("nobody"); ok {
		t.Error(`ByName("nobody") found something`)
	}
}

// The names that the report's targets are about must be among the contenders.
func TestNamedContendersExist(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		contender.CachedOneLane, contender.CachedManyLanes, contender.CachedOriginal, contender.CachedFill, contender.CachedManyFill,
		contender.DefaultWide, contender.DefaultNarrow, contender.AtomicAdd, contender.AtomicAddOwn, contender.TimeNow,
		contender.WUID, contender.Original,
	} {
		if _, ok := contender.ByName(name); !ok {
			t.Errorf("no contender is called %q", name)
		}
	}
}

// Every contender starts, makes ids with Run, makes different ones with Keys from two goroutines, and closes.
func TestContenders(t *testing.T) {
	for _, c := range contender.All() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			in, err := c.New()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			if err := in.Run(300); err != nil {
				t.Fatalf("Run: %v", err)
			}
			if (in.Keys == nil) != (c.Bits == 0) && c.Group != contender.Floor {
				t.Fatalf("Keys is there: %v, want it if and only if there are ids, of %d bits", in.Keys != nil, c.Bits)
			}
			if in.Keys == nil {
				return
			}
			keys := make([]contender.Key, 2000)
			var wg sync.WaitGroup
			for g := range 2 {
				wg.Go(func() {
					if err := in.Keys(keys[1000*g : 1000*(g+1)]); err != nil {
						t.Errorf("Keys: %v", err)
					}
				})
			}
			wg.Wait()
			slices.SortFunc(keys, contender.Key.Compare)
			for i := 1; i < len(keys); i++ {
				if keys[i] == keys[i-1] && !flawed(c.Name) {
					t.Fatalf("%v was handed out twice", keys[i])
				}
			}
			if keys[0] == (contender.Key{}) {
				t.Error("an id was not set")
			}
		})
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	got := contender.Select(contender.All(), regexp.MustCompile(`^google/`))
	if len(got) != 2 || got[0].Name != "google/uuid v4" || got[1].Name != "google/uuid v7" {
		t.Errorf("Select(^google/) = %d contenders, want v4 and v7", len(got))
	}
}

// BenchmarkNext is every contender on one goroutine, for users of benchstat.
func BenchmarkNext(b *testing.B) {
	for _, c := range contender.All() {
		b.Run(c.Name, func(b *testing.B) {
			in, err := c.New()
			if err != nil {
				b.Fatal(err)
			}
			defer in.Close()
			b.ReportAllocs()
			b.ResetTimer()
			if err := in.Run(b.N); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkNextParallel is every contender on as many goroutines as -cpu says. Each makes its share in one call: what
// RunParallel counts per turn costs as much as an id does.
func BenchmarkNextParallel(b *testing.B) {
	for _, c := range contender.All() {
		b.Run(c.Name, func(b *testing.B) {
			in, err := c.New()
			if err != nil {
				b.Fatal(err)
			}
			defer in.Close()
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			procs := runtime.GOMAXPROCS(0)
			for g := range procs {
				wg.Go(func() {
					if err := in.Run(b.N*(g+1)/procs - b.N*g/procs); err != nil {
						b.Error(err)
					}
				})
			}
			wg.Wait()
		})
	}
}
