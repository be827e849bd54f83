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
	"github.com/uidring/uidring/e2e/soak/ledger"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/uid"
	"gorm.io/gorm"
)

var servers dbtest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	servers.Close()
	os.Exit(code)
}

// window is how far the leases reach: short, so that faults outlast it.
const window = 2 * time.Second

// patience is how long anything may take before a test gives up on it.
const patience = time.Minute

// options have ticks so short and a sequence space so small that busy generators use every id: two
// that shared one would meet.
func options() *uid.Options {
	return &uid.Options{
		Layout:   bitsalloc.Layout{TimeBits: 31, WorkerBits: 16, SeqBits: 12, Tick: 100 * time.Millisecond},
		MaxLead:  300 * time.Millisecond,
		Rollback: uid.RollbackHold(time.Second),
	}
}

func newLedger(t *testing.T) *ledger.Ledger {
	t.Helper()
	alloc, err := bitsalloc.New(options().Layout)
	if err != nil {
		t.Fatal(err)
	}
	return ledger.New(alloc)
}

// connect opens a pool of its own, as a process would, that does not wait for long.
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

// migrated makes a database with the tables and an account that has no privilege beyond the
// documented ones, and returns its name.
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

// rig is generators of every kind at work on one database, through a network of their own.
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
	}{{"cached on a lease", leased, false}, {"default on a lease", leased, true}, {"cached on a disposable worker id", disposable, false}} {
		var g uid.Generator
		var err error
		if a := k.assigner(connect(t, r.dsn())); k.standard {
			g, err = uid.NewDefault(t.Context(), a, options())
		} else {
			g, err = uid.NewCached(t.Context(), a, options())
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

// dsn returns the data source name that leads through the rig's network. A change is one request,
// so that an answer that is lost is the answer to it.
func (r *rig) dsn() string {
	return strings.Replace(r.srv.DSNVia(r.proxy.Addr(), r.db), dbtest.User+":", "app:", 1) + "&interpolateParams=true"
}

// leases are the users that can lose their worker id.
func (r *rig) leases() []*user { return r.users[:2] }

func noDuplicates(t *testing.T, l *ledger.Ledger) {
	t.Helper()
	if s := l.Sum(); s.Duplicates != 0 || s.Foreign != 0 || s.IDs == 0 {
		t.Errorf("%d of %d ids came twice, such as %v; %d are no ids", s.Duplicates, s.IDs, s.First, s.Foreign)
	}
}

// user is a goroutine that takes ids from a generator as fast as they come.
type user struct {
	name string
	g    uid.Generator
	end  func() // stops it and closes the generator

	mu   sync.Mutex
	n    int64
	errs map[string]int // by kind
	last error
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
		g.Close() // may fail where the database is away, which costs nobody an id
	})
	t.Cleanup(u.end)
	return u
}

func (u *user) note(n int, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.n += int64(n)
	if err == nil {
		return
	}
	u.last = err
	switch {
	case errors.Is(err, uid.ErrClaimLost):
		u.errs["lost"]++
	case errors.Is(err, uid.ErrClaimExpired):
		u.errs["expired"]++
	default:
		u.errs[err.Error()]++
	}
}

// count returns the number of ids so far, and of errors of a kind.
func (u *user) count(kind string) (ids int64, errs int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.n, u.errs[kind]
}

// goOn waits until every user has had more ids.
func goOn(t *testing.T, users []*user, when string) {
	t.Helper()
	for _, u := range users {
		before, _ := u.count("")
		waitFor(t, u.name+": ids "+when, func() bool { n, _ := u.count(""); return n > before+1000 })
	}
}

// expire waits until every user has been told that its claim expired.
func expire(t *testing.T, users []*user) {
	t.Helper()
	for _, u := range users {
		waitFor(t, u.name+": ErrClaimExpired", func() bool { _, n := u.count("expired"); return n > 0 })
	}
}

// onlyPromised checks that callers got no errors but those that the documents promise, none without
// a lease, and never the password.
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

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within %v", what, patience)
		}
	}
}
