package workernode_test

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
)

const (
	layoutA = "28-22-13-0/1s@2026-01-01T00:00:00Z"
	layoutB = "36-14-13-0/1s+99999999@"
)

// bindTo returns a Leased on a namespace for a list of layouts, as a process of its own.
func bindTo(db *gorm.DB, list string) assigner.Assigner {
	a := workernode.Leased(db, &workernode.LeasedOptions{Window: time.Minute})
	return a.BindLayout(list)
}

// heading returns the layouts that the header has, and sets them if to is not empty.
func heading(t *testing.T, db *gorm.DB, to string) (layout string) {
	t.Helper()
	if to != "" {
		if err := db.Exec("UPDATE WORKER_LEASE SET LAYOUT = ? WHERE WORKER_ID = -1", to).Error; err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Raw("SELECT LAYOUT FROM WORKER_LEASE WHERE WORKER_ID = -1").Row().Scan(&layout); err != nil {
		t.Fatal(err)
	}
	return layout
}

// headAgain makes the header that is missing, as "uid workers restored" does.
func headAgain(t *testing.T, srv *dbtest.Server, name, layout string) {
	t.Helper()
	srv.Query(t, name, fmt.Sprintf("INSERT INTO WORKER_LEASE (NAMESPACE, WORKER_ID, GENERATION, NONCE, OWNER, "+
		"UNTIL_MS, LAYOUT) VALUES ('default', -1, 0, 0, '', %d, '%s')", day.Milliseconds(), layout))
}

// TestErasAnnounced begins where a process died that had announced a layout: a claim that does not
// know the layout is cut at its start; the next claim that knows it settles it, or takes it back if
// a window reaches further.
func TestErasAnnounced(t *testing.T) {
	t.Parallel()
	for _, session := range []string{"autocommit=1", "autocommit=0"} {
		t.Run(session, func(t *testing.T) {
			t.Parallel()
			announce(t, session)
		})
	}
}

func announce(t *testing.T, session string) {
	srv, name := maria(t)
	db, own := connect(t, srv.DSN(name)), connect(t, srv.DSN(name)+"&"+session)
	old := assign(t, bindTo(own, layoutA), 1)[0]
	_, until := old.Window()
	from := until.Add(10 * time.Minute).Truncate(time.Second)
	later := layoutB + from.Format(time.RFC3339Nano)
	both, announced := layoutA+","+later, layoutA+"|"+later

	// The window grows beyond a layout that is not announced yet, as far as its owner knows: the row
	// is written, and then the header shows the layout.
	heading(t, db, announced)
	if end, err := old.Extend(t.Context(), from.Add(time.Hour)); err != nil || !end.Equal(from) {
		t.Fatalf("Extend beyond an announced layout = %v, %v, want its start, %v", end, err, from)
	}
	if end, err := old.Extend(t.Context(), from.Add(time.Hour)); !errors.Is(err, assigner.ErrSuperseded) {
		t.Fatalf("Extend at the start of an announced layout = %v, %v, want ErrSuperseded", end, err)
	}
	// The row reaches further than the window, so the layout is taken back, and the window may grow.
	if _, err := bindTo(own, both).Assign(within(t, 10*time.Second),
		maxWorker); !errors.Is(err, assigner.ErrLayoutMismatch) ||
		!strings.Contains(err.Error(), "let it begin later") {
		t.Fatalf("Assign with a layout that begins before a window's end: %v", err)
	}
	if got := heading(t, db, ""); got != layoutA {
		t.Errorf("the header has %q, want what it had before the layout was announced, %q", got, layoutA)
	}
	end, err := old.Extend(t.Context(), from.Add(time.Hour))
	if err != nil || end.Before(from.Add(time.Hour)) {
		t.Fatalf("Extend after the layout was taken back = %v, %v", end, err)
	}
	// A layout that begins after all windows is settled by the first claim.
	later = layoutB + end.Add(time.Minute).Format(time.RFC3339Nano)
	both = layoutA + "," + later
	heading(t, db, layoutA+"|"+later)
	claims := assign(t, bindTo(own, both), 2)
	if got := heading(t, db, ""); got != both {
		t.Errorf("the header has %q, want %q", got, both)
	}
	if end, err := claims[1].Extend(t.Context(), end.Add(time.Hour)); err != nil {
		t.Errorf("Extend beyond a settled layout = %v, %v", end, err)
	}
	// The rows say which layouts their owners know.
	got := srv.Query(t, name, "SELECT LAYOUT FROM WORKER_LEASE WHERE WORKER_ID >= 0 ORDER BY WORKER_ID")
	if want := strings.Join([]string{layoutA, both, both}, "\n"); got != want {
		t.Errorf("the rows have the layouts\n%s\nwant\n%s", got, want)
	}
}

// TestErasFirst: the first claim of a namespace may know several layouts, and settles all of them.
func TestErasFirst(t *testing.T) {
	t.Parallel()
	for _, session := range []string{"autocommit=1", "autocommit=0"} {
		srv, name := maria(t)
		db := connect(t, srv.DSN(name)+"&"+session)
		both := layoutA + "," + layoutB + time.Now().UTC().Add(time.Hour).Format(time.RFC3339Nano)
		if _, err := bindTo(db, both).Assign(within(t, 20*time.Second), maxWorker); err != nil {
			t.Errorf("%s: %v", session, err)
		}
		if got := srv.Query(t, name, "SELECT LAYOUT FROM WORKER_LEASE WHERE WORKER_ID = -1"); got != both {
			t.Errorf("%s: the header has %q, want %q", session, got, both)
		}
	}
}

// TestErasBegun: from the instant at which a layout begins, a process that does not know it gets no
// claim, and uses no worker id up.
func TestErasBegun(t *testing.T) {
	t.Parallel()
	for _, ago := range []time.Duration{time.Minute, 0} {
		t.Run(ago.String(), func(t *testing.T) {
			t.Parallel()
			srv, name := maria(t)
			now := time.Now().Truncate(time.Second)
			db := connect(t, fmt.Sprintf("%s&timestamp=%d", srv.DSN(name), now.Unix()))
			both := layoutA + "," + layoutB + now.UTC().Add(-ago).Format(time.RFC3339)
			assign(t, bindTo(db, both), 1)
			for range 3 {
				if c, err := bindTo(db, layoutA).Assign(t.Context(),
					maxWorker); !errors.Is(err, assigner.ErrSuperseded) || !strings.Contains(err.Error(), layoutA) {
					t.Errorf("Assign without a layout that has begun = %v, %v, want ErrSuperseded", c, err)
				}
			}
			if got := srv.Query(t, name, "SELECT COUNT(*) FROM WORKER_NODE"); got != "1" {
				t.Errorf("%s worker ids are used up, want 1", got)
			}
		})
	}
}

// TestErasHeaderGone: where the header was deleted, nothing is claimed until the documented statements
// have run and it is there again, and a layout is added after the windows of the rows then.
func TestErasHeaderGone(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	old := assign(t, bindTo(db, layoutA), 1)[0]
	_, until := old.Window()
	if err := db.Exec("DELETE FROM WORKER_LEASE WHERE WORKER_ID = -1").Error; err != nil {
		t.Fatal(err)
	}
	_, err := old.Extend(t.Context(), until.Add(time.Minute))
	wantError(t, err, "the header of WORKER_LEASE")
	for _, list := range []string{layoutA, layoutA + "," + layoutB + until.Add(time.Hour).Format(time.RFC3339Nano)} {
		c, err := bindTo(db, list).Assign(within(t, 10*time.Second), maxWorker)
		if !errors.Is(err, assigner.ErrWentBack) {
			t.Fatalf("Assign without the header = %v, %v, want ErrWentBack", c, err)
		}
		wantError(t, err, "the slot of worker 1 until", "the header was deleted", "uid workers restored")
	}
	repair(t, srv, name, 10, time.Minute)
	headAgain(t, srv, name, layoutA)
	for _, early := range []bool{true, false} {
		from := until.Add(time.Hour)
		if early {
			from = until.Add(-time.Second)
		}
		both := layoutA + "," + layoutB + from.Format(time.RFC3339Nano)
		_, err := bindTo(db, both).Assign(within(t, 10*time.Second), maxWorker)
		if errors.Is(err, assigner.ErrLayoutMismatch) != early || (err != nil) != early {
			t.Errorf("Assign with a layout from %v on, where a window ends at %v: %v", from, until, err)
		}
	}
}

// TestErasTakenBack: a layout that is announced cuts no window that is reserved already, keeps one
// from growing without a check of its row, and cuts nothing any more once it is taken back.
func TestErasTakenBack(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	rows := 0
	own := intercept(t, &dbtest.Interceptor{Connectors: connectors(t, srv.DSN(name)),
		Seen: func(query string, _ []driver.NamedValue) {
			if strings.HasPrefix(query, "SELECT GENERATION") {
				rows++
			}
		}})
	before := assign(t, bindTo(own, layoutA), 1)[0]
	_, until := before.Window()
	begin := until.Add(-30 * time.Second).Truncate(time.Second)
	heading(t, db, layoutA+"|"+layoutB+begin.Format(time.RFC3339Nano))
	after := assign(t, bindTo(own, layoutA), 1)[0] // cut from the start
	want := until.Add(time.Hour)
	for c, until := range map[assigner.Claim]time.Time{before: until, after: begin} {
		for range 2 {
			if end, err := c.Extend(t.Context(), want); !errors.Is(err, assigner.ErrSuperseded) {
				t.Errorf("Extend beyond an announced layout = %v, %v, want ErrSuperseded", end, err)
			}
			if _, got := c.Window(); !got.Equal(until) {
				t.Errorf("the window ends at %v, want %v as before", got, until)
			}
		}
	}
	if rows != 1 {
		t.Errorf("%d looks at rows, want 1, of the claim that did not know the layout", rows)
	}
	heading(t, db, layoutA)
	for _, c := range []assigner.Claim{before, after} {
		if end, err := c.Extend(t.Context(), want); err != nil || end.Before(want) {
			t.Errorf("Extend after the layout was taken back = %v, %v, want %v or later", end, err, want)
		}
	}
}

// TestErasOvertaken: a process that is about to take a layout back, because a window reaches into
// it, finds that another one has settled the layout since, when the window was given back.
func TestErasOvertaken(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	old := assign(t, bindTo(db, layoutA), 1)[0]
	_, until := old.Window()
	later := layoutB + until.Add(-10*time.Second).Truncate(time.Second).Format(time.RFC3339Nano)
	heading(t, db, layoutA+"|"+later)
	s, own := newAmbush(t, srv.DSN(name))
	s.set("UPDATE WORKER_LEASE SET OWNER = ?, LAYOUT", 0, func(run func() error) error {
		release(t, old, time.Now())
		assign(t, bindTo(db, layoutA+","+later), 1)
		return run()
	})
	if c, err := bindTo(own, layoutA+","+later).Assign(t.Context(), maxWorker); err != nil {
		t.Errorf("Assign with a layout that is settled = %v, %v", c, err)
	}
}

// TestErasCutToNothing: a layout that is announced while a claim is made, and cuts all of its
// window or all that is left of it, ends the claim.
func TestErasCutToNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ floor, begin time.Duration }{
		{0, -time.Minute},
		{0, 0},
		{time.Hour, 30 * time.Minute}, // the window begins at the floor, the layout before it
		{time.Hour, time.Hour},
	} {
		t.Run(fmt.Sprint("floor ", tt.floor, " begin ", tt.begin), func(t *testing.T) {
			t.Parallel()
			srv, name := maria(t)
			now := time.Now().Truncate(time.Second)
			dsn := fmt.Sprintf("%s&timestamp=%d", srv.DSN(name), now.Unix())
			db := connect(t, dsn)
			s, own := newAmbush(t, dsn)
			bind := func(db *gorm.DB) assigner.Assigner {
				a := workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders"})
				return a.BindLayout(layoutA)
			}
			assign(t, bind(db), 1)
			if tt.floor > 0 {
				repair(t, srv, name, 10, tt.floor)
			}
			s.set("INSERT INTO WORKER_LEASE", 0, func(run func() error) error {
				srv.Query(t, name, "UPDATE WORKER_LEASE SET LAYOUT = '"+layoutA+"|"+layoutB+
					now.Add(tt.begin).UTC().Format(time.RFC3339)+"' WHERE WORKER_ID = -1 AND "+
					"NAMESPACE = 'orders'")
				return run()
			})
			if c, err := bind(own).Assign(t.Context(), maxWorker); !errors.Is(err, assigner.ErrSuperseded) {
				t.Errorf("Assign = %v, %v, want ErrSuperseded", c, err)
			}
		})
	}
}

