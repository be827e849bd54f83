package main

import (
	"time"

	"github.com/uidring/uidring/internal/winlog"
)

// highest returns a worker id at or above every one that any process had from the authority, but
// for those of a namespace that counts for itself. A process that is paused may have one that it
// has not reported.
func (f *fleet) highest() (n int64) {
	for _, w := range f.windows.All() {
		if w.Worker < firstRanged {
			n = max(n, w.Worker)
		}
	}
	return n + int64(f.Len())
}

// owned returns the worker ids of running processes whose windows end after now.
func (f *fleet) owned(now time.Time) (all []int64) {
	for _, p := range f.Running() {
		if w, ok := f.window(p); ok && w.Worker < firstNumber && w.Until.After(now) {
			all = append(all, w.Worker)
		}
	}
	return all
}

// free returns the worker ids whose windows have all ended.
func (f *fleet) free(now time.Time) (all []int64) {
	windows := f.windows.All() // by worker id and begin
	for i, w := range windows {
		last := i+1 == len(windows) || windows[i+1].Worker != w.Worker
		if last && w.Worker < firstNumber && !w.Until.IsZero() && w.Until.Before(now) {
			all = append(all, w.Worker)
		}
	}
	return all
}

// claims returns how many claims on a worker id there have been.
func (f *fleet) claims(worker int64) (n int) {
	for _, w := range f.windows.All() {
		if w.Worker == worker {
			n++
		}
	}
	return n
}

// succeeded reports whether a process has had w's worker id after w.
func (f *fleet) succeeded(w winlog.Window) bool {
	for _, next := range f.windows.All() {
		if next.Worker == w.Worker && next.Claim != w.Claim && next.From.After(w.From) {
			return true
		}
	}
	return false
}
