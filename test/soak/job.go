package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/kubernetes"
	"github.com/uidring/uidring/assigner/kubernetes/kubeconfig"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/winlog"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/test/internal/soak"
	"github.com/uidring/uidring/test/internal/stores"
	"github.com/uidring/uidring/uid"
)

// The kinds of generators.
const (
	cached   = "cached"
	lanes    = "cached, 8 lanes"
	runOne   = "cached, runs of 1"
	standard = "default"
	counting = "segments and numbers"
)

// numberEnv is the environment variable with the worker id of a numbered process.
const numberEnv = "UIDRING_SOAK_NUMBER"

// firstNumber is the lowest worker id of numbered processes, above those of the authority.
const firstNumber = 60_000

// firstRanged is the lowest worker id of the namespace that counts for itself. Ids of two
// namespaces may be equal, so they are told apart by their worker ids.
const firstRanged = 30_000

// job is what a worker process does: it claims a worker id and writes ids to its standard output
// until its standard input ends.
type job struct {
	DSN      string
	Kind     string        // of generator
	Window   time.Duration // of the lease; 0: a disposable worker id
	Ranged   bool          // the worker id is from firstRanged on, in its own namespace
	Numbered bool          // no database: the worker id is in numberEnv
	Wants    *int64        // the worker id that it wants while it has patience; nil: any
	Broken   string        // a bug that the run must find; empty: none
}

// patience returns for how long a process wants one worker id, before it takes any.
func patience(window time.Duration) time.Duration { return max(2*window, 4*time.Second) }

// The kinds of frames that a worker process writes.
const (
	frameIDs    = 'i'
	frameCount  = 'c' // ids of a segment's tag, which increase by themselves
	frameNumber = 'n' // numbers, without what is not a digit
	frameWindow = 'w' // a window that was granted, extended or given back, before its ids, as JSON
	frameError  = 'e' // the kind of an error that a call returned
)

// maxLead bounds how far generators run ahead of the clock.
const maxLead = 500 * time.Millisecond

// callers is how many goroutines take ids in a process.
const callers = 3

// layout returns a layout with short ticks and a small sequence space, 81,920 ids a second. A busy
// generator uses every id of its ticks, so two generators that share a tick make equal ids.
func layout() bitsalloc.Layout {
	return bitsalloc.Layout{TimeBits: 31, WorkerBits: 16, SeqBits: 13, Tick: 100 * time.Millisecond}
}

// canonical returns the text of layout that generators bind their claims to.
func canonical() string {
	eras, err := bitsalloc.NewEras(layout())
	if err != nil {
		panic(err) // the layout is a constant
	}
	return eras.String()
}

// work does the job of a worker process.
func work(ctx context.Context, j job, w *soak.Output) error {
	out := output{w}
	if j.Kind == counting {
		return out.count(ctx, j.DSN)
	}
	g, err := j.generator(ctx, out)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() { out.pump(ctx, g, j.rest()) })
	}
	wg.Wait()
	// While the database is away Close fails: the worker id is free when its window has passed.
	if err := g.Close(); err != nil {
		out.Write(frameError, []byte("Close: not given back"))
	}
	return nil
}

// generator makes the job's generator, whose windows go to out.
func (j job) generator(ctx context.Context, out output) (uid.Generator, error) {
	a, err := j.assigner()
	if err != nil {
		return nil, err
	}
	if j.Broken == early {
		a = planted{a, func(from, until time.Time) (time.Time, time.Time) {
			if !from.IsZero() {
				from = from.Add(-time.Second)
			}
			return from, until
		}}
	}
	a = winlog.Watch(a, out.window)
	if j.Broken == endless { // above Watch, so that the windows that are reported are right
		a = planted{a, func(time.Time, time.Time) (from, until time.Time) { return from, until }}
	}
	o := &uid.Options{Layout: layout(), MaxLead: maxLead}
	switch j.Kind {
	case lanes:
		o.Lanes = 8
	case runOne:
		o.RunLength = 1
	case standard:
		return uid.NewDefault(ctx, a, &uid.DefaultOptions{Layout: layout(), MaxLead: maxLead,
			Rollback: uid.RollbackHold(time.Second)})
	}
	return uid.NewCached(ctx, a, o)
}