// TestErasFar: a layout that begins long after a claim's window neither cuts the window nor makes
// it longer.
func TestErasFar(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	assign(t, bindTo(db, layoutA), 1)
	heading(t, db, layoutA+"|"+layoutB+time.Now().UTC().Add(10*time.Hour).Format(time.RFC3339Nano))
	c := assign(t, bindTo(db, layoutA), 1)[0]
	_, until := c.Window()
	if left := time.Until(until); left > 2*time.Minute {
		t.Errorf("the window ends in %v, want a minute", left)
	}
	want := until.Add(time.Minute)
	if end, err := c.Extend(t.Context(), want); err != nil || !end.Equal(want) {
		t.Errorf("Extend = %v, %v, want %v", end, err, want)
	}
}

// TestErasAtEnd: a layout may begin where the latest window ends, and no earlier. One that is
// refused leaves the header as it was.
func TestErasAtEnd(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	_, until := assign(t, bindTo(db, layoutA), 1)[0].Window()
	with := func(begin time.Time) assigner.Assigner {
		return bindTo(db, layoutA+","+layoutB+begin.Format(time.RFC3339Nano))
	}
	const header = "SELECT LAYOUT, GENERATION, NONCE FROM WORKER_LEASE WHERE WORKER_ID = -1"
	before := srv.Query(t, name, header)
	c, err := with(until.Add(-time.Millisecond)).Assign(within(t, 10*time.Second), maxWorker)
	if !errors.Is(err, assigner.ErrLayoutMismatch) {
		t.Errorf("Assign with a layout from before %v on = %v, %v, want ErrLayoutMismatch", until, c, err)
	}
	if after := srv.Query(t, name, header); after != before {
		t.Errorf("the header was %q and is %q, want it unchanged", before, after)
	}
	if c, err := with(until).Assign(t.Context(), maxWorker); err != nil {
		t.Errorf("Assign with a layout from %v on = %v, %v", until, c, err)
	}
}

