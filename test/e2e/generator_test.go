package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/workertable"
	"github.com/uidring/uidring/uid"
	"gorm.io/gorm"
)

// TestEndToEnd migrates, assigns, generates, parses and closes, three times. Each time a disposable
// worker id is a new one and a leased one is the same again, and no id is repeated.
func TestEndToEnd(t *testing.T) {
	generators := map[string]func(context.Context, assigner.Assigner) (uid.Generator, error){
		"cached": func(ctx context.Context, a assigner.Assigner) (uid.Generator, error) {
			return uid.NewCached(ctx, a, nil)
		},
		"default": func(ctx context.Context, a assigner.Assigner) (uid.Generator, error) {
			return uid.NewDefault(ctx, a, nil)
		},
	}
	onEach(t, func(t *testing.T, d dialect) {
		for kind, assign := range kinds {
			for name, generator := range generators {
				t.Run(kind+"/"+name, func(t *testing.T) {
					t.Parallel()
					dsn := d.fresh(t)
					l := newLedger(t, job{})
					for run := range int64(3) {
						db := d.connect(t, dsn)
						if err := workernode.Migrate(t.Context(), db); err != nil {
							t.Fatal(err)
						}
						g, err := generator(t.Context(), assign(db))
						if err != nil {
							t.Fatal(err)
						}
						ids := make([]uid.ID, 5000)
						if n, err := g.Fill(t.Context(), ids); n != len(ids) || err != nil {
							t.Fatalf("Fill = %d, %v, want %d", n, err, len(ids))
						}
						l.Add(int(run), ids)
						want := run + 1
						if kind == "leased" {
							want = 1
						}
						parts := g.Parse(ids[0])
						if parts.Worker != want || parts.ID != ids[0] {
							t.Errorf("run %d: worker = %d, want %d", run, parts.Worker, want)
						}
						if lag := time.Since(parts.Time); lag > time.Minute || lag < -time.Minute {
							t.Errorf("run %d: the id's time is %v, which is %v ago", run, parts.Time, lag)
						}
						if !slices.IsSorted(ids) {
							t.Errorf("run %d: ids do not increase", run)
						}
						if err := g.Close(); err != nil {
							t.Errorf("run %d: Close: %v", run, err)
						}
						if kind == "leased" {
							store := d.in(dsn, workertable.DefaultNamespace).open(t, lease.Options{})
							// Close gives back what is left of 20 minutes, except for the tick in use.
							waitFor(t, "free worker id after Close", func() bool {
								slots, err := store.Slots(t.Context())
								return err == nil && len(slots) == 1 && slots[0].Left <= 0
							})
						}
					}
					l.check(t)
				})
			}
		}
	})
}

// record is a row of an application's table.
type record struct {
	ID     uid.ID  `gorm:"primaryKey;autoIncrement:false"`
	Parent *uid.ID // may be NULL
	Name   string
}

// TestColumns: ids are stored in GORM columns and read back, NULL and the largest one too, and JSON
// holds them exactly.
func TestColumns(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		db := d.connect(t, d.fresh(t))
		if err := db.AutoMigrate(&record{}); err != nil {
			t.Fatal(err)
		}
		largest := uid.ID(1<<63 - 1)
		want := []record{
			{ID: 1, Name: "a"},
			{ID: largest, Parent: new(uid.ID), Name: "b"},
			{ID: 42, Parent: &largest, Name: "c"},
		}
		if err := db.Create(&want).Error; err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			var got record
			if err := db.First(&got, "id = ?", w.ID).Error; err != nil {
				t.Fatal(err)
			}
			a, errA := json.Marshal(got)
			b, errB := json.Marshal(w)
			if errA != nil || errB != nil || string(a) != string(b) {
				t.Errorf("record = %s, want %s", a, b)
			}
		}
		var got []record
		if err := db.Where("id IN ?", []uid.ID{1, 42}).Order("id").Find(&got).Error; err != nil || len(got) != 2 {
			t.Errorf("records 1 and 42 = %v, %v, want two", got, err)
		}
	})
}

// TestOrdersExample does what a service does: it stores rows whose keys come from the generator.
func TestOrdersExample(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		db := d.connect(t, d.migrated(t))
		g, err := uid.NewCached(t.Context(), workernode.Leased(db, nil), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		if err := db.AutoMigrate(&record{}); err != nil {
			t.Fatal(err)
		}
		err = db.Transaction(func(tx *gorm.DB) error {
			for i := range 100 {
				id, err := g.Next(t.Context())
				if err != nil {
					return err
				}
				if err := tx.Create(&record{ID: id, Name: fmt.Sprint(i)}).Error; err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		if err := db.Model(&record{}).Order("id").Pluck("name", &names).Error; err != nil {
			t.Fatal(err)
		}
		for i, name := range names {
			if name != fmt.Sprint(i) {
				t.Fatalf("record %d by id is number %s, want the order in which they were made", i, name)
			}
		}
	})
}
