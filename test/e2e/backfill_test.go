package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/backfill"
)

// backfillRows is how many rows TestBackfill fills, 20,000 unless the environment says otherwise.
const backfillRows = "UIDRING_BACKFILL_ROWS"

// fillRows sets the uid of the rows of orders that have none, each to an id of the time at which the
// row was created. It works in batches and returns how many rows it has set. It may break off
// anywhere: the next call goes on with the rows that are left.
func fillRows(ctx context.Context, db *gorm.DB, b *backfill.Generator, batch int) (filled int, err error) {
	for {
		var rows []struct {
			ID      int64
			Created time.Time
		}
		err := db.WithContext(ctx).
			Raw("SELECT id, created FROM orders WHERE uid IS NULL ORDER BY created, id LIMIT ?", batch).
			Scan(&rows).Error
		if err != nil || len(rows) == 0 {
			return filled, err
		}
		var set strings.Builder
		ids := make([]int64, len(rows))
		for i, r := range rows {
			id, err := b.At(ctx, r.Created)
			if err != nil {
				return filled, err
			}
			fmt.Fprintf(&set, " WHEN %d THEN %d", r.ID, id)
			ids[i] = r.ID
		}
		err = db.WithContext(ctx).
			Exec("UPDATE orders SET uid = CASE id"+set.String()+" END WHERE id IN ? AND uid IS NULL", ids).Error
		if err != nil {
			return filled, err
		}
		filled += len(rows)
	}
}

