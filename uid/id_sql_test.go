package uid_test

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/uidring/uidring/uid"
)

var (
	_ driver.Valuer = uid.ID(0)
	_ sql.Scanner   = (*uid.ID)(nil)
)

func TestIDScan(t *testing.T) {
	t.Parallel()
	most := uid.ID(math.MaxInt64)
	for _, tc := range []struct {
		src  any
		want uid.ID
	}{
		{int64(0), 0},
		{int64(math.MaxInt64), math.MaxInt64},
		{uint64(math.MaxInt64), math.MaxInt64},
		{"9007199254740993", 9007199254740993},
		{[]byte("9007199254740993"), 9007199254740993},
		{[]byte("0"), 0},
		{new(uid.ID), 0},
		{&most, math.MaxInt64},
	} {
		id := ^tc.want
		if err := id.Scan(tc.src); err != nil || id != tc.want {
			t.Errorf("Scan(%T %v) = %d, %v, want %d", tc.src, tc.src, id, err, tc.want)
		}
	}
}

func TestIDScanRefuses(t *testing.T) {
	t.Parallel()
	negative := uid.ID(-1)
	for _, tc := range []struct {
		src  any
		want string
	}{
		{nil, "column is NULL; scan into sql.Null[uid.ID] or *uid.ID"},
		{(*uid.ID)(nil), "column is NULL"},
		{&negative, "-1 is negative"},
		{int64(-1), "-1 is negative"},
		{int64(math.MinInt64), "-9223372036854775808 is negative"},
		{uint64(1 << 63), "column is 9223372036854775808, want 0..9223372036854775807"},
		{"", "has 0 bytes"},
		{"-1", "at index 0"},
		{"1.5", "at index 1"},
		{[]byte(nil), "has 0 bytes"},
		{[]byte("x"), "at index 0"},
		{"9223372036854775808", "is above"},
		{float64(12), "column is a float64"},
		{true, "column is a bool"},
		{time.Time{}, "column is a time.Time"},
	} {
		id := uid.ID(77)
		err := id.Scan(tc.src)
		checkBadID(t, fmt.Sprintf("Scan(%T %v)", tc.src, tc.src), id-77, err, tc.want)
	}
}

// What the driver is handed is an int64, also through database/sql's own conversion, and comes back
// as the id.
func TestIDValue(t *testing.T) {
	t.Parallel()
	for _, g := range goldenIDs() {
		v, err := g.id.Value()
		if err != nil || v != driver.Value(int64(g.id)) {
			t.Errorf("Value of %d = %T %v, %v, want the int64", g.id, v, v, err)
		}
		v, err = driver.DefaultParameterConverter.ConvertValue(g.id)
		if err != nil || v != driver.Value(int64(g.id)) {
			t.Errorf("ConvertValue(%d) = %T %v, %v, want the int64", g.id, v, v, err)
		}
		var back uid.ID
		if err := back.Scan(v); err != nil || back != g.id {
			t.Errorf("Scan(Value of %d) = %d, %v", g.id, back, err)
		}
	}
}

// sql.Null is the way to a column that may be NULL.
func TestIDNull(t *testing.T) {
	t.Parallel()
	var n sql.Null[uid.ID]
	if err := n.Scan(nil); err != nil || n.Valid {
		t.Errorf("Scan(nil) = %+v, %v, want it not valid", n, err)
	}
	if err := n.Scan(int64(42)); err != nil || !n.Valid || n.V != 42 {
		t.Errorf("Scan(42) = %+v, %v, want a valid 42", n, err)
	}
	v, err := driver.DefaultParameterConverter.ConvertValue(n)
	if err != nil || v != driver.Value(int64(42)) {
		t.Errorf("ConvertValue(%+v) = %T %v, %v, want int64 42", n, v, v, err)
	}
	v, err = driver.DefaultParameterConverter.ConvertValue((*uid.ID)(nil))
	if err != nil || v != nil {
		t.Errorf("ConvertValue(nil pointer) = %v, %v, want NULL", v, err)
	}
}

// GORM finds the method by its name and signature.
func TestIDGormDataType(t *testing.T) {
	t.Parallel()
	typed, ok := any(uid.ID(0)).(interface{ GormDataType() string })
	if !ok || typed.GormDataType() != "bigint" {
		t.Errorf("GormDataType is missing or not bigint")
	}
}
