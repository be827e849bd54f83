package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/test/soak/ledger"
	"github.com/uidring/uidring/uid"
	"gorm.io/gorm"
)

// servers has the MariaDB that tests share which do no harm to it.
var servers dbtest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	servers.Close()
	os.Exit(code)
}

// window is the leases' Window. It is short, so that faults outlast it.
const window = 2 * time.Second

// patience is how long waitFor waits.
const patience = time.Minute

// options returns options with ticks so short and a sequence space so small that busy generators use
// every id. So two generators that stamp in one tick make ids that are equal.
func options() *uid.DefaultOptions {
	return &uid.DefaultOptions{
		Layout:   bitsalloc.Layout{TimeBits: 31, WorkerBits: 16, SeqBits: 12, Tick: 100 * time.Millisecond},
		MaxLead:  300 * time.Millisecond,
		Rollback: uid.RollbackHold(time.Second),
	}
}

// cached returns options of the same layout and lead.
func cached() *uid.Options {
	return &uid.Options{Layout: options().Layout, MaxLead: options().MaxLead}
}

// newLedger returns an empty ledger for ids of the options' layout.
func newLedger(t *testing.T) *ledger.Ledger {
	t.Helper()
	alloc, err := bitsalloc.New(options().Layout)
	if err != nil {
		t.Fatal(err)
	}
	return ledger.New(alloc)
}

// connect opens a pool of its own, as a process would, with short timeouts.
func connect(t *testing.T, dsn string) *gorm.DB {
	t.Helper()
	db, err := workernode.OpenMySQL(dsn + "&timeout=500ms&readTimeout=500ms")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if pool, err := db.DB(); err == nil {
			pool.Close()
		}
	})
	return db
}

// migrated makes a database with the tables, and the account app, which has the documented
// privileges on it and no others. It returns the database's name.
func migrated(t *testing.T, srv *dbtest.Server) string {
	t.Helper()
	name := srv.CreateDB(t)
	if err := workernode.Migrate(t.Context(), connect(t, srv.DSN(name))); err != nil {
		t.Fatal(err)
	}
	// MySQL 5.6 has no CREATE USER IF NOT EXISTS.
	srv.Exec(t, "GRANT SELECT, INSERT, UPDATE ON "+name+".* TO app@'%' IDENTIFIED BY '"+dbtest.Password+"'")
	return name
}

// rig has generators of every kind at work on one database, through a proxy of their own.
type rig struct {
	srv    *dbtest.Server
	proxy  *dbtest.Proxy
	db     string
	ledger *ledger.Ledger
	users  []*user
}

// newRig starts the generators. They are closed, and their ids counted, when the test ends.
func newRig(t *testing.T, srv *dbtest.Server) *rig {
	t.Helper()
	r := &rig{srv: srv, proxy: dbtest.NewProxy(t, srv.Addr()), db: migrated(t, srv), ledger: newLedger(t)}
	leased := func(db *gorm.DB) assigner.Assigner {
		return workernode.Leased(db, &workernode.LeasedOptions{Window: window})
	}
	disposable := func(db *gorm.DB) assigner.Assigner { return workernode.Disposable(db, nil) }
	for _, k := range []struct {
		name     string
		assigner func(*gorm.DB) assigner.Assigner
		standard bool
	}{
		{"cached on a lease", leased, false},
		{"default on a lease", leased, true},
		{"cached on a disposable worker id", disposable, false},
	} {
		var g uid.Generator
		var err error
		if a := k.assigner(connect(t, r.dsn())); k.standard {
			g, err = uid.NewDefault(t.Context(), a, options())
		} else {
			g, err = uid.NewCached(t.Context(), a, cached())
		}
		if err != nil {
			t.Fatalf("%s: %v", k.name, err)
		}
		r.users = append(r.users, use(t, k.name, g, r.ledger))
	}
	t.Cleanup(func() {
		for _, u := range r.users {
			u.end()
		}
		noDuplicates(t, r.ledger)
	})
	return r
}

