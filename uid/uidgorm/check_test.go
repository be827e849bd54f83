package uidgorm_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uidgorm"
	"github.com/uidring/uidring/uid/uidtest"
)

type (
	ownModel struct { // its key is an untagged uint
		gorm.Model
		Name string
	}
	leftModel struct {
		gorm.Model `uid:"-"`
		Name       string
	}
	taggedModel struct {
		gorm.Model `uid:""`
		Name       string
	}
	taggedPair struct {
		ID   uid.ID
		Pair pair `gorm:"embedded" uid:"gene=ID"`
	}
	pair  struct{ Key, Value int64 }
	plain struct {
		ID int64
	}
	leftPlain struct {
		ID int64 `uid:"-"`
	}
	nullKey struct {
		ID sql.NullInt64 `gorm:"primaryKey"`
	}
	numbered struct {
		ID uid.ID `gorm:"primaryKey"`
		No int    `gorm:"primaryKey"`
	}
	ownInt  int64 // as "type ownInt uid.ID" is, to Go
	defined struct {
		ID ownInt
	}
	readOnly struct {
		ID uid.ID `gorm:"->"`
	}
	updated struct {
		ID int64 `gorm:"primaryKey;<-:update" uid:""`
	}
	unexported struct {
		ID   uid.ID
		code uid.ID `uid:""`
	}
	hidden struct {
		Code uid.ID `uid:""`
	}
	hiding struct {
		ID uid.ID
		hidden
	}
	UserID  struct{ uid.ID } // made of uid.ID
	wrapped struct {
		ID UserID
	}
	nullable struct {
		ID sql.Null[uid.ID]
	}
)

// TestCheckKeys: Check refuses keys that are left to chance, and tags that cannot work. GORM stores
// what nothing but Check refuses.
func TestCheckKeys(t *testing.T) {
	t.Parallel()
	_ = unexported{}.code
	for want, c := range map[string]struct {
		model  any
		stored bool
	}{
		"ownModel.ID is a uint key that the database counts":               {&ownModel{}, true},
		"plain.ID is a int64 key that the database counts":                 {&plain{}, true},
		"nullKey.ID is a sql.NullInt64 key that the database counts":       {&nullKey{}, true},
		"numbered.No is a int key that the database counts":                {&numbered{}, true},
		"defined.ID is a uidgorm_test.ownInt key":                          {&defined{}, true},
		"taggedModel.Model has a uid tag and is an embedded struct":        {&taggedModel{}, false},
		"taggedPair.Pair has a uid tag and is an embedded struct":          {&taggedPair{}, false},
		"readOnly.ID is read-only":                                         {&readOnly{}, false},
		"updated.ID is read-only":                                          {&updated{}, false},
		"unexported.code has a uid tag, and code is unexported":            {&unexported{}, false},
		"hiding.Code has a uid tag, and hidden is unexported: GORM does n": {&hiding{}, false},
	} {
		db := open(t)
		p := uidgorm.New(&uidtest.Generator{Layout: geneLayout}, nil)
		if err := db.Use(p); err != nil {
			t.Fatal(err)
		}
		if err := p.Check(db, c.model); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check(%T) = %v, want %q", c.model, err, want)
		}
		if err := db.Create(c.model).Error; c.stored != (err == nil ||
			errors.Is(err, errors.ErrUnsupported)) {
			t.Errorf("Create(%T) = %v, want stored %v", c.model, err, c.stored)
		}
	}
	p := uidgorm.New(&uidtest.Generator{}, nil)
	if err := p.Check(open(t), &leftModel{}, &leftPlain{}, &wrapped{}, &nullable{}); err != nil {
		t.Errorf("Check of models that are left alone, or filled = %v", err)
	}
}

