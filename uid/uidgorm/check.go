package uidgorm

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// Check parses models and returns what is wrong with their tags, which their first INSERT would say
// otherwise. It refuses a model whose key is left to chance as well: an integer key that has no
// tag, gorm.Model's above all, which GORM has the database count, and a key that SQLite may make
// NULL. It takes no ids and sends nothing.
func (p *Plugin) Check(db *gorm.DB, models ...any) error {
	var errs []error
	for _, model := range models {
		stmt := &gorm.Statement{DB: db}
		err := stmt.Parse(model)
		if err == nil {
			_, err = p.planOf(stmt)
		}
		if err == nil {
			err = checkKeys(db, stmt.Schema)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// checkKeys refuses primary keys that are left to chance. Those of other tables are not looked at.
func checkKeys(db *gorm.DB, s *schema.Schema) error {
	for _, f := range s.PrimaryFields {
		if len(owners(s, f)) > 0 {
			continue
		}
		_, tagged, _ := tagOf(s, f) // the plan has had its error
		switch {
		case !tagged && integer(f.IndirectFieldType) && !madeOfID(f.IndirectFieldType):
			return fmt.Errorf("uidgorm: %s.%s is a %v key that the database counts, want the "+
				"type uid.ID, the tag uid:\"\" to fill it, or uid:\"-\" to leave it, also on an "+
				"embedded gorm.Model", s.Name, f.Name, f.FieldType)
		case (tagged || madeOfID(f.IndirectFieldType)) && db.Name() == "sqlite" && !f.NotNull &&
			nullable(f) && !rowID(db, s, f):
			return fmt.Errorf("uidgorm: %s.%s is a key that SQLite may make NULL, want the tag "+
				"gorm:\"not null\"", s.Name, f.Name)
		}
	}
	return nil
}

// nullable reports whether GORM may leave a field out of an INSERT or store NULL.
func nullable(f *schema.Field) bool {
	zero := reflect.Zero(f.FieldType)
	if f.HasDefaultValue || zero.Kind() == reflect.Pointer {
		return true
	}
	stored, err := unwrap(zero)
	return err == nil && stored == nil
}

// rowID reports whether a key is SQLite's own, which is never NULL: the only one, and an INTEGER.
func rowID(db *gorm.DB, s *schema.Schema, f *schema.Field) bool {
	column, _, _ := strings.Cut(strings.ToLower(db.DataTypeOf(f)), " ")
	return len(s.PrimaryFields) == 1 && column == "integer"
}

// madeOfID reports whether a type is uid.ID or a typed.ID, or stores one: sql.Null[uid.ID], or a
// struct that embeds it. A type that is defined as uid.ID is an int64 to Go, and needs a tag.
func madeOfID(t reflect.Type) bool {
	return isID(t) || wraps(t, madeOfID)
}

// integer reports whether a type is an integer, or stores one.
func integer(t reflect.Type) bool {
	return reflect.Int <= t.Kind() && t.Kind() <= reflect.Uint64 || wraps(t, integer)
}

// wraps reports whether a type is a struct that stores its first field, and whether that one is
// what is asked for.
func wraps(t reflect.Type, is func(reflect.Type) bool) bool {
	return t.Kind() == reflect.Struct && t.NumField() > 0 &&
		t.Implements(reflect.TypeFor[driver.Valuer]()) && is(t.Field(0).Type)
}

// tagOf returns the uid tag of a field. The tag "-" of an embedded struct holds for its fields; any
// other there is an error.
func tagOf(s *schema.Schema, f *schema.Field) (tag string, tagged bool, err error) {
	t := s.ModelType
	for _, name := range f.BindNames[:len(f.BindNames)-1] {
		outer, _ := t.FieldByName(name)
		switch tag, tagged = outer.Tag.Lookup("uid"); {
		case tag == "-":
			return tag, true, nil
		case tagged:
			return "", true, fmt.Errorf("uidgorm: %s.%s has a uid tag and is an embedded struct, "+
				"want the tag on a field of it, or a key of type uid.ID in its place", s.Name, name)
		}
		if t = outer.Type; t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	tag, tagged = f.Tag.Lookup("uid")
	return tag, tagged, nil
}

// unseen refuses a tag where GORM does not look: on an unexported field, or in an unexported
// embedded struct.
func unseen(s *schema.Schema) error {
	for _, f := range reflect.VisibleFields(s.ModelType) {
		kind := "number"
		if _, tagged := f.Tag.Lookup(kind); !tagged {
			kind = "uid"
			if tag, tagged := f.Tag.Lookup(kind); !tagged || tag == "-" {
				continue
			}
		}
		for n := range f.Index {
			if outer := s.ModelType.FieldByIndex(f.Index[:n+1]); !outer.IsExported() {
				return fmt.Errorf("uidgorm: %s.%s has a %s tag, and %s is unexported: GORM does "+
					"not see it", s.Name, f.Name, kind, outer.Name)
			}
		}
	}
	return nil
}
