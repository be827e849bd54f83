package lincheck

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/uidring/uidring/uid"
)

// counter is a generator in its simplest form. Its faults can be switched on one by one.
type counter struct {
	torn  bool // the word is loaded and stored instead of added to
	loose bool // runs are claimed in order, but begun without a lock
	deaf  bool // Close does not stop a lane that has a run

	mu     sync.Mutex
	word   atomic.Int64 // the newest id handed out; runs of four
	runs   atomic.Int64 // runs claimed
	closed atomic.Bool
}

func (c *counter) Next(context.Context) (uid.ID, error) {
	for {
		if c.closed.Load() && !c.deaf {
			return 0, uid.ErrClosed
		}
		if !c.loose {
			c.mu.Lock()
		}
		w := c.word.Load()
		if c.torn {
			c.mu.Unlock()
			runtime.Gosched()
			c.word.Store(w + 1)
			return uid.ID(w + 1), nil
		}
		if w&3 == 3 {
			w = 4*c.runs.Add(1) - 1
			if c.loose {
				runtime.Gosched()
			}
			c.word.Store(w)
		}
		ok := c.word.CompareAndSwap(w, w+1)
		if !c.loose {
			c.mu.Unlock()
		}
		if ok {
			return uid.ID(w + 1), nil
		}
	}
}

func (c *counter) Fill(ctx context.Context, ids []uid.ID) (n int, err error) {
	for n < len(ids) && err == nil {
		if ids[n], err = c.Next(ctx); err == nil {
			n++
		}
	}
	return n, err
}

func (c *counter) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed.Store(true)
	return nil
}

// TestBrokenSources checks that the model accepts the counter, and refuses histories of it with
// each of its faults.
func TestBrokenSources(t *testing.T) {
	t.Parallel()
	const rounds = 100
	for name, c := range map[string]struct {
		broken func() *counter
		want   porcupine.CheckResult
	}{
		"nothing is broken":         {func() *counter { return &counter{} }, porcupine.Ok},
		"a word moved in two steps": {func() *counter { return &counter{torn: true} }, porcupine.Illegal},
		"a refill without a lock":   {func() *counter { return &counter{loose: true} }, porcupine.Illegal},
		"ids after Close":           {func() *counter { return &counter{deaf: true} }, porcupine.Illegal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range rounds {
				g := c.broken()
				g.word.Store(3)
				g.runs.Store(1)
				got := checkSource(recordSource(t, g, load{goroutines: 4, calls: 40, close: true}, uint64(round)), -1)
				if got != porcupine.Ok {
					if got != c.want {
						t.Errorf("round %d is %s, want %s", round, got, c.want)
					}
					return
				}
			}
			if c.want != porcupine.Ok {
				t.Errorf("all %d histories pass, want one that is refused", rounds)
			}
		})
	}
}

// TestImpossibleSources checks histories written by hand, each of which breaks one rule, next to a
// lawful twin.
func TestImpossibleSources(t *testing.T) {
	t.Parallel()
	type call struct {
		op         sourceOp
		begin, end int64
		first      int64
		last       int64
	}
	for _, c := range []struct {
		name  string
		want  porcupine.CheckResult
		calls []call
	}{
		{"one after the other", porcupine.Ok, []call{{take, 0, 1, 5, 5}, {take, 2, 3, 6, 6}}},
		{"with a gap", porcupine.Ok, []call{{take, 0, 1, 5, 5}, {take, 2, 3, 900, 900}}},
		{"backwards", porcupine.Illegal, []call{{take, 0, 1, 6, 6}, {take, 2, 3, 5, 5}}},
		{"backwards at the same time", porcupine.Ok, []call{{take, 0, 3, 6, 6}, {take, 1, 2, 5, 5}}},
		{"an id twice", porcupine.Illegal, []call{{take, 0, 9, 5, 5}, {take, 0, 9, 5, 5}}},
		{"an id of an earlier round", porcupine.Illegal, []call{{take, 0, 1, 4, 4}}},
		{"an id inside a stretch", porcupine.Illegal, []call{{take, 0, 9, 5, 8}, {take, 0, 9, 6, 6}}},
		{"backwards past a long call", porcupine.Illegal,
			[]call{{take, 0, 9, 7, 7}, {take, 1, 2, 8, 8}, {take, 3, 4, 6, 6}}},
		{"refused while open", porcupine.Illegal,
			[]call{{refused, 0, 1, 0, 0}, {closing, 2, 3, 0, 0}, {closed, 2, 3, 0, 0}}},
		{"refused while closing", porcupine.Ok, []call{{closing, 0, 9, 0, 0}, {closed, 0, 9, 0, 0},
			{refused, 1, 2, 0, 0}, {take, 3, 4, 5, 5}}},
		{"served when closed", porcupine.Illegal,
			[]call{{closing, 0, 1, 0, 0}, {closed, 0, 1, 0, 0}, {take, 2, 3, 5, 5}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var history []porcupine.Operation
			for i, k := range c.calls {
				history = append(history, porcupine.Operation{ClientId: i, Input: k.op,
					Output: stretch{k.first, k.last}, Call: k.begin, Return: k.end})
			}
			if got := checkSource(history, 4); got != c.want {
				t.Errorf("the history is %s, want %s", got, c.want)
			}
		})
	}
}

// TestUndecidedSource checks a history of TestMixes, of 501 takes by three callers, that porcupine
// did not decide within a minute: with the takes in the order of their ids it does at once. With
// the ids of two takes exchanged it refuses it.
func TestUndecidedSource(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/undecided.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var history []porcupine.Operation
	for lines := bufio.NewScanner(f); lines.Scan(); {
		op, ids := porcupine.Operation{Input: take}, stretch{}
		if _, err := fmt.Sscan(lines.Text(), &op.ClientId, &op.Call, &op.Return, &ids.first, &ids.last); err != nil {
			t.Fatal(err)
		}
		op.Output = ids
		history = append(history, op)
	}
	if got := checkSource(history, -1); len(history) != 501 || got != porcupine.Ok {
		t.Errorf("the history of %d steps is %s, want 501 that are %s", len(history), got, porcupine.Ok)
	}
	first, last := &history[0], &history[len(history)-1]
	if first.Return >= last.Call {
		t.Fatal("the first and the last take overlap, want them one after the other")
	}
	first.Output, last.Output = last.Output, first.Output
	if got := checkSource(history, -1); got != porcupine.Illegal {
		t.Errorf("with two takes exchanged the history is %s, want %s", got, porcupine.Illegal)
	}
}
