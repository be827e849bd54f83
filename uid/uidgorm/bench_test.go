package uidgorm_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/utils/tests"

	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uidgorm"
)

// nowhere is a database that stores nothing and answers at once.
type nowhere struct{}

func (nowhere) PrepareContext(context.Context, string) (*sql.Stmt, error) {
	return nil, errors.ErrUnsupported
}

func (nowhere) QueryContext(context.Context, string, ...any) (*sql.Rows, error) {
	return nil, errors.ErrUnsupported
}

func (nowhere) QueryRowContext(context.Context, string, ...any) *sql.Row { return nil }

func (nowhere) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	return driver.RowsAffected(1), nil
}

// BenchmarkCreate is what GORM itself does for 1,000 rows, without ids to fill, with plain ones and
// with genes of 100 users.
func BenchmarkCreate(b *testing.B) {
	type row struct {
		ID   uid.ID
		User int64
		Text string
	}
	type routed struct {
		ID   uid.ID `uid:"gene=User"`
		User int64
		Text string
	}
	gen, err := uid.NewCached(b.Context(), claimtest.Static(1), &uid.Options{Layout: geneLayout})
	if err != nil {
		b.Fatal(err)
	}
	defer gen.Close()
	db, err := gorm.Open(tests.DummyDialector{},
		&gorm.Config{Logger: logger.Discard, ConnPool: nowhere{}, SkipDefaultTransaction: true})
	if err != nil {
		b.Fatal(err)
	}
	if err := db.Use(uidgorm.New(gen, nil)); err != nil {
		b.Fatal(err)
	}
	create := func(b *testing.B, rows any, clear func()) {
		b.ReportAllocs()
		for b.Loop() {
			clear()
			if err := db.Create(rows).Error; err != nil {
				b.Fatal(err)
			}
		}
	}
	plain, genes := make([]row, 1000), make([]routed, 1000)
	for i := range plain {
		plain[i] = row{ID: 1, Text: "text"}
		genes[i] = routed{User: int64(i % 100), Text: "text"}
	}
	b.Run("filled before", func(b *testing.B) { create(b, &plain, func() {}) })
	b.Run("plain", func(b *testing.B) {
		create(b, &plain, func() {
			for i := range plain {
				plain[i].ID = 0
			}
		})
	})
	b.Run("genes", func(b *testing.B) {
		create(b, &genes, func() {
			for i := range genes {
				genes[i].ID = 0
			}
		})
	})
}
