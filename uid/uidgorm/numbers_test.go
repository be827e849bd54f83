package uidgorm_test

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/number"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uidgorm"
	"github.com/uidring/uidring/uid/uidtest"
)

// The models with numbers, and some whose tags make no sense.
type (
	receipt struct {
		ID     uid.ID
		Shop   string
		Till   int32
		Number string         `number:"receipt,key=Shop,key=Till"`
		Second sql.NullString `number:"plain"`
	}
	shopping struct {
		ID     uid.ID
		Shop   string
		Number *string `number:"order, key=Shop"`
	}
	strangeName struct {
		ID     uid.ID
		Number string `number:"orders,key=ID"`
	}
	strangeKey struct {
		ID     uid.ID
		Number string `number:"order,key=Shop"`
	}
	strangePart struct {
		ID     uid.ID
		Number string `number:"order,ID"`
	}
	fewKeys struct {
		ID     uid.ID
		Number string `number:"order"`
	}
	notText struct {
		ID     uid.ID
		Number int64 `number:"plain"`
	}
	unseenNumber struct {
		ID     uid.ID
		number string `number:"plain"`
	}
	badKey struct {
		ID     uid.ID
		Shop   bool
		Number string `number:"order,key=Shop"`
	}
)

// BeforeCreate sets the shop of an order that has none.
func (h *shopping) BeforeCreate(*gorm.DB) error {
	if h.Shop == "" {
		h.Shop = "SH"
	}
	return nil
}

// numbering opens a database whose plug-in has numbers, and returns how often they were asked for: a
// Fill looks at the clock once.
func numbering(t *testing.T) (*gorm.DB, *uidgorm.Plugin, *int) {
	t.Helper()
	g, err := segment.New(t.Context(), &segmenttest.Counters{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	calls, all := 0, map[string]*number.Number{}
	for name, format := range map[string]string{
		"receipt": "{shop upper 2}{till digits 1-3}-{2006}-{n 6 year}", "plain": "P{n 6 never}",
		"order": "{shop upper 2}-{20060102}-{n 6 day}",
	} {
		all[name], err = number.New(t.Context(), g, name, format, &number.Options{Clock: func() time.Time {
			calls++
			return time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	db, p := open(t), uidgorm.New(&uidtest.Generator{}, &uidgorm.Options{Numbers: all})
	if err := db.Use(p); err != nil {
		t.Fatal(err)
	}
	return db, p, &calls
}

// TestNumbers: a batch gets its numbers by one Fill for each key. What is set stays, keys may come from a
// hook, and a key that is not set then is an error.
func TestNumbers(t *testing.T) {
	t.Parallel()
	db, _, calls := numbering(t)
	batch := []receipt{
		{Shop: "BJ", Till: 1}, {Shop: "BJ", Till: 12}, {Shop: "BJ", Till: 1}, {Shop: "BJ", Till: 1, Number: "own"},
	}
	if err := db.Create(&batch).Error; err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range batch {
		got = append(got, r.Number, r.Second.String)
	}
	want := []string{"BJ1-2026-000001", "P000001", "BJ12-2026-000001", "P000002", "BJ1-2026-000002", "P000003", "own",
		"P000004"}
	if !slices.Equal(got, want) || *calls != 3 {
		t.Errorf("the batch has %q after %d calls, want %q after 3", got, *calls, want)
	}
	*calls = 0
	orders := []*shopping{{}, {Shop: "BJ"}, {}}
	if err := db.Create(orders).Error; err != nil {
		t.Fatal(err)
	}
	got = nil
	for _, o := range orders {
		got = append(got, *o.Number)
	}
	want = []string{"SH-20261123-000001", "BJ-20261123-000001", "SH-20261123-000002"}
	if !slices.Equal(got, want) || *calls != 2 {
		t.Errorf("orders have %q after %d calls, want %q after 2", got, *calls, want)
	}
	m := map[string]any{"shop": "BJ"}
	if err := db.Model(&shopping{}).Create(m).Error; err != nil || m["number"] != "BJ-20261123-000002" {
		t.Errorf("a map gets %v, %v", m, err)
	}
	omitted := receipt{Shop: "BJ", Till: 1}
	if err := db.Omit("Number").Create(&omitted).Error; err != nil || omitted.Number != "" {
		t.Errorf("a column that Omit names is %q, %v", omitted.Number, err)
	}
	for want, row := range map[string]any{
		"Shop of receipts is not set, and Number wants it as a key": &receipt{Till: 1},
		"Till of receipts is not set":                               &receipt{Shop: "BJ"},
		"does not fit":                                              &receipt{Shop: "bj", Till: 1},
	} {
		err := db.Create(row).Error
		if err == nil || !strings.Contains(err.Error(), want) && !errors.Is(err, number.ErrKey) {
			t.Errorf("%+v: %v, want %q", row, err, want)
		}
	}
	if err := db.Session(&gorm.Session{DryRun: true}).Create(&receipt{}).Error; err != nil {
		t.Errorf("a dry run: %v", err)
	}
}

// TestNumberTags: a tag that makes no sense is an error that names the field, at Check and at an INSERT.
func TestNumberTags(t *testing.T) {
	t.Parallel()
	db, p, _ := numbering(t)
	for want, model := range map[string]any{
		`strangeName.Number: the tag "orders,key=ID" names a number "orders", which Options.Numbers does not`: &strangeName{},
		`strangeKey.Number: the tag "order,key=Shop" names a field "Shop", which strangeKey does not have`:    &strangeKey{},
		`strangePart.Number: the tag "order,ID" has "ID", want key=FIELD`:                                     &strangePart{},
		`fewKeys.Number: the tag "order" has 0 keys, want 1: shop`:                                            &fewKeys{},
		`unseenNumber.number has a number tag, and number is unexported: GORM does`:                           &unseenNumber{number: "x"},
		`notText.Number: a int64 cannot hold a number`:                                                        &notText{},
	} {
		for _, err := range []error{p.Check(db, model), db.Create(model).Error} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%T: %v, want %q", model, err, want)
			}
		}
	}
	if err := db.Create(&badKey{Shop: true}).Error; err == nil || !strings.Contains(err.Error(), "want an integer") {
		t.Errorf("a key that is a bool: %v", err)
	}
	if err := p.Check(db, &receipt{}, &shopping{}); err != nil {
		t.Errorf("Check of tags that make sense: %v", err)
	}
}
