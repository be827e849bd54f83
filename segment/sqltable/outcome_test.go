package sqltable_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
)

// executed matches a request of MySQL's protocol that runs a prepared statement: a header of four
// bytes, then the command.
func executed(request []byte) bool { return len(request) > 4 && request[4] == 0x17 }

// commits matches a request that commits.
func commits(request []byte) bool { return strings.HasSuffix(string(request), "COMMIT") }

// second matches what match matches, except the first time.
func second(match func([]byte) bool) func([]byte) bool {
	var n atomic.Int64
	return func(request []byte) bool { return match(request) && n.Add(1) > 1 }
}

// TestOutcomeUnknown: a connection dies before, while or after the database claims a range, so the
// outcome of the claim is unknown. The range is at most a gap. No id is handed out twice by two
// processes, of which one has such connections, with autocommit and without.
func TestOutcomeUnknown(t *testing.T) {
	t.Parallel()
	s := servers.MariaDB(t)
	for _, kind := range []string{"LeafAlloc", "Sequence"} {
		for name, fault := range map[string]dbtest.Fault{
			"before": dbtest.CutBeforeRequest, "while": dbtest.CutAfterRequest, "after": dbtest.CutBeforeReply,
			"before autocommit=0": dbtest.CutBeforeRequest, "while autocommit=0": dbtest.CutAfterRequest,
			"after autocommit=0": dbtest.CutBeforeReply,
		} {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				database := s.CreateDB(t)
				db := open(t, s.DSN(database))
				if err := sqlsource.Migrate(t.Context(), db); err != nil {
					t.Fatal(err)
				}
				run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, 10)")
				run(t, db, "INSERT INTO t_sequence VALUES ('a', 0, 10)")
				proxy := dbtest.NewProxy(t, s.Addr())
				opts := &segment.Options{MaxStep: 1, RetryMin: time.Millisecond}
				dsn := s.DSNVia(proxy.Addr(), database)
				if _, session, ok := strings.Cut(name, " "); ok {
					dsn += "&" + session
				}
				cut := segtest.New(t, kinds[kind](open(t, dsn)), opts)
				whole := segtest.New(t, kinds[kind](db), opts)
				var (
					wg  sync.WaitGroup
					got [2][]int64
				)
				for i, g := range []*segment.Generator{cut, whole} {
					wg.Go(func() {
						for n := range 40 {
							if i == 0 && n%2 == 1 {
								proxy.SetOnce(fault, []func([]byte) bool{
									executed, commits, second(executed), second(commits),
								}[n/2%4])
							}
							ids := make([]int64, 10)
							if _, err := g.Fill(t.Context(), "a", ids); err != nil {
								t.Errorf("Fill: %v", err)
								return
							}
							got[i] = append(got[i], ids...)
						}
					})
				}
				wg.Wait()
				if proxy.Hits() < 10 {
					t.Errorf("%d connections died, want at least 10 for a meaningful test", proxy.Hits())
				}
				all := append(got[0], got[1]...)
				segtest.Distinct(t, all)
				if len(all) != 800 {
					t.Errorf("%d ids, want 800", len(all))
				}
			})
		}
	}
}

// TestReturnUnknown: a Return whose outcome is unknown has happened or has not. Either way the next
// range begins where the counter stands.
func TestReturnUnknown(t *testing.T) {
	t.Parallel()
	s := servers.MariaDB(t)
	for _, kind := range []string{"LeafAlloc", "Sequence"} {
		for fault, taken := range map[dbtest.Fault]bool{dbtest.CutBeforeRequest: false, dbtest.CutBeforeReply: true} {
			database := s.CreateDB(t)
			db := open(t, s.DSN(database))
			if err := sqlsource.Migrate(t.Context(), db); err != nil {
				t.Fatal(err)
			}
			run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 10, 10)")
			run(t, db, "INSERT INTO t_sequence VALUES ('a', 0, 10)")
			proxy := dbtest.NewProxy(t, s.Addr())
			src := kinds[kind](open(t, s.DSNVia(proxy.Addr(), database)))
			rest := segtest.Fetch(t, src, "a", 0) // [10, 20)
			rest.From += 4
			proxy.SetOnce(fault, executed)
			if ok, err := src.(segment.Returner).Return(t.Context(), "a", rest); ok || err == nil {
				t.Errorf("%s: Return over a connection that dies = %v, %v, want an error", kind, ok, err)
			}
			want := "[20, 30)"
			if taken {
				want = "[14, 24)"
			}
			if r, err := src.Fetch(t.Context(), "a", 0); err != nil || segtest.Bounds(r) != want {
				t.Errorf("%s: the range after a return of unknown outcome, taken %v, is %v, %v, want %s",
					kind, taken, r, err, want)
			}
		}
	}
}

