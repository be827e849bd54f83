package sqltable_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/segment/sqltable"
)

// TestRestart: a restart continues at the source's counter, which leaves a gap. With Checkpoint there is
// no gap, unless another process has fetched since.
func TestRestart(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, 1000)")
	run(t, db, "INSERT INTO t_sequence VALUES ('a', 0, 1000)")
	for name, tt := range map[string]struct {
		src   segment.Source
		first int64
	}{
		"LeafAlloc": {sqlsource.LeafAlloc(db, nil), 1},
		"Sequence":  {sqlsource.Sequence(db, nil), 1000},
	} {
		start := func(checkpoint bool) *segment.Generator {
			g := segtest.New(t, tt.src, &segment.Options{MaxStep: 1, Checkpoint: checkpoint})
			return g
		}
		takeAndClose := func(g *segment.Generator, want int64) {
			t.Helper()
			ids := segtest.Next(t, g, "a", 50)
			if ids[0] != want {
				t.Errorf("%s: the first id is %d, want %d", name, ids[0], want)
			}
			segtest.AwaitQuiet(t, g)
			if err := g.Close(); err != nil {
				t.Errorf("%s: Close: %v", name, err)
			}
		}
		at := tt.first
		takeAndClose(start(false), at)
		at += 2000 // both ranges are lost
		takeAndClose(start(true), at)
		at += 50 // no id is lost
		g := start(true)
		segtest.Next(t, g, "a", 1)
		segtest.AwaitQuiet(t, g)
		other := start(false)
		segtest.Next(t, other, "a", 1)
		segtest.AwaitQuiet(t, other)
		if err := g.Close(); err != nil {
			t.Errorf("%s: Close after another process fetched: %v", name, err)
		}
		takeAndClose(start(true), at+4000) // the return was refused, because the counter had moved
	}
}

// TestStartWithoutDatabase: if the database is away, New fails, with and without Listed, and Migrate
// waits and logs that. Neither shows the password.
func TestStartWithoutDatabase(t *testing.T) {
	t.Parallel()
	s := dbtest.MariaDB(t)
	db := open(t, s.DSN(s.CreateDB(t)))
	if err := sqlsource.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	logged := sqltable.DB{Pool: pool, Dialect: "mysql", Place: s.Addr()}
	logged.Logger = slog.New(slog.NewTextHandler(&log, nil))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err = sqltable.Migrate(ctx, logged)
	text := log.String()
	if err == nil || strings.Count(text, "waiting for the database") != 1 ||
		!strings.Contains(text, s.Addr()) || strings.Contains(text, dbtest.Password) {
		t.Errorf("Migrate = %v and logs %q, want one line about waiting for %s", err, text, s.Addr())
	}
	for name, src := range map[string]segment.Source{
		"LeafAlloc": sqlsource.LeafAlloc(db, nil), "Sequence": sqlsource.Sequence(db, nil),
	} {
		for _, listed := range []bool{false, true} {
			g, err := segment.New(t.Context(), src, &segment.Options{Listed: listed})
			if err == nil {
				t.Errorf("New over %s with the database down, listed %v = %v, nil, want an error", name, listed, g)
			}
			if strings.Contains(fmt.Sprint(err), dbtest.Password) {
				t.Errorf("the error %v shows the password", err)
			}
		}
	}
}
