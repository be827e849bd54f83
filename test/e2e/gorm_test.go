package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uidgorm"
)

// TestGormShapes stores every shape of rows that GORM takes.
func TestGormShapes(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		r := newGormRig(t, d)
		type key struct{}
		ctx := context.WithValue(t.Context(), key{}, "the statement's")

		user := gormUser{Name: "struct"}
		must(t, r.db.WithContext(ctx).Create(&user))
		if user.ID == 0 || user.Code == "" || r.ids(t, "gorm_users", "id")[0] != user.ID {
			t.Errorf("struct: %+v, want an id that is stored, and a code", user)
		}
		if got := *r.gen.ctx.Load(); got.Value(key{}) != "the statement's" {
			t.Error("the generator did not get the statement's ctx")
		}
		r.wantCalls(t, 1, 0) // one for ID and Code together
		if code, err := uid.Base32.Parse(user.Code); err != nil || code == user.ID {
			t.Errorf("Code is %s, want an id of its own", user.Code)
		}

		slice := []gormUser{{Name: "a"}, {Name: "b", ID: 99}, {Name: "c"}}
		must(t, r.db.Create(&slice))
		pointers := []*gormUser{{Name: "d"}, {Name: "e"}}
		must(t, r.db.Create(pointers))
		array := [2]gormUser{{Name: "f"}, {Name: "g"}}
		must(t, r.db.Create(&array))
		r.wantCalls(t, 3, 0)
		if slice[1].ID != 99 {
			t.Errorf("an id that was set is %d, want 99", slice[1].ID)
		}

		m := map[string]any{"name": "map"}
		must(t, r.db.Model(&gormUser{}).Create(m))
		must(t, r.db.Model(&gormUser{}).Create(&map[string]any{"Name": "pointer", "ID": uid.ID(0)}))
		maps := []map[string]any{{"name": "h"}, {"name": "i", "id": 1000}, {"name": "j", "id": nil}}
		must(t, r.db.Model(&gormUser{}).Create(maps))
		must(t, r.db.Model(&gormUser{}).Create(&[]map[string]any{{"name": "k"}}))
		r.wantCalls(t, 4, 0)
		if m["id"] == nil || maps[1]["id"] != 1000 || maps[2]["id"] == nil {
			t.Errorf("maps: %v, %v, want ids in all of them, and 1000 left as it was", m, maps)
		}

		batches := make([]gormUser, 25)
		for i := range batches {
			batches[i].Name = fmt.Sprint("batch ", i)
		}
		must(t, r.db.CreateInBatches(batches, 10))
		r.wantCalls(t, 3, 0)

		saved := gormUser{Name: "saved"}
		must(t, r.db.Save(&saved))
		must(t, r.db.Save(&[]gormUser{{Name: "saved 1"}, {Name: "saved 2"}}))
		must(t, r.db.Where(&gormUser{Name: "found"}).FirstOrCreate(&gormUser{}))
		if err := gorm.G[gormUser](r.db).Create(t.Context(), &gormUser{Name: "generic"}); err != nil {
			t.Error(err)
		}
		selected := gormUser{Name: "selected"}
		must(t, r.db.Select("Name").Create(&selected))
		if selected.Code != "" {
			t.Errorf("Code is %s, want none, because it was not selected", selected.Code)
		}
		wantUnique(t, r.ids(t, "gorm_users", "id"), 1+3+2+2+1+1+3+1+25+1+2+1+1+1)
		for _, u := range slice {
			if i := slices.Index(r.ids(t, "gorm_users", "id"), u.ID); i < 0 {
				t.Errorf("%s has id %d, which is not in the table", u.Name, u.ID)
			}
		}
	})
}

