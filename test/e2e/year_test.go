package e2e

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/number"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
)

// shopsEnv is how many shops TestYear has, yearEnv for how many days they take numbers, and storedEnv how
// many days of counters the table has before, written by INSERT.
const (
	shopsEnv  = "UIDRING_YEAR_SHOPS"
	yearEnv   = "UIDRING_YEAR_DAYS"
	storedEnv = "UIDRING_YEAR_STORED"
)

// TestYear: the counters of shops and days are made, each at the first order of its day, and those of
// past days leave the process's memory. What is over is deleted, and begins no more. A year of 1,000
// shops is UIDRING_YEAR_SHOPS=1000 UIDRING_YEAR_DAYS=365 UIDRING_YEAR_STORED=0.
func TestYear(t *testing.T) {
	shops, days, stored := 20, 10, 30
	for env, n := range map[string]*int{shopsEnv: &shops, yearEnv: &days, storedEnv: &stored} {
		if text := os.Getenv(env); text != "" {
			v, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			*n = v
		}
	}
	d := dialects[0]
	db := d.connect(t, d.fresh(t))
	if err := sqlsource.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(16)
	pool.SetMaxIdleConns(16)
	src, _ := sqlsource.LeafAlloc(db, nil).(segment.Periods)
	gen, err := segment.New(t.Context(), src, &segment.Options{Refresh: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer gen.Close()
	var now atomic.Int64
	orders, err := number.New(t.Context(), gen, "order", "{shop digits 4}-{20060102}-{n 6 day}-{check damm}",
		&number.Options{Clock: func() time.Time { return time.Unix(now.Load(), 0) }})
	if err != nil {
		t.Fatal(err)
	}
	memory := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc >> 10
	}
	resident := func(which string) string { // of the whole process, with test and driver
		status, _ := os.ReadFile("/proc/self/status") // there is none but on Linux
		_, line, _ := strings.Cut(string(status), which+":")
		line, _, _ = strings.Cut(line, "\n")
		return strings.TrimSpace(line)
	}
	first, before := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), memory()
	for day := range stored {
		rows := make([]string, shops)
		for shop := range rows {
			rows[shop] = fmt.Sprintf("('order@%s@%04d', 101, 100)", first.AddDate(0, 0, day).Format("20060102"), shop)
		}
		execute(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES "+strings.Join(rows, ", "))
	}
	start, resting := time.Now(), resident("VmRSS")
	for day := stored; day < stored+days; day++ {
		now.Store(first.AddDate(0, 0, day).Unix())
		var (
			next atomic.Int64
			wg   sync.WaitGroup
		)
		for range 16 {
			wg.Go(func() {
				for shop := next.Add(1) - 1; shop < int64(shops); shop = next.Add(1) - 1 {
					text, err := orders.Next(t.Context(), fmt.Sprintf("%04d", shop))
					if err != nil || len(text) != 22 {
						t.Errorf("shop %d, day %d: %q, %v", shop, day, text, err)
						return
					}
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		if day%30 == 29 {
			t.Logf("day %d: %v, the heap holds %d KiB more, %s are resident", day+1,
				time.Since(start).Round(time.Millisecond), memory()-before, resident("VmRSS"))
		}
		if n := len(gen.Stats().Tags); n > 2*shops {
			t.Fatalf("on day %d the process remembers %d tags, want at most %d: two days", day, n, 2*shops)
		}
	}
	made, holds := time.Since(start), memory()
	start = time.Now()
	if err := gen.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	read, listed := time.Since(start), memory()
	start = time.Now()
	all, last := shops*(stored+days), first.AddDate(0, 0, stored+days-1)
	n, err := src.Clear(t.Context(), "order", int64(last.Year()*10000+int(last.Month())*100+last.Day()))
	if err != nil || n != all-shops {
		t.Fatalf("Clear = %d, %v, want %d", n, err, all-shops)
	}
	t.Logf("%d counters of %d shops, of which %d days were made in %v; the process holds %d KiB for the last two, and "+
		"%d KiB after a refresh, which read the list in %v; all but the last day deleted in %v; resident %s before, "+
		"%s at the most", all, shops, days, made.Round(time.Millisecond), holds-before, listed-before,
		read.Round(time.Millisecond), time.Since(start).Round(time.Millisecond), resting, resident("VmHWM"))
	rows, err := src.(segment.Lister).List(t.Context())
	if err != nil || len(rows) != shops {
		t.Errorf("%d counters are left, %v, want %d", len(rows), err, shops)
	}
	// A process whose clock is a day behind.
	now.Store(first.Unix())
	if text, err := orders.Next(t.Context(), "0000"); err == nil {
		t.Errorf("a deleted day gives %s", text)
	}
}
