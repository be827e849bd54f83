package bench_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // registers "mysql"
	"github.com/google/uuid"

	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/uid"
)

// key is one kind of primary key.
type key struct {
	name, typ string
	next      func() (any, error) // nil: the server makes it
}

// perInsert is the number of rows in an INSERT, checkpoints how often a table's size is read.
const perInsert, checkpoints = 500, 8

// BenchmarkKeys fills one table per kind of key with the same rows, one kind after the other, and
// reads the sizes several times on the way: those of a single number of rows depend on where the
// page splits just are.
func BenchmarkKeys(b *testing.B) {
	g, err := uid.NewCached(b.Context(), claimtest.Static(1), nil)
	check(b, err)
	defer g.Close()
	srv := dbtest.MariaDB(b, "--innodb-buffer-pool-size=128M", "--innodb-log-file-size=96M",
		"--innodb-monitor-enable=index_page_splits")
	db, err := sql.Open("mysql", srv.DSN(srv.CreateDB(b))+"&interpolateParams=true")
	check(b, err)
	defer db.Close()
	rows := 1_000_000
	if *quick {
		rows = 40_000
	}
	for i, k := range []key{
		{"uid.Cached", "BIGINT", func() (any, error) {
			id, err := g.Next(b.Context())
			return int64(id), err
		}},
		{"AUTO_INCREMENT", "BIGINT", nil},
		{"UUIDv7", "BINARY(16)",
			func() (any, error) { id, err := uuid.NewV7(); return id[:], err }},
		{"UUIDv4", "BINARY(16)",
			func() (any, error) { id, err := uuid.NewRandom(); return id[:], err }},
		{"UUIDv4", "CHAR(36) CHARACTER SET ascii",
			func() (any, error) { id, err := uuid.NewRandom(); return id.String(), err }},
	} {
		k.fill(b, db, fmt.Sprint("t", i), rows)
	}
}

// fill inserts n rows of about a hundred bytes and reads off what became of the table. The
// secondary index is there because every entry of it repeats the primary key.
func (k key) fill(b *testing.B, db *sql.DB, table string, n int) {
	column := "id " + k.typ + " NOT NULL PRIMARY KEY"
	if k.next == nil {
		column += " AUTO_INCREMENT"
	}
	_, err := db.ExecContext(b.Context(), "CREATE TABLE "+table+" ("+column+
		", customer INT NOT NULL, note VARCHAR(120) NOT NULL, KEY customer (customer))")
	check(b, err)
	name := strings.ReplaceAll(k.name, "_", "__") + " " + strings.Fields(k.typ)[0]
	var data, index, before, after float64
	const splits = "SELECT COUNT FROM information_schema.INNODB_METRICS " +
		"WHERE NAME = 'index_page_splits'"
	check(b, db.QueryRowContext(b.Context(), splits).Scan(&before))
	took := time.Duration(0)
	for part := 1; part <= checkpoints; part++ {
		b.Run("secondary index/"+name, func(b *testing.B) {
			start := time.Now()
			for done := n * (part - 1) / checkpoints; done < n*part/checkpoints; done += perInsert {
				k.insert(b, db, table, done)
			}
			took += time.Since(start)
			_, err := db.ExecContext(b.Context(), "ANALYZE TABLE "+table)
			check(b, err)
			check(b, db.QueryRowContext(b.Context(), `SELECT DATA_LENGTH, INDEX_LENGTH FROM
				information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?`,
				table).Scan(&data, &index))
			b.ReportMetric(index, human.Count(int64(n*part/checkpoints))+"-B")
		})
	}
	check(b, db.QueryRowContext(b.Context(), splits).Scan(&after))
	b.Run("keys/"+name, func(b *testing.B) {
		b.ReportMetric(float64(n)/took.Seconds(), "inserts_a_second")
		b.ReportMetric(data, "clustered_index-B")
		b.ReportMetric(index, "secondary_index-B")
		b.ReportMetric(after-before, "page_splits")
	})
}

// insert adds perInsert rows in one statement.
func (k key) insert(b *testing.B, db *sql.DB, table string, from int) {
	const note = "the quick brown fox jumps over the lazy dog, and the lazy dog does not " +
		"mind at all"
	var id any // NULL, for which the server makes a key
	args := make([]any, 0, 3*perInsert)
	for i := range perInsert {
		if k.next != nil {
			var err error
			id, err = k.next()
			check(b, err)
		}
		args = append(args, id, (from+i)*7919%100_003, note)
	}
	_, err := db.ExecContext(b.Context(), "INSERT INTO "+table+" VALUES (?,?,?)"+
		strings.Repeat(",(?,?,?)", perInsert-1), args...)
	check(b, err)
}
