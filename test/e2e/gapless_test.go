package e2e

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/number"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
)

const invoiceFormat = "INV-{shop upper 2}-{2006}-{n 5 year gapless}"

// invoices returns a database with a table of invoices, its pool, and the numbers of a name.
func invoices(t *testing.T, d dialect) (*gorm.DB, *sql.DB, *number.Gapless) {
	t.Helper()
	db := d.connect(t, d.fresh(t))
	if err := sqlsource.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	execute(t, db, "CREATE TABLE invoice (number VARCHAR(64) PRIMARY KEY)")
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	g, err := number.NewGapless(t.Context(), pool, db.Name(), "invoice", invoiceFormat, &number.Options{
		Clock: func() time.Time { return time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC) }})
	if err != nil {
		t.Fatal(err)
	}
	return db, pool, g
}

// TestGapless: transactions of two shops at once, a third of which roll back, leave each number from 1
// on exactly once, from the first one on.
func TestGapless(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		db, _, g := invoices(t, d)
		undone := errors.New("undone")
		var wg sync.WaitGroup
		for i := range 6 {
			r := rand.New(rand.NewPCG(28, uint64(i)))
			wg.Go(func() {
				for done := 0; done < 25; {
					err := db.Transaction(func(tx *gorm.DB) error {
						text, err := g.Next(t.Context(), tx.Statement.ConnPool, []string{"BJ", "SH"}[r.IntN(2)])
						if err != nil {
							return err
						}
						if err := tx.Exec("INSERT INTO invoice VALUES (?)", text).Error; err != nil {
							return err
						}
						if r.IntN(3) == 0 {
							return undone
						}
						return nil
					})
					if err == nil {
						done++
					} else if !errors.Is(err, undone) && !retry(err) {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		var texts []string
		if err := db.Raw("SELECT number FROM invoice ORDER BY number").Scan(&texts).Error; err != nil {
			t.Fatal(err)
		}
		counts := map[string]int64{}
		for _, text := range texts {
			p, err := g.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if counts[p.Keys[0]]++; p.Count != counts[p.Keys[0]] {
				t.Errorf("%s is number %d of its shop", text, counts[p.Keys[0]])
			}
		}
		if len(texts) != 150 || len(counts) != 2 {
			t.Errorf("%d invoices of %v, want 150 of two shops", len(texts), counts)
		}
	})
}

// retry reports whether a transaction is tried again: the database chose it to end a conflict.
func retry(err error) bool {
	return slices.ContainsFunc([]string{"Deadlock", "deadlock", "40001", "locked"},
		func(s string) bool { return strings.Contains(err.Error(), s) })
}

// TestGaplessFirst: two transactions use a counter for the first time at once. The second waits for the
// first, whichever way that ends, neither fails, and the second goes on in its transaction.
func TestGaplessFirst(t *testing.T) {
	on(t, dialects[:2], func(t *testing.T, d dialect) { // SQLite has one writer at a time
		_, pool, g := invoices(t, d)
		for i, commit := range []bool{true, false} {
			shop := fmt.Sprintf("A%c", 'A'+i)
			first, err := pool.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			second, err := pool.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			one, err := g.Next(t.Context(), first, shop)
			if err != nil {
				t.Fatal(err)
			}
			two := make(chan string)
			go func() {
				text, err := g.Next(t.Context(), second, shop)
				if err == nil {
					_, err = second.ExecContext(t.Context(), "INSERT INTO invoice VALUES ('"+text+"')")
				}
				if err == nil {
					err = second.Commit()
				}
				if err != nil {
					t.Error(err)
				}
				two <- text
			}()
			select {
			case text := <-two:
				t.Errorf("%s did not wait for %s", text, one)
			case <-time.After(200 * time.Millisecond):
			}
			want := "INV-" + shop + "-2026-00001"
			if commit {
				err, want = first.Commit(), "INV-"+shop+"-2026-00002"
			} else {
				err = first.Rollback()
			}
			if text := <-two; err != nil || text != want {
				t.Errorf("after commit %v: %q, %v, want %q", commit, text, err, want)
			}
		}
	})
}

// TestGaplessWithoutKey: a copy of the table that has lost its key is refused.
func TestGaplessWithoutKey(t *testing.T) {
	on(t, dialects[:1], func(t *testing.T, d dialect) { // the others refuse the statement itself
		db, pool, _ := invoices(t, d)
		for _, statement := range []string{
			"CREATE TABLE copied AS SELECT * FROM number_gapless", "DROP TABLE number_gapless",
			"RENAME TABLE copied TO number_gapless",
		} {
			if err := db.Exec(statement).Error; err != nil {
				t.Fatal(err)
			}
		}
		_, err := number.NewGapless(t.Context(), pool, "mysql", "again", "{n 6 never gapless}", nil)
		if err == nil || !strings.Contains(err.Error(), "number_gapless has no key of tag") {
			t.Errorf("NewGapless without the key = %v, want it refused", err)
		}
	})
}

// TestGaplessEngine: counters in an engine without transactions are refused.
func TestGaplessEngine(t *testing.T) {
	on(t, dialects[:1], func(t *testing.T, d dialect) {
		db, pool, _ := invoices(t, d)
		must(t, db.Exec("ALTER TABLE number_gapless ENGINE = MyISAM"))
		_, err := number.NewGapless(t.Context(), pool, "mysql", "again", "{n 6 never gapless}", nil)
		if err == nil || !strings.Contains(err.Error(), "number_gapless has no transactions") {
			t.Errorf("NewGapless with an engine without transactions = %v, want it refused", err)
		}
	})
}

// TestGaplessRefuses: what is no transaction, another format, and a name that has gaps, or the other
// way round.
func TestGaplessRefuses(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		db, pool, g := invoices(t, d)
		if text, err := g.Next(t.Context(), pool, "BJ"); !errors.Is(err, number.ErrFormat) {
			t.Errorf("Next without a transaction = %q, %v, want ErrFormat", text, err)
		}
		prepared := db.Session(&gorm.Session{PrepareStmt: true})
		if text, err := g.Next(t.Context(), prepared.Statement.ConnPool, "BJ"); !errors.Is(err, number.ErrFormat) {
			t.Errorf("Next on GORM's pool of prepared statements = %q, %v, want ErrFormat", text, err)
		}
		if err := prepared.Transaction(func(tx *gorm.DB) error {
			_, err := g.Next(t.Context(), tx.Statement.ConnPool, "BJ")
			return err
		}); err != nil {
			t.Errorf("Next in GORM's prepared transaction = %v", err)
		}
		gen, err := segment.New(t.Context(), sqlsource.LeafAlloc(db, nil), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer gen.Close()
		if _, err := number.New(t.Context(), gen, "invoice", "{n 6 never}", nil); !errors.Is(err, segment.ErrFormat) {
			t.Errorf("New of a gapless name = %v, want ErrFormat", err)
		}
		if _, err := number.New(t.Context(), gen, "order", "{n 6 never}", nil); err != nil {
			t.Fatal(err)
		}
		for name, format := range map[string]string{
			"order":   "{n 6 never gapless}", // has gaps
			"invoice": "{n 6 never gapless}", // another format
		} {
			_, err := number.NewGapless(t.Context(), pool, db.Name(), name, format, nil)
			if !errors.Is(err, segment.ErrFormat) {
				t.Errorf("NewGapless of %s = %v, want segment.ErrFormat", name, err)
			}
		}
		if _, err := number.NewGapless(t.Context(), pool, db.Name(), "x", "{n 6 never}", nil); !errors.Is(err,
			number.ErrFormat) {
			t.Errorf("NewGapless of a format with gaps = %v, want ErrFormat", err)
		}
		unkept, err := pool.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = number.NewGapless(t.Context(), unkept, db.Name(), "rolled", "{n 6 never gapless}", nil)
		if !errors.Is(err, number.ErrFormat) {
			t.Errorf("NewGapless in a transaction = %v, want ErrFormat", err)
		}
		if err := unkept.Rollback(); err != nil {
			t.Error(err)
		}
		small, err := number.NewGapless(t.Context(), pool, db.Name(), "small", "{n [ab] 1 never gapless}", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []error{nil, segment.ErrExhausted} {
			tx, err := pool.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := small.Next(t.Context(), tx); !errors.Is(err, want) {
				t.Errorf("Next = %q, %v, want %v", text, err, want)
			}
			if err := tx.Commit(); err != nil {
				t.Error(err)
			}
		}
	})
}
