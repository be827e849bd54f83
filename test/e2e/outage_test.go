package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/uid"
)

// TestOutage: while the database is away a generator goes on to its window's end and then says why
// it stops. When the database is back it goes on by itself, and no id is repeated.
func TestOutage(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]dbtest.Fault{
		"refused": dbtest.Refuse, "black hole": dbtest.BlackHole, "cut before reply": dbtest.CutBeforeReply,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := servers.MariaDB(t)
			dsn := dialects[0].migrated(t)
			proxy := dbtest.NewProxy(t, srv.Addr())
			j := job{SeqBits: 16, MaxLead: time.Second}
			db := dialects[0].connect(t, strings.Replace(dsn, srv.Addr(), proxy.Addr(), 1)+
				"&timeout=500ms&readTimeout=500ms")
			l := newLedger(t, j)
			a := workernode.Leased(db, &workernode.LeasedOptions{Window: 2 * time.Second})
			g, err := uid.NewCached(t.Context(), a, j.options())
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			// next records one id, or returns the error of a generator that has none within 50 ms.
			next := func() error {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				id, err := g.Next(ctx)
				if err == nil {
					l.Add(0, []uid.ID{id})
				}
				return err
			}
			if err := next(); err != nil {
				t.Fatal(err)
			}
			proxy.Set(fault)
			until := g.Stats().WindowUntil
			var stopped error
			waitFor(t, "end of the window", func() bool {
				err := next()
				if err != nil && !errors.Is(err, context.DeadlineExceeded) {
					stopped = err
				}
				return stopped != nil
			})
			if !errors.Is(stopped, uid.ErrClaimExpired) && !errors.Is(stopped, assigner.ErrClaimLost) {
				t.Errorf("error at the window's end = %v, want ErrClaimExpired", stopped)
			}
			// A tick that reaches beyond the window's end is not used, and ticks are a second long.
			if now := time.Now(); now.Before(until.Add(-1100 * time.Millisecond)) {
				t.Errorf("the generator stopped at %v, want its window used until %v", now, until)
			}
			proxy.Set(dbtest.None)
			waitFor(t, "ids after the outage", func() bool { return next() == nil })
			for range 1000 {
				if err := next(); err != nil {
					t.Errorf("after the outage: %v", err)
					break
				}
			}
			l.check(t)
		})
	}
}