// TestErasDenied: a process that cannot look at the windows, or cannot change the header, says so
// and leaves a layout as it is, announced.
func TestErasDenied(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	assign(t, bindTo(connect(t, srv.DSN(name)), layoutA), 1)
	later := layoutB + time.Now().UTC().Add(time.Hour).Format(time.RFC3339Nano)
	for _, statement := range []string{"SELECT WORKER_ID, UNTIL_MS", "UPDATE WORKER_LEASE SET OWNER = ?, LAYOUT"} {
		fails, db := newFailing(t, srv.DSN(name), errDenied)
		heading(t, db, layoutA+"|"+later)
		fails[statement] = 1000
		_, err := bindTo(db, layoutA+","+later).Assign(within(t, 5*time.Second), maxWorker)
		wantError(t, err, errDenied.Message)
		if got := heading(t, db, ""); got != layoutA+"|"+later {
			t.Errorf("%s: the header has %q, want the layout announced", statement, got)
		}
	}
}

// TestErasWithoutEpoch: a later layout without an epoch has no begin that windows could be compared
// with, so it is not settled.
func TestErasWithoutEpoch(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	c, err := bindTo(db, layoutA+",B").Assign(t.Context(), maxWorker)
	if !errors.Is(err, assigner.ErrLayoutMismatch) {
		t.Errorf("Assign = %v, %v, want ErrLayoutMismatch", c, err)
	}
	wantError(t, err, `the layout "B" has no epoch`)
	if got := heading(t, db, ""); got != layoutA+"|B" {
		t.Errorf("the header has %q, want the layout not settled", got)
	}
}

