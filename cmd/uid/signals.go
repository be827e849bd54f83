package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
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

// withSignals returns a context that the first SIGINT, SIGTERM or SIGHUP ends, with a signalError
// as the cause. A second one kills the process, so that a user can end a clean-up that hangs. It
// starts a goroutine, which stop ends and awaits.
//
// SIGPIPE is ignored, because it would kill the process between two writes. When the reader goes
// away, a write then fails with EPIPE, and the worker id is still given back. A signal that was
// ignored when the process began, as SIGHUP is under nohup, stays ignored.
func withSignals(parent context.Context) (_ context.Context, stop func()) {
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
		select {
		case s := <-ch:
			signal.Stop(ch)
			cancel(signalError{s})
		case <-ctx.Done():
			signal.Stop(ch)
		}
	})
	return ctx, func() {
		cancel(context.Canceled)
		wg.Wait()
	}
}
