package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/backfill"
)

// movingPage returns the code blocks of docs/moving.md in the language kind. The Chinese page must
// have the same ones in the same order.
func movingPage(t *testing.T, kind string) []string {
	t.Helper()
	var pages [2][]string
	blocks := regexp.MustCompile("(?ms)^ *```" + kind + "\n(.*?)^ *```$")
	for i, file := range []string{"../../docs/moving.md", "../../docs/moving.zh-CN.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range blocks.FindAllStringSubmatch(string(text), -1) {
			pages[i] = append(pages[i], strings.TrimSpace(m[1]))
		}
	}
	if fmt.Sprint(pages[0]) != fmt.Sprint(pages[1]) {
		t.Errorf("the pages differ:\n%q\n%q", pages[0], pages[1])
	}
	return pages[0]
}

// movingSQL returns the page's statement that contains a text.
func movingSQL(t *testing.T, part string) string {
	t.Helper()
	for _, block := range movingPage(t, "sql") {
		if strings.Contains(block, part) {
			return strings.TrimSuffix(block, ";")
		}
	}
	t.Fatalf("docs/moving.md has no statement with %q", part)
	return ""
}

// openMoving returns an empty database of MariaDB.
func openMoving(t *testing.T) *gorm.DB {
	t.Helper()
	s := dbtest.MariaDB(t)
	db, err := workernode.OpenMySQL(s.DSN(s.CreateDB(t)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if pool, err := db.DB(); err == nil {
			pool.Close()
		}
	})
	if err := workernode.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return db
}

// runSQL runs statements.
func runSQL(t *testing.T, db *gorm.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if err := db.Exec(s).Error; err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// TestMoving moves tables with the ids of other systems by the page's recipe. No new id equals an old
// one, and ORDER BY id is the order of creation.
func TestMoving(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnMySQL(t, "the tables are made in the ways of MariaDB")
	db := openMoving(t)
	now := time.Now().UTC()
	ms := func(i int, epoch time.Time) int64 {
		return now.Add(time.Duration(i-1000) * time.Second).Sub(epoch).Milliseconds()
	}
	twitter := time.UnixMilli(1288834974657)
	for name, old := range map[string]func(i int) int64{
		"AUTO_INCREMENT": func(i int) int64 { return 4_000_000_000 + int64(i) },
		"Leaf-segment":   func(i int) int64 { return 2000*int64(i/100) + int64(i%100) + 1 },
		"bwmarrin":       func(i int) int64 { return ms(i, twitter)<<22 | 7<<12 | int64(i%4096) },
		"Leaf-snowflake": func(i int) int64 { return ms(i, twitter)<<22 | 1023<<12 | int64(i*37%100) },
		"1970":           func(i int) int64 { return ms(i, time.UnixMilli(0))<<22 | 1023<<12 | 4095 },
		"sonyflake": func(i int) int64 {
			return ms(i, time.Date(2014, 9, 1, 0, 0, 0, 0, time.UTC))/10<<24 | int64(i%256)<<16 | 0xC0A8
		},
		"yitter": func(i int) int64 {
			return ms(i, time.Date(2020, 2, 20, 2, 20, 2, 20_000_000, time.UTC))<<12 | 5<<6 | int64(i%64)
		},
		"hutool of its own epoch": func(i int) int64 {
			return ms(i, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))<<22 | 31<<17 | 31<<12 | int64(i%4096)
		},
	} {
		t.Run(name, func(t *testing.T) {
			runSQL(t, db, "CREATE OR REPLACE TABLE orders "+
				"(id BIGINT PRIMARY KEY AUTO_INCREMENT, made INT NOT NULL) ENGINE = InnoDB")
			insert := func(i int, id int64) {
				runSQL(t, db, fmt.Sprintf("INSERT INTO orders VALUES (%d, %d)", id, i)) // fails if two are equal
			}
			for i := range 300 {
				insert(i, old(i))
			}
			runSQL(t, db, movingSQL(t, "ALTER TABLE orders MODIFY id"))
			if err := db.Exec("INSERT INTO orders (made) VALUES (0)").Error; err == nil {
				t.Error("a forgotten writer still gets ids")
			}
			var highest int64
			if err := db.Raw(movingSQL(t, "SELECT MAX(id)")).Row().Scan(&highest); err != nil {
				t.Fatal(err)
			}
			b := newBench(t)
			b.now = time.Now()
			var r planReport
			args := []string{"plan", "--json", "--above", strconv.FormatInt(highest, 10)}
			if name == "1970" {
				args = append(args, "--layout", "31-14-18")
			}
			if err := json.Unmarshal([]byte(b.check(t, exitOK, "", "", args...).stdout), &r); err != nil {
				t.Fatal(err)
			}
			if left := time.Until(r.Expires.Time); left < 365*24*time.Hour {
				t.Errorf("%s lasts %v", r.Layout, left)
			}
			layout, err := bitsalloc.ParseLayout(r.Layout)
			if err != nil {
				t.Fatal(err)
			}
			o := &workernode.LeasedOptions{Namespace: name}
			gen, err := uid.NewCached(t.Context(), workernode.Leased(db, o), &uid.Options{Layout: layout})
			if err != nil {
				t.Fatal(err)
			}
			defer gen.Close()
			for i := range 300 {
				id, err := gen.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				insert(300+i, int64(id))
			}
			var made []int
			if err := db.Raw("SELECT made FROM orders ORDER BY id").Scan(&made).Error; err != nil || len(made) != 600 {
				t.Fatal(len(made), err)
			}
			for i, m := range made {
				if m != i {
					t.Fatalf("row %d by id was made as number %d", i, m)
				}
			}
		})
	}
	runSQL(t, db, "CREATE TABLE leaf_alloc "+
		"(biz_tag VARCHAR(128) PRIMARY KEY, max_id BIGINT NOT NULL, step INT NOT NULL)",
		"INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('order', 4711, 1000)")
	var highest int64
	if err := db.Raw(movingSQL(t, "leaf_alloc")).Row().Scan(&highest); err != nil || highest != 4711 {
		t.Errorf("%d, %v, want the tag's max_id", highest, err)
	}
}