// TestGormFields stores embedded structs, pointers, hooks and fields that are left alone.
func TestGormFields(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		r := newGormRig(t, d)
		parent := uid.ID(0)
		notes := []gormNote{{Text: "a", Other: gormPair{Key: 2}, Parent: &parent}, {Text: "b", Other: gormPair{Key: 7}}}
		must(t, r.db.Create(&notes))
		for i, n := range notes {
			if n.ID == 0 || n.Link == nil || *n.Link == 0 || n.Ignored != 0 || n.Plain != 0 ||
				n.Other.Twin&3 != uint64(2+i) {
				t.Errorf("note %+v, want ID, Link and Twin set, and Ignored and Plain left alone", n)
			}
		}
		if *notes[0].Parent != 0 || notes[1].Parent != nil {
			t.Error("a pointer without tag was filled")
		}
		var back gormNote
		must(t, r.db.First(&back, "id = ?", notes[0].ID))
		if *back.Link != *notes[0].Link || back.Other != notes[0].Other {
			t.Errorf("stored %+v, want %+v", back, notes[0])
		}

		zero := uid.ID(0)
		tickets := []*gormTicket{{Text: "a"}, {Text: "b", ID: &zero}}
		must(t, r.db.Create(&tickets))
		for _, k := range tickets {
			if k.Seen != *k.ID || k.Routed&3 != 3 {
				t.Errorf("ticket %+v, want what the hook saw and set", k)
			}
		}
		again := uid.ID(0)
		shared := []gormTicket{{ID: &again}, {ID: &again}}
		must(t, r.db.Create(&shared))
		if *shared[0].ID == *shared[1].ID || *shared[0].ID != again {
			t.Errorf("rows with one pointer to zero have the ids %d and %d", *shared[0].ID, *shared[1].ID)
		}
		skipped := gormTicket{Text: "no hooks", Shard: 2}
		must(t, r.db.Session(&gorm.Session{SkipHooks: true}).Create(&skipped))
		if skipped.ID == nil || *skipped.ID == 0 || skipped.Routed&3 != 2 || skipped.Seen != 0 {
			t.Errorf("without hooks: %+v, want an id, the gene of Shard 2, and Seen left alone", skipped)
		}
		item := gormItem{Text: "of no order"}
		must(t, r.db.Create(&item))
		if item.OrderID != 0 || item.Line == 0 {
			t.Errorf("item %+v, want a line, and the foreign key left alone", item)
		}
		omitted := gormNote{Text: "omitted", Other: gormPair{Key: 1}}
		must(t, r.db.Omit("Link").Create(&omitted))
		if omitted.Link != nil || omitted.ID == 0 {
			t.Errorf("with Link omitted: %+v, want an id and no Link", omitted)
		}
	})
}

// TestGormGenes: the ids of orders have the gene of their user, for many users in one call.
func TestGormGenes(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		r := newGormRig(t, d)
		orders := make([]gormOrder, 100)
		for i := range orders {
			orders[i].UserID = uid.ID(1001 + i%8)
		}
		must(t, r.db.Omit(clause.Associations).Create(&orders))
		r.wantCalls(t, 0, 4) // one for each gene
		if n := r.numbers.fills.Load(); n != 1 {
			t.Errorf("%d calls of Fill for the numbers, want 1", n)
		}
		for _, o := range orders {
			if o.ID&3 != o.UserID&3 || o.Number < 7000 {
				t.Fatalf("order %d of user %d, number %d, want the user's gene and a number from 7000 on",
					o.ID, o.UserID, o.Number)
			}
		}
		wantUnique(t, r.ids(t, "gorm_orders", "id"), len(orders))
		wantUnique(t, r.ids(t, "gorm_orders", "number"), len(orders))
		m := map[string]any{"user_id": 6}
		must(t, r.db.Model(&gormOrder{}).Create(m))
		if id, ok := m["id"].(uid.ID); !ok || id&3 != 2 {
			t.Errorf("map: %v, want an id with gene 2", m)
		}

		// The user is created in the same call, and its id must be known before the order's gene is.
		both := []gormOrder{{User: &gormUser{Name: "new 1"}}, {User: &gormUser{Name: "new 2"}}}
		must(t, r.db.Create(&both))
		for _, o := range both {
			if o.UserID == 0 || o.UserID != o.User.ID || o.ID&3 != o.UserID&3 || o.ID == 0 {
				t.Errorf("order %d of user %d, %d, want one user and its gene", o.ID, o.UserID, o.User.ID)
			}
		}
	})
}

