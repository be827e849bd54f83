package contender

import (
	"runtime"

	"github.com/uidring/uidring/bench/rivals"
)

// Original is the row of the original's own ring.
const Original = "rival/original ring"

// alternatives returns the designs that uid.Cached was chosen over.
func alternatives() []Contender {
	row := func(name, note string, start func() Instance) Contender {
		return Contender{Name: name, Group: Rival, Bits: 63, Time: true, Rate: second(13, Borrows),
			Note: note, New: startless(start)}
	}
	return []Contender{
		row("rival/shared word", "one position word that all callers add to, below a limit",
			func() Instance { return shared{rivals.NewShared(worker)} }),
		row("rival/sync.Pool", "a run per processor in a `sync.Pool`",
			func() Instance { return pool{rivals.NewPool(worker)} }),
		row("rival/channel", "a buffered channel that a goroutine fills",
			func() Instance { return channel{rivals.NewChannel(worker)} }),
		row(Original, "Baidu's ring as its description reads, flaw included",
			func() Instance { return original{rivals.NewOriginal(worker)} }),
	}
}

type shared struct{ *rivals.Shared }

func (r shared) Run(n int) error {
	for range n {
		r.Next()
	}
	return nil
}

func (r shared) Keys(dst []Key) error {
	return each(dst, func() (Key, error) { return integer(r.Next()), nil })
}

type pool struct{ *rivals.Pool }

func (r pool) Run(n int) error {
	for range n {
		r.Next()
	}
	return nil
}

func (r pool) Keys(dst []Key) error {
	return each(dst, func() (Key, error) { return integer(r.Next()), nil })
}

type channel struct{ *rivals.Channel }

func (r channel) Run(n int) error {
	for range n {
		r.Next()
	}
	return nil
}

func (r channel) Keys(dst []Key) error {
	return each(dst, func() (Key, error) { return integer(r.Next()), nil })
}

type original struct{ *rivals.Original }

// Run tries again after an error, as the original's users have to. The row includes the retries.
func (r original) Run(n int) error {
	for range n {
		for _, err := r.Next(); err != nil; _, err = r.Next() {
			runtime.Gosched()
		}
	}
	return nil
}

func (r original) Keys(dst []Key) error {
	return each(dst, func() (Key, error) {
		id, err := r.Next()
		for ; err != nil; id, err = r.Next() {
			runtime.Gosched()
		}
		return integer(id), nil
	})
}
