package e2e

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uidgorm"
)

// onName is an upsert by the name of a user.
var onName = clause.OnConflict{
	Columns:   []clause.Column{{Name: "name"}},
	DoUpdates: clause.AssignmentColumns([]string{"code"}),
}

// wantNoOrphans checks that there are n orders, and that the table has the users of all of them.
func (r *gormRig) wantNoOrphans(t *testing.T, n int) {
	t.Helper()
	users := map[uid.ID]bool{}
	for _, id := range r.ids(t, "gorm_users", "id") {
		users[id] = true
	}
	of := r.ids(t, "gorm_orders", "user_id")
	for _, id := range of {
		if !users[id] {
			t.Errorf("an order is of user %d, and the table has %v", id, users)
		}
	}
	if len(of) != n {
		t.Errorf("the table has %d orders, want %d", len(of), n)
	}
}

// TestGormUpsertChildren: an upsert that meets an existing row stores its children with the key of
// that row, which RETURNING reads back.
func TestGormUpsertChildren(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		if d.name == dialects[0].name {
			dbtest.SkipOnMySQL(t, "RETURNING")
		}
		r := newGormRig(t, d)
		first := gormUser{Name: "one"}
		must(t, r.db.Create(&first))
		second := gormUser{Name: "one", Orders: []gormOrder{{}}}
		must(t, r.db.Clauses(onName).Create(&second))
		if second.ID != first.ID || second.Orders[0].UserID != first.ID {
			t.Errorf("user %d, order of %d, want those of %d", second.ID, second.Orders[0].UserID, first.ID)
		}
		both := []*gormUser{{Name: "two", Orders: []gormOrder{{}, {}}}, {Name: "one", Orders: []gormOrder{{}}}}
		must(t, r.db.Clauses(onName).Create(&both))
		if both[1].ID != first.ID || both[0].ID == first.ID || both[0].ID == 0 {
			t.Errorf("users %d and %d, want a new one and %d", both[0].ID, both[1].ID, first.ID)
		}
		all := []gormUser{{Name: "two", Orders: []gormOrder{{}}}}
		must(t, r.db.Clauses(clause.OnConflict{Columns: onName.Columns, UpdateAll: true}).Create(&all))
		if all[0].ID != both[0].ID {
			t.Errorf("user %d, want %d", all[0].ID, both[0].ID)
		}
		own := gormUser{Name: "one", Orders: []gormOrder{{}}}
		must(t, r.db.Clauses(onName, clause.Returning{Columns: []clause.Column{{Name: "name"}}}).Create(&own))
		if own.ID != first.ID {
			t.Errorf("with a RETURNING of another column: user %d, want %d", own.ID, first.ID)
		}
		preset := gormUser{ID: 999, Name: "one", Orders: []gormOrder{{}}}
		must(t, r.db.Clauses(onName).Create(&preset))
		if preset.ID != first.ID {
			t.Errorf("with an id of its own: user %d, want %d", preset.ID, first.ID)
		}
		r.wantNoOrphans(t, 7)

		if d.name == dialects[0].name {
			return // MariaDB knows no condition there
		}
		never := onName
		never.Where = clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "gorm_users.name = 'x'"}}}
		mixed := []gormUser{{Name: "one", Orders: []gormOrder{{}}}, {Name: "three", Orders: []gormOrder{{}}}}
		wantRefused(t, r.db.Clauses(never).Create(&mixed))
		r.wantNoOrphans(t, 7)
	})
}

// wantRefused checks that a statement was refused because a row exists.
func wantRefused(t *testing.T, tx *gorm.DB) {
	t.Helper()
	if err := tx.Error; err == nil || !strings.Contains(err.Error(), "1 of ") ||
		!strings.Contains(err.Error(), "rows for gorm_users exist already") {
		t.Errorf("%v, want an error about the row that exists", err)
	}
}