// assigner returns the job's Assigner.
func (j job) assigner() (assigner.Assigner, error) {
	all, err := j.within(0, 0)
	if err != nil || j.Wants == nil {
		return all, err
	}
	// The store that numbers worker ids itself refuses a lower bound.
	first := *j.Wants
	if isSQL(j.DSN) && !j.Ranged {
		first = 0
	}
	one, err := j.within(first, *j.Wants)
	return &wanting{all: all, one: one, patience: patience(j.Window)}, err
}

// within returns the Assigner of worker ids from first to last; 0, 0: of all.
func (j job) within(first, last int64) (assigner.Assigner, error) {
	if j.Numbered {
		return assigner.Env(numberEnv, &assigner.LocalOptions{Lead: time.Second}), nil
	}
	o := lease.Options{Window: j.Window, Reach: reach(j.Window), First: first, Last: last}
	switch scheme, _, _ := strings.Cut(j.DSN, ":"); scheme {
	case "etcd":
		return stores.Etcd(j.DSN, o)
	case "zookeeper":
		return stores.ZooKeeper(j.DSN, o)
	case "http":
		return service.NewClient([]string{j.DSN}, nil)
	case "kubernetes":
		return kubeconfig.Open(j.DSN, &kubernetes.Options{Lease: o})
	}
	db, err := openSQL(j.DSN)
	if err != nil {
		return nil, err
	}
	namespace := ""
	if j.Ranged {
		namespace, first = "ranged", max(first, firstRanged)
		if last == 0 {
			last = firstNumber - 1
		}
	}
	switch {
	case j.Broken == hasty && !j.Ranged:
		return newHasty(db, o)
	case j.Window != 0:
		return workernode.Leased(db, &workernode.LeasedOptions{Window: o.Window, Reach: o.Reach,
			Namespace: namespace, First: first, Last: last}), nil
	}
	return workernode.Disposable(db, nil), nil
}

// rest returns for how long a caller rests after ids. Bugs are found in windows, without load.
func (j job) rest() time.Duration {
	if j.Broken == "" {
		return 0
	}
	return 20 * time.Millisecond
}

// output writes what a worker process has.
type output struct{ *soak.Output }

// pump takes ids until ctx ends, one by one and many at once in turn, and writes them. It rests
// after each time.
func (o output) pump(ctx context.Context, g uid.Generator, rest time.Duration) {
	ids, buf := make([]uid.ID, 512), make([]byte, 0, 8*512)
	for one := false; ctx.Err() == nil; one = !one {
		var n int
		var err error
		if one {
			for n = 0; n < 64 && err == nil; {
				if ids[n], err = g.Next(ctx); err == nil {
					n++
				}
			}
		} else {
			n, err = g.Fill(ctx, ids)
		}
		buf = soak.AppendIDs(buf[:0], ids[:n])
		if n > 0 && !o.Write(frameIDs, buf) {
			return
		}
		time.Sleep(rest)
		if err != nil && ctx.Err() == nil {
			o.Write(frameError, []byte(kindOf(err)))
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// window writes a window.
func (o output) window(w winlog.Window) {
	text, err := json.Marshal(w)
	if err != nil {
		text = []byte(err.Error()) // which the reader reports
	}
	o.Write(frameWindow, text)
}

// kindOf returns the name of the documented error that err is, or err's text.
func kindOf(err error) string {
	for _, k := range []struct {
		name string
		err  error
	}{
		{"ErrClaimLost", assigner.ErrClaimLost}, {"ErrClaimExpired", uid.ErrClaimExpired},
		{"ErrLead", uid.ErrLead}, {"ErrEmpty", uid.ErrEmpty},
		{"ErrClockBack", uid.ErrClockBack}, {"ErrExhausted", uid.ErrExhausted},
	} {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	return err.Error()
}