// TestMovingBaidu finds the epoch of a service from its rows by the page's statement, and makes the ids
// of Java and of this library side by side on one WORKER_NODE.
func TestMovingBaidu(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnMySQL(t, "the tables are made in the ways of MariaDB")
	db := openMoving(t)
	for zone, want := range map[int]string{8: "2016-09-19 16:00:0", 0: "2016-09-20 00:00:0"} {
		runSQL(t, db, "CREATE OR REPLACE TABLE orders "+
			"(id BIGINT PRIMARY KEY, created DATETIME NOT NULL) ENGINE = InnoDB")
		layout := compat.BaiduSample()
		layout.Epoch = layout.Epoch.Add(time.Duration(8-zone) * time.Hour)
		a, err := bitsalloc.New(layout)
		if err != nil {
			t.Fatal(err)
		}
		created := time.Now().UTC().Truncate(time.Second)
		id, err := a.Compose(a.TickAt(created), 4711, 3)
		if err != nil {
			t.Fatal(err)
		}
		runSQL(t, db, fmt.Sprintf("INSERT INTO orders VALUES (%d, '%s')",
			id, created.Add(time.Second).Format(time.DateTime)))
		var epoch string
		if err := db.Raw(movingSQL(t, "id >> 34")).Row().Scan(&epoch); err != nil {
			t.Fatal(err)
		}
		if epoch = strings.NewReplacer("T", " ", "Z", "").Replace(epoch); !strings.HasPrefix(epoch, want) {
			t.Errorf("the epoch in zone %d is %s, want %s", zone, epoch, want)
		}
	}
	page, err := os.ReadFile("../../docs/moving.md")
	if err != nil {
		t.Fatal(err)
	}
	layout, err := bitsalloc.ParseLayout("29-21-13@2016-09-19T16:00:00Z")
	if err != nil || layout != compat.BaiduSample() ||
		!strings.Contains(string(page), `bitsalloc.ParseLayout("29-21-13@2016-09-19T16:00:00Z")`) {
		t.Errorf("the page's layout is %v, %v", layout, err)
	}
	seen := map[uid.ID]bool{}
	for range 3 {
		// At its start Java inserts a row, whose key is its worker id.
		runSQL(t, db, "INSERT INTO WORKER_NODE (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED) "+
			"VALUES ('java', '8080', 2, CURDATE(), NOW(), NOW())")
		var worker int64
		if err := db.Raw("SELECT MAX(ID) FROM WORKER_NODE").Row().Scan(&worker); err != nil {
			t.Fatal(err)
		}
		a, err := bitsalloc.New(layout)
		if err != nil {
			t.Fatal(err)
		}
		gen, err := uid.NewDefault(t.Context(), workernode.Disposable(db, nil),
			&uid.DefaultOptions{Layout: layout, SeqStart: 1})
		if err != nil {
			t.Fatal(err)
		}
		for seq := range int64(1000) {
			java, err := a.Compose(a.TickAt(time.Now()), worker, seq)
			if err != nil {
				t.Fatal(err)
			}
			ours, err := gen.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if seen[uid.ID(java)] || seen[ours] || ours == uid.ID(java) {
				t.Fatalf("%d of Java or %d of ours were repeated", java, ours)
			}
			seen[uid.ID(java)], seen[ours] = true, true
		}
		if err := gen.Close(); err != nil {
			t.Error(err)
		}
	}
	b := newBench(t)
	b.check(t, exitFailure, "", "bits are missing", "plan", "--above", "9223372036854775807")
	b.check(t, exitOK, "29-21-13 ends in", "", "eras", "--layout", "29-21-13@2016-09-19T16:00:00Z")
}