// TestErasSettledMeanwhile: another process settles a layout between the check that finds it missing
// and the one that is to announce it.
func TestErasSettledMeanwhile(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	other := connect(t, srv.DSN(name))
	assign(t, bindTo(other, layoutA), 1)
	both := layoutA + "," + layoutB + time.Now().UTC().Add(time.Hour).Format(time.RFC3339Nano)
	settled := false
	db := intercept(t, &dbtest.Interceptor{Connectors: connectors(t, srv.DSN(name)),
		Seen: func(query string, _ []driver.NamedValue) {
			if strings.HasPrefix(query, "SELECT LAYOUT") && strings.HasSuffix(query, "FOR UPDATE") && !settled {
				settled = true
				assign(t, bindTo(other, both), 1)
			}
		}})
	if c, err := bindTo(db, both).Assign(t.Context(), maxWorker); err != nil || c.Worker() != 3 {
		t.Errorf("Assign = %v, %v, want worker 3", c, err)
	}
}

// TestErasOtherRows: free rows are claimed only if their owners knew a list of layouts that the
// header has had. The beginning of a layout's text is none.
func TestErasOtherRows(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	assign(t, bindTo(db, layoutA), 1)
	for i, layout := range []string{"", layoutA[:5]} {
		srv.Query(t, name, fmt.Sprintf("INSERT INTO WORKER_LEASE (NAMESPACE, WORKER_ID, GENERATION, NONCE, "+
			"OWNER, UNTIL_MS, LAYOUT) VALUES ('default', %d, 1, 7, '', 1000, '%s')", 100+i, layout))
	}
	if c := assign(t, bindTo(db, layoutA), 1)[0]; c.Worker() != 2 {
		t.Errorf("worker = %d, want 2, a new one", c.Worker())
	}
}

// TestErasBegunLongAgo: a layout may begin at Unix time 0 and before.
func TestErasBegunLongAgo(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	assign(t, bindTo(db, layoutA), 1)
	for _, begin := range []string{"1970-01-01T00:00:00Z", "1960-01-01T00:00:00Z"} {
		heading(t, db, layoutA+","+layoutB+begin)
		c, err := bindTo(db, layoutA).Assign(t.Context(), maxWorker)
		if !errors.Is(err, assigner.ErrSuperseded) {
			t.Errorf("Assign without the layout of %s = %v, %v, want ErrSuperseded", begin, c, err)
		}
	}
}
