package e2e

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/segment/sqltable"
	"gorm.io/gorm"
)

// execute runs statements that are separated by semicolons.
func execute(t *testing.T, db *gorm.DB, text string) {
	t.Helper()
	for statement := range strings.SplitSeq(text, ";") {
		if err := db.Exec(statement).Error; err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// replace puts a copy without keys in the place of a table.
func replace(table string) string {
	return "CREATE TABLE COPIED AS SELECT * FROM " + table + ";DROP TABLE " + table +
		";ALTER TABLE COPIED RENAME TO " + table
}

// view puts a view in the place of a table.
func view(table string) string {
	return "ALTER TABLE " + table + " RENAME TO ORIGINAL;CREATE VIEW " + table +
		" AS SELECT * FROM ORIGINAL"
}

// TestTablesWithoutKeys: on a table without the key that its proof rests on, no process gets a
// worker id or a range, Migrate fails, and the statement of the error is what helps. Twelve starts
// on WORKER_LEASE without its key would share three worker ids.
func TestTablesWithoutKeys(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		leased := func(db *gorm.DB) error {
			_, err := workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders"}).Assign(
				t.Context(), 1000)
			return err
		}
		inDefault := func(db *gorm.DB) error {
			_, err := workernode.Leased(db, nil).Assign(t.Context(), 1000)
			return err
		}
		disposable := func(db *gorm.DB) error {
			_, err := workernode.Disposable(db, nil).Assign(t.Context(), 1000)
			return err
		}
		migrate := func(db *gorm.DB) error { return workernode.Migrate(t.Context(), db) }
		fetch := func(source func(db *gorm.DB) segment.Source) func(db *gorm.DB) error {
			return func(db *gorm.DB) error {
				_, err := source(db).Fetch(t.Context(), "a", 10)
				return err
			}
		}
		leaf := fetch(func(db *gorm.DB) segment.Source { return sqlsource.LeafAlloc(db, nil) })
		sequence := fetch(func(db *gorm.DB) segment.Source { return sqlsource.Sequence(db, nil) })
		ticket := fetch(func(db *gorm.DB) segment.Source {
			return sqlsource.Ticket([]*gorm.DB{db}, nil)
		})
		segments := func(db *gorm.DB) error { return sqlsource.Migrate(t.Context(), db) }
		for _, tt := range []struct {
			table string
			harm  func(table string) string
			uses  []func(*gorm.DB) error
			fine  func(*gorm.DB) error // does not need the key
		}{
			{"WORKER_LEASE", replace, []func(*gorm.DB) error{leased, inDefault, migrate}, disposable},
			{"WORKER_LEASE", view, []func(*gorm.DB) error{leased, inDefault}, nil},
			{"WORKER_NODE", replace, []func(*gorm.DB) error{disposable, inDefault, migrate}, leased},
			{"leaf_alloc", replace, []func(*gorm.DB) error{leaf, segments}, sequence},
			{"t_sequence", replace, []func(*gorm.DB) error{sequence, segments}, leaf},
			{"t_sequence", view, []func(*gorm.DB) error{sequence}, leaf},
			{"ticket", replace, []func(*gorm.DB) error{ticket, segments}, leaf},
		} {
			dsn := d.migrated(t)
			db := d.connect(t, dsn)
			if err := segments(db); err != nil {
				t.Fatal(err)
			}
			execute(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, 10);"+
				"INSERT INTO t_sequence VALUES ('a', 0, 10)")
			execute(t, db, tt.harm(tt.table))
			repair := ""
			for i, use := range tt.uses {
				err := use(db)
				if err == nil || !strings.Contains(err.Error(), tt.table+" has no ") &&
					!strings.Contains(err.Error(), "AUTO") && !strings.Contains(err.Error(), "identity") {
					t.Errorf("use %d of %s after %s = %v, want an error that names it", i, tt.table,
						tt.harm(tt.table), err)
				} else if _, after, ok := strings.Cut(err.Error(), "CREATE UNIQUE"); ok {
					repair = "CREATE UNIQUE" + after
				}
				if e := err; e != nil && tt.table != "WORKER_NODE" && tt.table != "WORKER_LEASE" &&
					!errors.Is(e, segment.ErrOptions) && !errors.Is(e, sqltable.ErrTicketServer) {
					t.Errorf("use %d of %s = %v, want one that wraps ErrOptions", i, tt.table, e)
				}
			}
			if tt.fine != nil {
				if err := tt.fine(db); err != nil {
					t.Errorf("without the key of %s what does not need it = %v", tt.table, err)
				}
			}
			if tt.table != "WORKER_LEASE" && tt.table != "t_sequence" || strings.Contains(
				tt.harm(tt.table), "VIEW") {
				continue // a copy lacks its counter, too
			}
			repair, _, _ = strings.Cut(repair, " (segment: invalid options)")
			execute(t, db, repair)
			for i, use := range tt.uses {
				if err := use(db); err != nil {
					t.Errorf("use %d of %s after %s = %v", i, tt.table, repair, err)
				}
			}
		}
	})
}

