package e2e

import (
	"testing"

	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uidgorm"
)

// BenchmarkGorm stores 1,000 rows in one INSERT, with ids that the plug-in sets, and with ids that
// the rows have already. The rows stay in the table, as they do in an application.
func BenchmarkGorm(b *testing.B) {
	type benchRow struct {
		ID     uid.ID
		Person int64
		Name   string
	}
	for _, d := range dialects {
		gen, err := uid.NewCached(b.Context(), claimtest.Static(5), nil)
		if err != nil {
			b.Fatal(err)
		}
		defer gen.Close()
		with, without := openApplication(b, d), openApplication(b, d)
		if err := with.Use(uidgorm.New(gen, nil)); err != nil {
			b.Fatal(err)
		}
		must(b, with.Exec("CREATE TABLE bench_rows (id BIGINT PRIMARY KEY, person BIGINT, name VARCHAR(64))"))
		must(b, without.Exec("CREATE TABLE bench_rows (id BIGINT PRIMARY KEY, person BIGINT, name VARCHAR(64))"))
		rows, ids := make([]benchRow, 1000), make([]uid.ID, 1000)
		b.Run(d.name+"/with", func(b *testing.B) {
			for b.Loop() {
				for i := range rows {
					rows[i].ID = 0
				}
				must(b, with.Create(&rows))
			}
		})
		b.Run(d.name+"/without", func(b *testing.B) {
			for b.Loop() {
				if _, err := gen.Fill(b.Context(), ids); err != nil {
					b.Fatal(err)
				}
				for i := range rows {
					rows[i].ID = ids[i]
				}
				must(b, without.Create(&rows))
			}
		})
	}
}