// dsn returns the data source name of the rig's proxy. With interpolateParams a change is one
// request, so a lost answer is the answer to the change.
func (r *rig) dsn() string {
	return strings.Replace(r.srv.DSNVia(r.proxy.Addr(), r.db), dbtest.User+":", "app:", 1) +
		"&interpolateParams=true"
}

// leases returns the users whose worker id is leased.
func (r *rig) leases() []*user { return r.users[:2] }

// noDuplicates fails the test if an id was repeated, or if there are no ids.
func noDuplicates(t *testing.T, l *ledger.Ledger) {
	t.Helper()
	if s := l.Sum(); s.Duplicates != 0 || s.Foreign != 0 || s.IDs == 0 {
		t.Errorf("%d of %d ids were repeated, such as %v; %d are below 0", s.Duplicates, s.IDs, s.First, s.Foreign)
	}
}

// user is a goroutine that takes ids from a generator as fast as it can.
type user struct {
	name string
	g    uid.Generator
	end  func() // stops the goroutine and closes the generator

	mu   sync.Mutex     // guards the fields below
	n    int64          // how many ids it got
	errs map[string]int // how many errors of each kind it got
	last error          // the last error that it got
}

// use starts a user whose ids go into l.
func use(t *testing.T, name string, g uid.Generator, l *ledger.Ledger) *user {
	u := &user{name: name, g: g, errs: map[string]int{}}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		ids := make([]uid.ID, 256)
		for ctx.Err() == nil {
			n, err := g.Fill(ctx, ids)
			l.Add(int(g.Parse(ids[0]).Worker), ids[:n])
			if ctx.Err() != nil {
				return
			}
			u.note(n, err)
			if err != nil {
				time.Sleep(5 * time.Millisecond)
			}
		}
	})
	u.end = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		g.Close() // may fail while the database is away; the worker id is then free at the window's end
	})
	t.Cleanup(u.end)
	return u
}

// note counts what one call of Fill returned.
func (u *user) note(n int, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.n += int64(n)
	if err == nil {
		return
	}
	u.last = err
	switch {
	case errors.Is(err, assigner.ErrClaimLost):
		u.errs["lost"]++
	case errors.Is(err, uid.ErrClaimExpired):
		u.errs["expired"]++
	default:
		u.errs[err.Error()]++
	}
}

// count returns how many ids the user got so far, and how many errors of a kind.
func (u *user) count(kind string) (ids int64, errs int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.n, u.errs[kind]
}

// goOn waits until every user has got 1,000 more ids.
func goOn(t *testing.T, users []*user, when string) {
	t.Helper()
	for _, u := range users {
		before, _ := u.count("")
		waitFor(t, u.name+": ids "+when, func() bool { n, _ := u.count(""); return n > before+1000 })
	}
}

// expire waits until every user has got ErrClaimExpired.
func expire(t *testing.T, users []*user) {
	t.Helper()
	for _, u := range users {
		waitFor(t, u.name+": ErrClaimExpired", func() bool { _, n := u.count("expired"); return n > 0 })
	}
}

// onlyPromised checks that callers got only documented errors, none of them without a lease and none
// with the password in it.
func onlyPromised(t *testing.T, r *rig) {
	t.Helper()
	for i, u := range r.users {
		u.mu.Lock()
		for kind, n := range u.errs {
			if kind != "lost" && kind != "expired" || i >= len(r.leases()) {
				t.Errorf("%s: %d errors of kind %q, such as %v", u.name, n, kind, u.last)
			}
		}
		if u.last != nil && strings.Contains(fmt.Sprint(u.last), dbtest.Password) {
			t.Errorf("%s: the error shows the password: %v", u.name, u.last)
		}
		u.mu.Unlock()
	}
}

// waitFor waits until done returns true, and fails the test if that takes longer than patience.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within %v", what, patience)
		}
	}
}