// TestGormDoNothingChildren: where no RETURNING tells the key of a row that exists, the INSERT of
// what refers to it is refused.
func TestGormDoNothingChildren(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		r := newGormRig(t, d)
		must(t, r.db.Create(&gormUser{Name: "one"}))
		nothing := r.db.Clauses(clause.OnConflict{DoNothing: true}).Session(&gorm.Session{})

		wantRefused(t, nothing.Create(&gormUser{Name: "one", Orders: []gormOrder{{}}}))
		wantRefused(t, nothing.Create(&[]gormUser{{Name: "two"}, {Name: "one", Orders: []gormOrder{{}}}}))
		wantRefused(t, nothing.Create(&gormUser{Name: "one", Roles: []gormRole{{Name: "a"}}}))
		again := gormOrder{User: &gormUser{Name: "one"}}
		wantRefused(t, r.db.Create(&again)) // GORM's own DoNothing
		wantRefused(t, r.db.Create(&again)) // with the id that the user has from before
		wantRefused(t, r.db.Create(&[]gormOrder{{User: &gormUser{Name: "two"}}, {User: &gormUser{Name: "one"}}}))
		r.wantNoOrphans(t, 0)

		must(t, nothing.Create(&gormUser{Name: "one"}))                                         // nothing refers to it
		must(t, nothing.Create(&gormUser{Name: "one", Orders: []gormOrder{}}))                  // nor here
		must(t, nothing.Create(&gormUser{Name: "three", Orders: []gormOrder{{}}}))              // is new
		must(t, r.db.Create(&gormOrder{User: &gormUser{Name: "four"}}))                         // is new
		must(t, nothing.Omit("Orders").Create(&gormUser{Name: "one", Orders: []gormOrder{{}}})) // not stored
		var one gormUser
		must(t, r.db.First(&one, "name = ?", "one"))
		must(t, r.db.Create(&gormOrder{User: &one})) // is there, by its key
		r.wantNoOrphans(t, 3)
	})
}

// TestGormUpsertWithoutReturning: MySQL has no RETURNING.
func TestGormUpsertWithoutReturning(t *testing.T) {
	t.Parallel()
	db, err := gorm.Open(mysql.New(mysql.Config{DSN: dialects[0].fresh(t), DisableWithReturning: true}),
		&gorm.Config{Logger: logger.Discard, DisableForeignKeyConstraintWhenMigrating: true})
	if err != nil {
		t.Fatal(err)
	}
	if pool, err := db.DB(); err == nil {
		defer pool.Close()
	}
	r := gormRig{db: db, gen: newCounter(), numbers: newCounter(7000)}
	if err := db.AutoMigrate(&gormUser{}, &gormOrder{}, &gormItem{}, &gormRole{}); err != nil {
		t.Fatal(err)
	}
	if err := db.Use(uidgorm.New(r.gen,
		&uidgorm.Options{Named: map[string]uid.Generator{"numbers": r.numbers}})); err != nil {
		t.Fatal(err)
	}
	must(t, db.Create(&gormUser{Name: "one"}))
	wantRefused(t, db.Clauses(onName).Create(&gormUser{Name: "one", Orders: []gormOrder{{}}}))
	must(t, db.Clauses(onName).Create(&gormUser{Name: "two", Orders: []gormOrder{{Items: []gormItem{{Text: "a"}}}}}))
	must(t, db.Clauses(onName).Create(&gormUser{Name: "one"}))
	r.wantNoOrphans(t, 1)
}

// TestGormKeyOfSQLite: SQLite makes a key NULL that is left out and is not its own INTEGER. Check
// refuses such a model.
func TestGormKeyOfSQLite(t *testing.T) {
	t.Parallel()
	type left struct {
		ID   int64 `gorm:"primaryKey;type:bigint" uid:"-"`
		Text string
	}
	db := openApplication(t, dialects[2])
	plugin := uidgorm.New(newCounter(), nil)
	if err := db.AutoMigrate(&left{}); err != nil {
		t.Fatal(err)
	}
	if err := db.Use(plugin); err != nil {
		t.Fatal(err)
	}
	must(t, db.Create(&left{Text: "a"}))
	var n int64
	must(t, db.Model(&left{}).Where("id IS NULL").Count(&n))
	if n != 1 {
		t.Errorf("%d rows have the key NULL: this test rests on that of 1", n)
	}
	type counted struct {
		ID int64 `uid:"-"`
	}
	type pointed struct {
		ID *uid.ID
	}
	type bound struct {
		ID *uid.ID `gorm:"not null"`
	}
	type nullable struct {
		ID sql.Null[uid.ID]
	}
	type dated struct { // neither is ever NULL
		ID   uid.ID    `gorm:"primaryKey"`
		Time time.Time `gorm:"primaryKey"`
	}
	for want, model := range map[string]any{
		"left.ID is a key that SQLite may make NULL":    &left{},
		"pointed.ID is a key that SQLite may make NULL": &pointed{},
		"nullable.ID is a key that SQLite may make NU":  &nullable{},
	} {
		if err := plugin.Check(db, model); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check(%T) = %v, want %q", model, err, want)
		}
	}
	if err := plugin.Check(db, &counted{}, &bound{}, &dated{}); err != nil {
		t.Errorf("Check of an INTEGER and of a key with NOT NULL = %v", err)
	}
}
