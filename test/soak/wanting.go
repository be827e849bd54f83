package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner"
)

// wanting is an Assigner of a process that wants one worker id. Its first Assign takes any only
// when patience is over. That brings a third process to a worker id that two have had, as many
// processes on few worker ids would.
type wanting struct {
	all, one assigner.Assigner
	patience time.Duration
	tried    atomic.Bool
}

// BindLayout binds both.
func (w *wanting) BindLayout(layout string) assigner.Assigner {
	for _, a := range []*assigner.Assigner{&w.all, &w.one} {
		if b, ok := (*a).(assigner.LayoutBinder); ok {
			*a = b.BindLayout(layout)
		}
	}
	return w
}

func (w *wanting) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	if w.tried.Swap(true) {
		return w.all.Assign(ctx, maxWorker)
	}
	for end := time.Now().Add(w.patience); time.Now().Before(end); {
		short, cancel := context.WithDeadline(ctx, end)
		c, err := w.one.Assign(short, maxWorker)
		cancel()
		if err == nil || ctx.Err() != nil {
			return c, err
		}
		time.Sleep(50 * time.Millisecond) // another process has it, or it is not given out
	}
	return w.all.Assign(ctx, maxWorker)
}
