package e2e

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/glebarez/sqlite"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/uidring/uidring/internal/dbtest"
)

// explained is a database whose plans TestPlansElsewhere reads.
type explained struct {
	dialect
	open    func(*sql.DB) gorm.Dialector
	numbers string         // a query that returns the numbers from 1 to %d
	explain string         // what precedes a statement to get its plan; it may carry it out
	analyze string         // what to run after the tables are filled; empty: nothing
	scan    *regexp.Regexp // what a plan must not have
}

var explainedDialects = []explained{
	{
		dialect: dialects[1],
		open:    func(p *sql.DB) gorm.Dialector { return postgres.New(postgres.Config{Conn: p}) },
		numbers: "SELECT i FROM generate_series(1, %d) AS n(i)",
		explain: "EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, COSTS OFF) ",
		analyze: "ANALYZE", // in production autovacuum does it
		scan:    regexp.MustCompile(`Seq Scan`),
	},
	{
		dialect: dialects[2],
		open:    func(p *sql.DB) gorm.Dialector { return &sqlite.Dialector{Conn: p} },
		numbers: "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i FROM n",
		explain: "EXPLAIN QUERY PLAN ",
		scan:    regexp.MustCompile(`SCAN \w*WORKER|USE TEMP B-TREE`),
	},
}

// TestPlansElsewhere is TestPlans on PostgreSQL and SQLite. Their plans say what is scanned and, on
// PostgreSQL, how many rows each step has read.
func TestPlansElsewhere(t *testing.T) {
	t.Parallel()
	for _, d := range explainedDialects {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			d.checkPlans(t)
		})
	}
}

// sent is a statement as a pool has sent it.
type sent struct {
	query string
	args  []any
}

// checkPlans starts each kind of assigner on large tables and checks the plans of its statements.
func (d explained) checkPlans(t *testing.T) {
	t.Helper()
	dsn := d.migrated(t)
	plain, err := d.connect(t, dsn).DB()
	if err != nil {
		t.Fatal(err)
	}
	connector, err := dbtest.Connector(plain.Driver(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	var log []sent // the statements of one start
	ours := regexp.MustCompile(`^(SELECT|UPDATE|INSERT)[^;]*WORKER_`)
	watched := sql.OpenDB(&dbtest.Interceptor{Connectors: []driver.Connector{connector},
		Seen: func(query string, named []driver.NamedValue) {
			if query = strings.Join(strings.Fields(query), " "); ours.MatchString(query) {
				args := make([]any, len(named))
				for i, v := range named {
					args[i] = v.Value
				}
				log = append(log, sent{query, args})
			}
		}})
	defer watched.Close()
	db, err := gorm.Open(d.open(watched), &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true})
	if err != nil {
		t.Fatal(err)
	}
	starts := planStarts(t, db)
	d.fill(t, plain)

	var report strings.Builder
	fmt.Fprintf(&report, "%d leases held in each namespace, %d rows of WORKER_NODE\n", *planLeases, *planNodes)
	for _, s := range starts {
		log = nil
		if _, err := s.a.Assign(t.Context(), 1<<22-1); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&report, "\n%s:\n", s.name)
		for _, statement := range log {
			plan := d.plan(t, plain, statement)
			fmt.Fprintf(&report, "%s\n%s", statement.query, plan)
			if d.scan.MatchString(plan) || mostRows(plan) > 200 {
				t.Errorf("%s: a scan:\n%s\n%s", s.name, statement.query, plan)
			}
		}
		if len(log) < 2 {
			t.Errorf("%s: %d statements were seen, want 2 or more", s.name, len(log))
		}
	}
	t.Log(report.String())
	if *planOut != "" {
		name := strings.TrimSuffix(*planOut, ".txt") + "-" + strings.ToLower(d.name) + ".txt"
		if err := os.WriteFile(name, []byte(report.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// fill makes the tables large: many rows of WORKER_NODE, many leases that are held, and one lease
// that is free.
func (d explained) fill(t *testing.T, db *sql.DB) {
	t.Helper()
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), fmt.Sprintf(statement, args...)); err != nil {
			t.Fatal(err)
		}
	}
	exec("INSERT INTO WORKER_NODE (HOST_NAME, PORT, TYPE, LAUNCH_DATE) "+
		"SELECT 'h', CAST(i AS VARCHAR(20)), 2, DATE('2026-01-01') FROM ("+d.numbers+") AS m", *planNodes)
	until := time.Now().Add(time.Hour).UnixMilli()
	for _, ns := range []string{"default", "orders"} {
		exec("INSERT INTO WORKER_LEASE (NAMESPACE, WORKER_ID, GENERATION, NONCE, OWNER, UNTIL_MS, LAYOUT) "+
			"SELECT '%s', i + 2, 1, i, 'x', %d + i, '' FROM ("+d.numbers+") AS m", ns, until, *planLeases)
	}
	exec("UPDATE WORKER_LEASE SET UNTIL_MS = 5 WHERE NAMESPACE = 'default' AND WORKER_ID = 1")
	if d.analyze != "" {
		exec("%s", d.analyze)
	}
}

// plan explains a statement in a transaction that is rolled back. An INSERT has been carried out
// already and is not carried out again.
func (d explained) plan(t *testing.T, db *sql.DB, s sent) string {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	explain := d.explain
	if strings.HasPrefix(s.query, "INSERT") {
		explain = strings.Replace(explain, "ANALYZE, TIMING OFF, SUMMARY OFF, ", "", 1)
	}
	rows, err := tx.QueryContext(context.WithoutCancel(t.Context()), explain+s.query, s.args...)
	if err != nil {
		t.Fatalf("%s: %v", s.query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var plan strings.Builder
	for rows.Next() {
		line := make([]any, len(columns))
		var text string // the last column
		for i := range line {
			line[i] = new(any)
		}
		line[len(line)-1] = &text
		if err := rows.Scan(line...); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&plan, "    %s\n", text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}

// planRows matches the numbers of rows in PostgreSQL's plans.
var planRows = regexp.MustCompile(`(?:actual rows=|Removed by \w+(?: \w+)?: )(\d+)`)

// mostRows returns the most rows that a step of PostgreSQL's plan has read or left out.
func mostRows(plan string) (most int) {
	for _, m := range planRows.FindAllStringSubmatch(plan, -1) {
		if n, err := strconv.Atoi(m[1]); err == nil {
			most = max(most, n)
		}
	}
	return most
}
