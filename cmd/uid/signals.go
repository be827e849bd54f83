package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
)

// signalError is the cause of a context that a signal ended.
type signalError struct{ signal os.Signal }

func (e signalError) Error() string { return e.signal.String() }

// code returns the exit status that a shell reports for a program that the signal ended: 128 plus
// its number.
func (e signalError) code() int {
	if n, ok := e.signal.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return exitFailure
}

// hangups passes SIGHUP on to a command that listens for it. While none does, the signal ends the
// run. Its methods are safe for concurrent use.
type hangups struct{ heard atomic.Pointer[chan struct{}] }

// hear returns a channel that gets a value for each SIGHUP from now on, or for several in a row.
func (h *hangups) hear() <-chan struct{} {
	ch := make(chan struct{}, 1)
	h.heard.Store(&ch)
	return ch
}

// pass passes one SIGHUP on, and reports whether a command listens.
func (h *hangups) pass() bool {
	ch := h.heard.Load()
	if ch == nil {
		return false
	}
	select {
	case *ch <- struct{}{}:
	default: // one waits already
	}
	return true
}

// withSignals returns a context that the first SIGINT, SIGTERM or SIGHUP ends, with a signalError
// as the cause, except for a SIGHUP that h passes on. A second one kills the process, so that a
// user can end a clean-up that hangs. It starts a goroutine, which stop ends and awaits.
//
// SIGPIPE is ignored, because it would kill the process between two writes. When the reader goes
// away, a write then fails with EPIPE, and the worker id is still given back. A signal that was
// ignored when the process began, as SIGHUP is under nohup, stays ignored.
func withSignals(parent context.Context, h *hangups) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signal.Ignore(syscall.SIGPIPE)
	ch := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(ch, s)
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer signal.Stop(ch)
		for {
			select {
			case s := <-ch:
				if s == syscall.SIGHUP && h.pass() {
					continue
				}
				signal.Stop(ch) // before anything that waits for the context's end
				cancel(signalError{s})
			case <-ctx.Done():
			}
			return
		}
	})
	return ctx, func() {
		cancel(context.Canceled)
		wg.Wait()
	}
}