// TestMovingYitter: the page's layouts make yitter's numbers. A generator whose layout begins later
// does not start before that.
func TestMovingYitter(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/moving.md")
	if err != nil {
		t.Fatal(err)
	}
	for epoch, base := range map[string]int64{
		"2020-02-19T18:20:02Z": 1582136402000, "2020-02-20T02:20:02.02Z": 1582165202020,
	} {
		if !strings.Contains(string(text), "@"+epoch) {
			t.Errorf("docs/moving.md has no epoch %s", epoch)
		}
		layout, err := bitsalloc.ParseLayout("41-6-6/1ms@" + epoch)
		if err != nil {
			t.Fatal(err)
		}
		a, err := bitsalloc.New(layout)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now().Truncate(time.Millisecond)
		id, err := a.Compose(a.TickAt(now), 5, 7)
		if want := (now.UnixMilli()-base)<<12 | 5<<6 | 7; err != nil || id != want || id >= 1<<53 {
			t.Errorf("the layout from %s makes %d, %v, want yitter's %d below 2^53", epoch, id, err, want)
		}
		if y := a.Expires().Year(); y != 2089 {
			t.Errorf("the layout ends in %d, want 2089", y)
		}
	}
	b := newBench(t)
	var r planReport
	args := []string{"plan", "--json", "--above", "4000000000", "--from",
		time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)}
	if err := json.Unmarshal([]byte(b.check(t, exitOK, "", "", args...).stdout), &r); err != nil {
		t.Fatal(err)
	}
	layout, err := bitsalloc.ParseLayout(r.Layout)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := uid.NewCached(t.Context(), assigner.Static(1), &uid.Options{Layout: layout}); err == nil ||
		!strings.Contains(err.Error(), "Layout.Epoch") {
		t.Errorf("a generator before its layout begins: %v, want an error that names Layout.Epoch", err)
	}
}

// TestMovingUUID runs the page's statements around a backfill.
func TestMovingUUID(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnMySQL(t, "the tables are made in the ways of MariaDB")
	db := openMoving(t)
	runSQL(t, db, "CREATE TABLE orders (id CHAR(36) PRIMARY KEY, created DATETIME NOT NULL) ENGINE = InnoDB",
		"INSERT INTO orders SELECT UUID(), '2026-11-20' + INTERVAL seq MINUTE FROM seq_1_to_500",
		movingSQL(t, "ADD COLUMN uid"))
	f, err := backfill.New(t.Context(), workernode.Disposable(db, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []struct {
		ID      string
		Created time.Time
	}
	err = db.Raw("SELECT id, created FROM orders WHERE uid IS NULL ORDER BY created").Scan(&rows).Error
	if err != nil || len(rows) != 500 {
		t.Fatal(len(rows), err)
	}
	for _, r := range rows {
		id, err := f.At(t.Context(), r.Created)
		if err != nil {
			t.Fatal(err)
		}
		runSQL(t, db, fmt.Sprintf("UPDATE orders SET uid = %d WHERE id = '%s' AND uid IS NULL", id, r.ID))
	}
	runSQL(t, db, movingSQL(t, "ADD UNIQUE KEY"))
	var first, last time.Time
	err = db.Raw("SELECT (SELECT created FROM orders ORDER BY uid LIMIT 1), "+
		"(SELECT created FROM orders ORDER BY uid DESC LIMIT 1)").Row().Scan(&first, &last)
	if err != nil {
		t.Fatal(err)
	}
	if !first.Equal(rows[0].Created) || !last.Equal(rows[499].Created) {
		t.Errorf("by uid the rows run from %v to %v", first, last)
	}
}