// TestBackfill fills a table of MariaDB in two runs, the first of which breaks off, while a service
// inserts new rows. Every row gets an id of its own with the row's time, and ORDER BY uid is the
// order of creation.
func TestBackfill(t *testing.T) {
	t.Parallel()
	n := 20_000
	if text := os.Getenv(backfillRows); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	d := dialects[0]
	dsn := d.migrated(t)
	db := d.connect(t, dsn)
	// About 1,000 rows for each of the last seconds before the service changed to ids. Their times
	// do not follow the order of id.
	execAll(t, db, "CREATE TABLE orders (id BIGINT PRIMARY KEY AUTO_INCREMENT, created DATETIME(6) NOT NULL, "+
		"uid BIGINT NULL, KEY (uid, created)) ENGINE = InnoDB")
	execAll(t, db, "CREATE TABLE digits (n BIGINT PRIMARY KEY)",
		"INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)")
	for from := 1; from <= n; from += 20_000 {
		execAll(t, db, fmt.Sprintf("INSERT INTO orders (created) "+
			"SELECT '2026-11-21 00:00:00' - INTERVAL (seq * 7919 %% %d) * 1000 + seq %% 1000 MICROSECOND"+
			" FROM (SELECT %d + a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n AS seq "+
			"FROM digits a, digits b, digits c, digits d, digits e WHERE e.n < 2) s WHERE seq <= %d",
			n, from, min(n, from+20_000-1)))
	}
	gen, err := uid.NewCached(t.Context(), workernode.Disposable(db, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer gen.Close()

	begin := time.Now()
	filled := 0
	for run := 0; filled < n; run++ {
		ctx, cancel := context.WithCancelCause(t.Context())
		b, err := backfill.New(ctx, workernode.Disposable(db, nil), nil)
		if err != nil {
			t.Fatal(err)
		}
		if run == 0 { // breaks off in the middle
			limited := db.Session(&gorm.Session{NewDB: true, Context: ctx})
			done := 0
			if err := limited.Callback().Raw().After("gorm:raw").Register("stop", func(*gorm.DB) {
				if done++; done == n/1000/2 {
					cancel(errors.New("stopped"))
				}
			}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := fillRows(ctx, db, b, 1000)
		if run == 0 && !errors.Is(err, context.Canceled) || run > 0 && err != nil {
			t.Fatalf("run %d: %d rows, %v, want run 0 canceled and no error in others", run, got, err)
		}
		var left int64
		if err := db.Raw("SELECT COUNT(*) FROM orders WHERE uid IS NULL").Row().Scan(&left); err != nil {
			t.Fatal(err)
		}
		filled = n - int(left) // a batch whose answer was lost counts as well
		cancel(nil)
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		id, err := gen.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		execAll(t, db, fmt.Sprintf("INSERT INTO orders (created, uid) VALUES (UTC_TIMESTAMP(6), %d)", id))
	}
	t.Logf("%d rows in %v", n, time.Since(begin).Round(time.Millisecond))

	// A pool without timeouts, because changing a large table takes a while.
	patient, err := gorm.Open(mysql.Open(dsn), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if pool, err := patient.DB(); err == nil {
			pool.Close()
		}
	}()
	// This fails if two ids are equal, or if a row has none.
	execAll(t, patient, "ALTER TABLE orders ADD UNIQUE KEY (uid), MODIFY uid BIGINT NOT NULL")
	a, err := bitsalloc.New(bitsalloc.Layout{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := patient.Raw("SELECT uid, created FROM orders ORDER BY uid").Rows()
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var last time.Time
	count := 0
	for ; rows.Next(); count++ {
		var id int64
		var created time.Time
		if err := rows.Scan(&id, &created); err != nil {
			t.Fatal(err)
		}
		tick, _, _, _ := a.Split(id)
		if count < n && tick != a.TickAt(created) || created.Truncate(time.Second).Before(last) {
			t.Fatalf("row %d: id %d of tick %d, created %v, after %v", count, id, tick, created, last)
		}
		last = created.Truncate(time.Second)
	}
	if err := rows.Err(); err != nil || count <= n {
		t.Errorf("%d rows, %v, want more than %d", count, err, n)
	}
}

// TestBounds selects the rows of a span of time by their ids alone: MariaDB reads a range of the
// primary key, and finds the rows that a comparison of their times finds.
func TestBounds(t *testing.T) {
	t.Parallel()
	d := dialects[0]
	db := d.connect(t, d.migrated(t))
	execAll(t, db, "CREATE TABLE orders (id BIGINT PRIMARY KEY, created DATETIME NOT NULL) ENGINE = InnoDB")
	b, err := backfill.New(t.Context(), workernode.Disposable(db, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	day := time.Date(2026, time.November, 21, 0, 0, 0, 0, time.UTC)
	var values []string
	for i := range 20_000 {
		at := day.Add(time.Duration(i-10_000) * 37 * time.Second)
		id, err := b.At(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, fmt.Sprintf("(%d, '%s')", id, at.Format(time.DateTime)))
	}
	execAll(t, db, "INSERT INTO orders VALUES "+strings.Join(values, ", "), "ANALYZE TABLE orders")
	a, err := bitsalloc.New(bitsalloc.Layout{})
	if err != nil {
		t.Fatal(err)
	}
	lo, hi := a.Between(day, day.AddDate(0, 0, 1))
	page, err := os.ReadFile("../../docs/command.md")
	if err != nil {
		t.Fatal(err)
	}
	query := fmt.Sprintf("SELECT COUNT(*) FROM orders WHERE id BETWEEN %d AND %d", lo, hi)
	if !strings.Contains(string(page), query+";\n") {
		t.Errorf("docs/command.md does not have %q", query)
	}
	var found, want int
	if err := db.Raw(query).Row().Scan(&found); err != nil {
		t.Fatal(err)
	}
	byTime := db.Raw("SELECT COUNT(*) FROM orders WHERE created >= '2026-11-21' AND created < '2026-11-22'")
	if err := byTime.Row().Scan(&want); err != nil {
		t.Fatal(err)
	}
	if found != want || found < 2000 {
		t.Errorf("%d rows by id, %d by time, want the same number, and 2000 or more", found, want)
	}
	var plan map[string]any
	if err := db.Raw("EXPLAIN FORMAT=TRADITIONAL " + query).Scan(&plan).Error; err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(plan); fmt.Sprint(plan["type"]) != "range" || fmt.Sprint(plan["key"]) != "PRIMARY" {
		t.Errorf("EXPLAIN: %s, want a range of the primary key", text)
	} else {
		t.Log(text)
	}
}