// TestCopiedLeases: processes that start together on a WORKER_LEASE without its key.
func TestCopiedLeases(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		dsn := d.migrated(t)
		execute(t, d.connect(t, dsn), replace("WORKER_LEASE"))
		var mu sync.Mutex
		owners := map[int64]int{}
		var wg sync.WaitGroup
		for range 12 {
			db := d.connect(t, dsn)
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				c, err := workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders"}).Assign(
					ctx, 1000)
				if err != nil {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				owners[c.Worker()]++
			})
		}
		wg.Wait()
		for worker, n := range owners {
			if n > 1 {
				t.Errorf("%d processes have worker id %d", n, worker)
			}
		}
	})
}

// TestKeysOfOtherTables: a partitioned table, a key of another name or order and one that is more
// than the primary key do, and a key on some of the rows does not.
func TestKeysOfOtherTables(t *testing.T) {
	const lease = "(NAMESPACE VARCHAR(64) NOT NULL, WORKER_ID BIGINT NOT NULL, " +
		"GENERATION BIGINT NOT NULL, NONCE BIGINT NOT NULL, OWNER VARCHAR(191) NOT NULL, " +
		"UNTIL_MS BIGINT NOT NULL, LAYOUT VARCHAR(191) NOT NULL, CREATED TIMESTAMP NULL, " +
		"MODIFIED TIMESTAMP NULL"
	onEach(t, func(t *testing.T, d dialect) {
		cases := map[string]bool{
			"CREATE TABLE WORKER_LEASE " + lease + ")":                                            false,
			"CREATE TABLE WORKER_LEASE " + lease + ", PRIMARY KEY (WORKER_ID, NAMESPACE, NONCE))": false,
			"CREATE TABLE WORKER_LEASE " + lease + ", UNIQUE (WORKER_ID, NAMESPACE))":             true,
			"CREATE TABLE WORKER_LEASE " + lease + ");" +
				"CREATE INDEX BY_BOTH ON WORKER_LEASE (NAMESPACE, WORKER_ID)": false,
			"CREATE TABLE WORKER_LEASE " + lease + ");" +
				"CREATE UNIQUE INDEX BY_BOTH ON WORKER_LEASE (NAMESPACE, WORKER_ID)": true,
		}
		switch d.name {
		case "MariaDB":
			cases["CREATE TABLE WORKER_LEASE "+lease+", PRIMARY KEY (NAMESPACE, WORKER_ID)) "+
				"PARTITION BY KEY (NAMESPACE) PARTITIONS 4"] = true
		case "PostgreSQL":
			cases["CREATE TABLE WORKER_LEASE "+lease+", PRIMARY KEY (NAMESPACE, WORKER_ID)) "+
				"PARTITION BY HASH (NAMESPACE);CREATE TABLE P0 PARTITION OF WORKER_LEASE "+
				"FOR VALUES WITH (MODULUS 1, REMAINDER 0)"] = true
			cases["CREATE TABLE WORKER_LEASE "+lease+", PRIMARY KEY (NAMESPACE, WORKER_ID));"+
				"CREATE TABLE HEIR () INHERITS (WORKER_LEASE)"] = false
			cases["CREATE TABLE WORKER_LEASE "+lease+");CREATE UNIQUE INDEX BY_BOTH ON WORKER_LEASE "+
				"(NAMESPACE, WORKER_ID) WHERE UNTIL_MS > 0"] = false
			cases["CREATE TABLE WORKER_LEASE "+lease+");CREATE UNIQUE INDEX BY_BOTH ON WORKER_LEASE "+
				"(NAMESPACE, WORKER_ID) INCLUDE (NONCE)"] = true
			cases["CREATE TABLE WORKER_LEASE "+lease+");CREATE UNIQUE INDEX BY_BOTH ON WORKER_LEASE "+
				"(LOWER(NAMESPACE), WORKER_ID)"] = false
		case "SQLite":
			cases["CREATE TABLE WORKER_LEASE "+lease+");CREATE UNIQUE INDEX BY_BOTH ON WORKER_LEASE "+
				"(NAMESPACE, WORKER_ID) WHERE UNTIL_MS > 0"] = false
			cases["CREATE TABLE WORKER_LEASE "+lease+", PRIMARY KEY (NAMESPACE, WORKER_ID)) "+
				"WITHOUT ROWID"] = true
		}
		for text, want := range cases {
			db := d.connect(t, d.fresh(t))
			execute(t, db, text)
			pool, err := db.DB()
			if err != nil {
				t.Fatal(err)
			}
			s, err := sqldb.Open("e2e", pool, db.Name(), "", nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.InfersKey(t.Context(), "WORKER_LEASE", "NAMESPACE", "WORKER_ID"); got !=
				(want && d.name == "PostgreSQL") {
				t.Errorf("after %s InfersKey = %v", text, got)
			}
			_, err = workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders"}).Assign(
				t.Context(), 1000)
			if (err == nil) != want || errors.Is(err, assigner.ErrWorkersExhausted) {
				t.Errorf("after %s Assign = %v, want a claim: %v", text, err, want)
			}
		}
	})
}