// TestMadeOfID: types made of uid.ID need no tag.
func TestMadeOfID(t *testing.T) {
	t.Parallel()
	db := open(t)
	if err := db.Use(uidgorm.New(&uidtest.Generator{}, nil)); err != nil {
		t.Fatal(err)
	}
	var w wrapped
	var n nullable
	if err := errors.Join(db.Create(&w).Error, db.Create(&n).Error); err != nil || w.ID.ID != 1 || n.ID.V != 2 {
		t.Errorf("%v, the ids are %d and %d, want 1 and 2", err, w.ID.ID, n.ID.V)
	}
	left := leftModel{}
	_ = db.Create(&left) // nowhere counts no keys
	if left.ID != 0 {
		t.Errorf("the key of a model that is left alone is %d", left.ID)
	}
}

// TestRows: what has no room for an id is an error, and a valid zero gets one.
func TestRows(t *testing.T) {
	t.Parallel()
	type row struct {
		ID   uid.ID
		Null sql.NullInt64  `uid:""`
		Text sql.NullString `uid:"base32"`
	}
	one := &row{}
	var none *row
	for want, c := range map[string]struct {
		rows any
		is   error
	}{
		"row 0 for rows is a **uidgorm_test.row, want":                   {[]**row{&one}, gorm.ErrInvalidData},
		"row 1 for rows is a nil pointer":                                {[]*row{one, none}, gorm.ErrInvalidData},
		"ID of rows cannot be set in a uidgorm_test.row that is passed":  {row{}, gorm.ErrInvalidValue},
		"ID of rows cannot be set in a uidgorm_test.row that is passed ": {[2]row{}, gorm.ErrInvalidValue},
		"Null of rows cannot be set":                                     {row{ID: 3}, gorm.ErrInvalidValue},
	} {
		db, gen := open(t), &uidtest.Generator{}
		if err := db.Use(uidgorm.New(gen, nil)); err != nil {
			t.Fatal(err)
		}
		err := db.Create(c.rows).Error
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), want) {
			t.Errorf("Create(%T) = %v, want %q", c.rows, err, want)
		}
		if gen.Stats().Issued != 0 {
			t.Errorf("Create(%T) took %d ids", c.rows, gen.Stats().Issued)
		}
	}
	db := open(t)
	if err := db.Use(uidgorm.New(&uidtest.Generator{}, nil)); err != nil {
		t.Fatal(err)
	}
	r := row{Null: sql.NullInt64{Valid: true}, Text: sql.NullString{Valid: true}}
	if err := db.Create(&r).Error; err != nil || r.Null.Int64 == 0 || r.Text.String == "" {
		t.Errorf("%+v, %v, want ids in place of a valid zero and a valid empty text", r, err)
	}
	m := map[string]any{"id": sql.NullInt64{Valid: true}}
	if err := db.Model(&row{}).Create(m).Error; err != nil || m["id"] == (sql.NullInt64{Valid: true}) {
		t.Errorf("%v, %v, want an id in place of a valid zero", m, err)
	}
	full := row{ID: 3, Null: sql.NullInt64{Int64: 4, Valid: true}, Text: sql.NullString{String: "x", Valid: true}}
	if err := db.Create(full).Error; err != nil {
		t.Errorf("a value that wants no id: %v", err)
	}
}

// fills counts calls of Fill.
type fills struct {
	uidtest.Generator
	calls int
}

func (f *fills) Fill(ctx context.Context, ids []uid.ID) (int, error) {
	f.calls++
	return f.Generator.Fill(ctx, ids)
}

// TestOneFill: 100,000 rows are one Fill.
func TestOneFill(t *testing.T) {
	t.Parallel()
	type row struct{ ID uid.ID }
	db, gen := open(t), &fills{}
	if err := db.Use(uidgorm.New(gen, nil)); err != nil {
		t.Fatal(err)
	}
	rows := make([]row, 100_000)
	if err := db.Create(&rows).Error; err != nil || gen.calls != 1 {
		t.Errorf("%d calls of Fill, %v, want 1", gen.calls, err)
	}
	seen := make(map[uid.ID]bool, len(rows))
	for _, r := range rows {
		if r.ID == 0 || seen[r.ID] {
			t.Fatalf("id %d is 0 or a duplicate", r.ID)
		}
		seen[r.ID] = true
	}
}