// TestGormAssociations stores a tree in one call.
func TestGormAssociations(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		r := newGormRig(t, d)
		user := gormUser{Name: "tree",
			Roles:  []gormRole{{Name: "admin"}, {Name: "clerk"}},
			Orders: []gormOrder{{Items: []gormItem{{Text: "a"}, {Text: "b"}}}, {Items: []gormItem{{Text: "c"}}}},
		}
		must(t, r.db.Create(&user))
		for _, o := range user.Orders {
			if o.UserID != user.ID || o.ID&3 != user.ID&3 || o.ID == 0 {
				t.Errorf("order %d of user %d, want %d", o.ID, o.UserID, user.ID)
			}
			for _, item := range o.Items {
				if item.OrderID != o.ID || item.Line == 0 {
					t.Errorf("item %d of order %d, want %d", item.Line, item.OrderID, o.ID)
				}
			}
		}
		if user.Roles[0].ID != 500 || user.Roles[1].ID != 504 {
			t.Errorf("roles %+v, want the ids of their table's generator", user.Roles)
		}
		wantUnique(t, r.ids(t, "gorm_items", "line"), 3)
		var joins []struct{ GormUserID, GormRoleID uid.ID }
		must(t, r.db.Table("gorm_user_roles").Order("gorm_role_id").Find(&joins))
		if len(joins) != 2 || joins[0].GormUserID != user.ID || joins[1].GormRoleID != 504 {
			t.Errorf("the join table has %+v, want two rows with the ids of user and roles", joins)
		}
		if err := r.db.Model(&user).Association("Roles").Append(&gormRole{Name: "late"}); err != nil {
			t.Error(err)
		}
		wantUnique(t, r.ids(t, "gorm_roles", "id"), 3)
	})
}

// TestGormJoinTable: the plug-in sets no key of a join table that the program declares, because the
// keys are those of other tables.
func TestGormJoinTable(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		db := openApplication(t, d)
		gen := newCounter()
		if err := errors.Join(db.SetupJoinTable(&gormUser{}, "Roles", &gormMember{}),
			db.AutoMigrate(&gormUser{}, &gormRole{}, &gormMember{}),
			db.Use(uidgorm.New(gen, &uidgorm.Options{Named: map[string]uid.Generator{"numbers": gen}}))); err != nil {
			t.Fatal(err)
		}
		user := gormUser{Name: "joined", Roles: []gormRole{{Name: "admin"}}}
		must(t, db.Create(&user))
		var member gormMember
		must(t, db.First(&member))
		if member.GormUserID != user.ID || member.GormRoleID != user.Roles[0].ID {
			t.Errorf("the join table has %+v, want %d and %d", member, user.ID, user.Roles[0].ID)
		}
		forgotten := gormMember{Since: 1}
		must(t, db.Create(&forgotten))
		if forgotten.GormUserID != 0 || forgotten.GormRoleID != 0 {
			t.Errorf("member %+v, want its foreign keys left alone", forgotten)
		}
	})
}

// TestGormWithoutTransaction: the plug-in works as well when GORM begins no transactions of its own.
func TestGormWithoutTransaction(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		db := openApplication(t, d)
		db, err := gorm.Open(db.Dialector, &gorm.Config{SkipDefaultTransaction: true, Logger: logger.Discard})
		if err != nil {
			t.Fatal(err)
		}
		gen := newCounter()
		if err := errors.Join(db.AutoMigrate(&gormTicket{}), db.Use(uidgorm.New(gen, nil))); err != nil {
			t.Fatal(err)
		}
		ticket := gormTicket{}
		must(t, db.Create(&ticket))
		if ticket.ID == nil || ticket.Seen != *ticket.ID || ticket.Routed&3 != 3 {
			t.Errorf("ticket %+v, want the id that the hook saw, and the gene that it set", ticket)
		}
		r := gormRig{db: db}
		wantUnique(t, r.ids(t, "gorm_tickets", "id"), 1)
	})
}

// TestGormConflict: a row that exists keeps its id, and RETURNING reads it back.
func TestGormConflict(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		r := newGormRig(t, d)
		first := gormUser{Name: "one"}
		must(t, r.db.Create(&first))
		second := gormUser{Name: "one"}
		must(t, r.db.Clauses(onName).Create(&second))
		if ids := r.ids(t, "gorm_users", "id"); !slices.Equal(ids, []uid.ID{first.ID}) {
			t.Errorf("the table has %v, want %d alone", ids, first.ID)
		}
		if d.name == dialects[0].name {
			dbtest.SkipOnMySQL(t, "RETURNING")
		}
		if second.ID != first.ID {
			t.Errorf("the struct has id %d, want %d, which is stored", second.ID, first.ID)
		}
		third := gormUser{Name: "one"}
		must(t, r.db.Clauses(onName, clause.Returning{Columns: []clause.Column{{Name: "id"}}}).Create(&third))
		if third.ID != first.ID {
			t.Errorf("RETURNING reads %d, want %d", third.ID, first.ID)
		}
	})
}

