package workernode_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// BenchmarkDatabase measures what one claim, one extension and one release cost on MariaDB over
// loopback: the time, and the round trips between the process and the server.
func BenchmarkDatabase(b *testing.B) {
	for _, pool := range []string{"OpenMySQL", "gorm.Open"} {
		srv, name := maria(b)
		db := connect(b, srv.DSN(name))
		if pool == "gorm.Open" {
			var err error
			if db, err = gorm.Open(mysql.Open(srv.DSN(name)), &gorm.Config{Logger: logger.Discard}); err != nil {
				b.Fatal(err)
			}
			p, err := db.DB()
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close()
		}
		roundTrips := func() float64 {
			var n float64
			for line := range strings.Lines(srv.Query(b, name, "SHOW GLOBAL STATUS WHERE "+
				"Variable_name IN ('Questions', 'Com_stmt_prepare')")) {
				_, text, _ := strings.Cut(strings.TrimSpace(line), "\t")
				value, err := strconv.ParseFloat(text, 64)
				if err != nil {
					b.Fatal(err)
				}
				n += value
			}
			return n
		}
		measure := func(op string, run func(*testing.B)) {
			b.Run(pool+"/"+op, func(b *testing.B) {
				before := roundTrips()
				run(b)
				b.StopTimer()
				b.ReportMetric((roundTrips()-before-1)/float64(b.N), "roundtrips/op")
			})
		}
		measure("Disposable", func(b *testing.B) {
			a := workernode.Disposable(db, nil)
			for range b.N {
				if _, err := a.Assign(b.Context(), 1<<40); err != nil {
					b.Fatal(err)
				}
			}
		})
		a := workernode.Leased(db, nil)
		claim := func(b *testing.B) assigner.Claim {
			c, err := a.Assign(b.Context(), 1<<40)
			if err != nil {
				b.Fatal(err)
			}
			return c
		}
		measure("Leased, a new row", func(b *testing.B) {
			for range b.N {
				claim(b)
			}
		})
		measure("Leased, a free row, and Release", func(b *testing.B) {
			for range b.N {
				if err := claim(b).Release(b.Context(), time.Time{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		measure("Extend", func(b *testing.B) {
			c := claim(b)
			for range b.N {
				_, until := c.Window()
				if _, err := c.Extend(b.Context(), until.Add(time.Minute)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
