package e2e

import (
	"context"
	"errors"
	"regexp"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/number"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/typed"
	"github.com/uidring/uidring/uid/uidgorm"
	"github.com/uidring/uidring/uid/uidtest"
)

// shopOrder is an order whose staff reads BJ-20261123-000001-7 and whose customer ord_....
type shopOrder struct {
	ID     typed.ID[orderPrefix]
	Shop   string `gorm:"size:2"`
	Number string `gorm:"size:24;uniqueIndex" number:"order,key=Shop"`
}

type orderPrefix struct{}

// Prefix is that of orders.
func (orderPrefix) Prefix() string { return "ord" }

// orderService is what a program writes to have both, besides the model.
func orderService(ctx context.Context, db *gorm.DB, gen uid.Generator, zone *time.Location) (func() error, error) {
	counters, err := segment.New(ctx, sqlsource.LeafAlloc(db, nil), nil)
	if err != nil {
		return nil, err
	}
	orders, err := number.New(ctx, counters, "order", "{shop upper 2}-{20060102}-{n 6 day}-{check mod37,36}",
		&number.Options{Zone: zone})
	if err != nil {
		return nil, errors.Join(err, counters.Close())
	}
	return counters.Close, db.Use(uidgorm.New(gen,
		&uidgorm.Options{Numbers: map[string]*number.Number{"order": orders}}))
}

// TestGormNumbers: orders of several goroutines and shops get their numbers in the same INSERT, also
// where the pool has one connection, and the database finds each of them once.
func TestGormNumbers(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		dsn := d.fresh(t)
		db := d.connect(t, dsn)
		pool, err := db.DB()
		if err != nil {
			t.Fatal(err)
		}
		pool.SetMaxOpenConns(1)
		if err := errors.Join(sqlsource.Migrate(t.Context(), db), db.AutoMigrate(&shopOrder{})); err != nil {
			t.Fatal(err)
		}
		end, err := orderService(t.Context(), db, &uidtest.Generator{}, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := end(); err != nil {
				t.Error(err)
			}
		}()
		const workers, batches, size = 4, 5, 10
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for range batches {
					rows := make([]shopOrder, size)
					for i := range rows {
						rows[i].Shop = []string{"BJ", "SH"}[i%2]
					}
					if err := db.WithContext(t.Context()).Create(&rows).Error; err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		var stored []shopOrder
		must(t, db.Find(&stored))
		form := regexp.MustCompile(`^(BJ|SH)-20\d{6}-000\d{3}-[0-9A-Z]$`)
		for _, o := range stored {
			if !form.MatchString(o.Number) || o.Number[:2] != o.Shop || o.ID.String()[:4] != "ord_" {
				t.Errorf("stored %v %s of %s", o.ID, o.Number, o.Shop)
			}
		}
		if len(stored) != workers*batches*size {
			t.Errorf("%d orders are stored, want %d", len(stored), workers*batches*size)
		}
	})
}