// TestGormRefuses: without ids no statement is sent, and a DryRun takes no ids.
func TestGormRefuses(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		r := newGormRig(t, d)
		var begun atomic.Int64
		if err := r.db.Callback().Create().Before("gorm:begin_transaction").Register("test:begin", func(tx *gorm.DB) {
			if tx.Error == nil {
				begun.Add(1)
			}
		}); err != nil {
			t.Fatal(err)
		}
		dry := r.db.Session(&gorm.Session{DryRun: true}).Create(&gormUser{Name: "dry"})
		must(t, dry)
		if !strings.Contains(dry.Statement.SQL.String(), "INSERT") {
			t.Errorf("DryRun composes %q, want an INSERT", dry.Statement.SQL.String())
		}
		r.wantCalls(t, 0, 0)
		begun.Store(0)

		failed := r.db.Session(&gorm.Session{})
		_ = failed.AddError(errors.New("failed before"))
		if err := failed.Create(&gormUser{Name: "failed"}).Error; err == nil {
			t.Error("a statement that had failed went on")
		}
		r.wantCalls(t, 0, 0)

		r.gen.Fail(0, uid.ErrClaimExpired)
		users := []gormUser{{Name: "a"}, {Name: "b"}}
		err := r.db.Create(&users).Error
		if !errors.Is(err, uid.ErrClaimExpired) || !strings.Contains(err.Error(), "gorm_users") {
			t.Errorf("Create() = %v, want ErrClaimExpired and the table", err)
		}
		r.gen.Fail(1, uid.ErrClaimExpired)
		if err := r.db.Create(&users).Error; !errors.Is(err, uid.ErrClaimExpired) || users[0].ID != 0 {
			t.Errorf("Create() with one id left = %v, rows %+v, want ErrClaimExpired and no ids", err, users)
		}
		r.gen.Fail(0, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.db.WithContext(ctx).Create(&users).Error; !errors.Is(err, context.Canceled) {
			t.Errorf("Create() with a ctx that has ended = %v, want context.Canceled", err)
		}
		begun.Store(0) // a generator hands out what is ready; the transaction fails
		err = r.db.Create(&gormOrder{}).Error
		if err == nil || !strings.Contains(err.Error(), "UserID of gorm_orders is not set") {
			t.Errorf("Create() of an order without a user = %v, want an error that says so", err)
		}
		err = r.db.Model(&gormOrder{}).Create(map[string]any{"user_id": "x"}).Error
		if err == nil || !strings.Contains(err.Error(), "want an integer") {
			t.Errorf("Create() of an order whose user is a text = %v, want an error that says so", err)
		}
		if n := begun.Load(); n > 0 {
			t.Errorf("%d statements went on after an error, want none", n)
		}
		for _, table := range []string{"gorm_users", "gorm_orders"} {
			wantUnique(t, r.ids(t, table, "id"), 0)
		}
	})
}

// TestGormExactlyOnce stores the rows of many goroutines with ids of a real generator, and finds each
// id once.
func TestGormExactlyOnce(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		gen, err := uid.NewCached(t.Context(), claimtest.Static(3), &uid.Options{Layout: geneLayout})
		if err != nil {
			t.Fatal(err)
		}
		defer gen.Close()
		db := d.connect(t, d.fresh(t))
		if err := errors.Join(db.AutoMigrate(&gormRole{}), db.Use(uidgorm.New(gen, nil))); err != nil {
			t.Fatal(err)
		}
		const goroutines, batches, size = 4, 5, 40
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				for range batches {
					if err := db.Create(make([]gormRole, size)).Error; err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		r := gormRig{db: db}
		wantUnique(t, r.ids(t, "gorm_roles", "id"), goroutines*batches*size)
	})
}
