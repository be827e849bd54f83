package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/number"
	"github.com/uidring/uidring/segment/sqlsource"
)

// BenchmarkGapless measures a transaction that takes a gapless number beside one that counts in a bare
// UPDATE, on MariaDB and PostgreSQL, all of one key and each goroutine with its own. Repeat whole runs.
//
//	go test -c -o e2e.test ./e2e && for i in 1 2 3; do ./e2e.test -test.run '^$' -test.bench Gapless; done
func BenchmarkGapless(b *testing.B) {
	for _, d := range dialects[:2] {
		db := d.connect(b, d.fresh(b))
		if err := sqlsource.Migrate(b.Context(), db); err != nil {
			b.Fatal(err)
		}
		pool, err := db.DB()
		if err != nil {
			b.Fatal(err)
		}
		pool.SetMaxOpenConns(16)
		pool.SetMaxIdleConns(16)
		g, err := number.NewGapless(b.Context(), pool, db.Name(), "invoice",
			"INV-{shop digits 2}-{2006}-{n 9 year gapless}", nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := pool.Exec("CREATE TABLE bare (k INT PRIMARY KEY, n BIGINT NOT NULL)"); err != nil {
			b.Fatal(err)
		}
		for k := range 100 {
			if _, err := pool.Exec(fmt.Sprintf("INSERT INTO bare VALUES (%d, 0)", k)); err != nil {
				b.Fatal(err)
			}
		}
		for name, count := range map[string]func(ctx context.Context, tx *sql.Tx, key int64) error{
			"number": func(ctx context.Context, tx *sql.Tx, key int64) error {
				_, err := g.Next(ctx, tx, fmt.Sprintf("%02d", key))
				return err
			},
			"bare_UPDATE": func(ctx context.Context, tx *sql.Tx, key int64) error {
				_, err := tx.ExecContext(ctx, fmt.Sprintf("UPDATE bare SET n = n + 1 WHERE k = %d", key))
				return err
			},
		} {
			for keys, most := range map[string]int64{"one_key": 1, "own_keys": 100} {
				b.Run(d.name+"/"+keys+"/"+name, func(b *testing.B) {
					var worker atomic.Int64
					b.SetParallelism(4)
					b.RunParallel(func(pb *testing.PB) {
						key := worker.Add(1) % most
						for pb.Next() {
							tx, err := pool.BeginTx(b.Context(), nil)
							if err == nil {
								err = count(b.Context(), tx, key)
							}
							if err == nil {
								err = tx.Commit()
							}
							if err != nil {
								b.Error(err)
								return
							}
						}
					})
				})
			}
		}
	}
}
