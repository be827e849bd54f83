package contender

import (
	"runtime"
	"time"

	"github.com/uidring/uidring/bench/rivals"
)

// Original is the name of the row of the original's own ring.
const Original = "rival/original ring"

// alternatives returns the designs that uid.Cached was chosen over.
func alternatives() []Contender {
	second := PerTick(1<<13, time.Second, Borrows)
	row := func(name, note string, start func() (*Instance, error)) Contender {
		return Contender{Name: name, Group: Rival, Bits: 63, Time: true, Ceiling: second, Note: note, New: start}
	}
	return []Contender{
		row("rival/shared add under a limit", "one position word for all", newShared),
		row("rival/headroom lane", "atomic add in a lane, with room for late comers", newHeadroom),
		row("rival/striped blocks", "a block and a mutex per stripe", newStriped),
		row("rival/sync.Pool runs", "a run per processor", newPool),
		row("rival/channel", "a buffered channel and a producer", newChannel),
		row(Original, "Baidu's ring as described, flaw and all", newOriginal),
	}
}

func newShared() (*Instance, error) {
	r := rivals.NewShared(worker)
	return &Instance{Close: r.Close,
		Keys: integers(func() (int64, error) { return r.Next(), nil }),
		Run: func(n int) error {
			for range n {
				r.Next()
			}
			return nil
		}}, nil
}

func newHeadroom() (*Instance, error) {
	r := rivals.NewHeadroom(worker)
	return &Instance{Close: r.Close,
		Keys: integers(func() (int64, error) { return r.Next(), nil }),
		Run: func(n int) error {
			for range n {
				r.Next()
			}
			return nil
		}}, nil
}

func newStriped() (*Instance, error) {
	r := rivals.NewStriped(worker)
	return &Instance{Close: r.Close,
		Keys: integers(func() (int64, error) { return r.Next(), nil }),
		Run: func(n int) error {
			for range n {
				r.Next()
			}
			return nil
		}}, nil
}

func newPool() (*Instance, error) {
	r := rivals.NewPool(worker)
	return &Instance{Close: r.Close,
		Keys: integers(func() (int64, error) { return r.Next(), nil }),
		Run: func(n int) error {
			for range n {
				r.Next()
			}
			return nil
		}}, nil
}

func newChannel() (*Instance, error) {
	r := rivals.NewChannel(worker)
	return &Instance{Close: r.Close,
		Keys: integers(func() (int64, error) { return r.Next(), nil }),
		Run: func(n int) error {
			for range n {
				r.Next()
			}
			return nil
		}}, nil
}

// newOriginal tries again after an error, as the original's users have to; what the retries cost is in the row.
func newOriginal() (*Instance, error) {
	r := rivals.NewOriginal(worker)
	again := func() int64 {
		for {
			id, err := r.Next()
			if err == nil {
				return id
			}
			runtime.Gosched()
		}
	}
	return &Instance{Close: r.Close, Keys: integers(func() (int64, error) { return again(), nil }), Run: func(n int) error {
		for range n {
			if _, err := r.Next(); err != nil {
				again()
			}
		}
		return nil
	}}, nil
}