// TestReturnNonsense: an invalid rest is refused before it moves a counter.
func TestReturnNonsense(t *testing.T) {
	t.Parallel()
	_, db := counters(t)
	for _, kind := range []string{"LeafAlloc", "Sequence"} {
		src := kinds[kind](db)
		r := segtest.Fetch(t, src, "a", 10)
		for _, from := range []int64{-1, r.To, r.To + 1000} {
			rest := r
			rest.From = from
			ok, err := src.(segment.Returner).Return(t.Context(), "a", rest)
			if ok || !errors.Is(err, segment.ErrBadRange) {
				t.Errorf("%s: Return(%v) = %v, %v, want ErrBadRange", kind, rest, ok, err)
			}
		}
		if after := segtest.Fetch(t, src, "a", 10); after.From != r.To {
			t.Errorf("%s: the range after %v is %v", kind, r, after)
		}
	}
}

// address is a TCP address that forwards to a server, which can change.
type address struct {
	listener net.Listener

	mu     sync.Mutex
	target string
	conns  []net.Conn
}

func newAddress(tb testing.TB, target string) *address {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	a := &address{listener: l, target: target}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			a.mu.Lock()
			server, err := net.Dial("tcp", a.target)
			if err != nil {
				client.Close()
			} else {
				a.conns = append(a.conns, client, server)
				wg.Go(func() { io.Copy(server, client); server.Close() })
				wg.Go(func() { io.Copy(client, server); client.Close() })
			}
			a.mu.Unlock()
		}
	})
	tb.Cleanup(func() { l.Close(); a.move(""); wg.Wait() })
	return a
}

// move closes all connections and forwards later ones to target.
func (a *address) move(target string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.target = target
	for _, c := range a.conns {
		c.Close()
	}
	a.conns = nil
}

// TestPromotedReplica: the address of the database moves to a replica that did not get the last writes.
// A process that has seen these writes uses up its ids and then gets an error. It gets no id twice.
func TestPromotedReplica(t *testing.T) {
	t.Parallel()
	primary, replica := dbtest.MariaDB(t), dbtest.MariaDB(t)
	name := primary.CreateDB(t)
	if other := replica.CreateDB(t); other != name {
		t.Fatalf("the databases are called %s and %s, want one name", name, other)
	}
	for _, s := range []*dbtest.Server{primary, replica} {
		db := open(t, s.DSN(name))
		if err := sqlsource.Migrate(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, 10)")
		run(t, db, "INSERT INTO t_sequence VALUES ('a', 0, 10)")
	}
	for kind, source := range kinds {
		a := newAddress(t, primary.Addr())
		src := source(open(t, primary.DSNVia(a.listener.Addr().String(), name)))
		g := segtest.New(t, src, &segment.Options{MaxStep: 1, RetryMin: time.Millisecond})
		ids := segtest.Next(t, g, "a", 300)
		segtest.AwaitQuiet(t, g)
		a.move(replica.Addr())
		var err error
		for err == nil && len(ids) < 1000 {
			var id int64
			if id, err = g.Next(t.Context(), "a"); err == nil {
				ids = append(ids, id)
			}
		}
		if !errors.Is(err, segment.ErrRangeWentBack) {
			t.Errorf("%s: %d ids, then %v, want ErrRangeWentBack", kind, len(ids), err)
		}
		segtest.Distinct(t, ids)
	}
}
