package uidgorm

import (
	"database/sql/driver"
	"fmt"
	"reflect"
)

// numeral reads an integer, a pointer to one, or what stores one. set is false for nil and NULL.
func numeral(value any) (n int64, set bool, err error) {
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer {
		v = v.Elem() // of nil: the zero Value
	}
	switch {
	case !v.IsValid():
		return 0, false, nil
	case v.CanInt():
		return v.Int(), true, nil
	case v.CanUint():
		return int64(v.Uint()), true, nil // the low bits are the gene, whatever the sign
	}
	stored, err := unwrap(v)
	if err != nil {
		return 0, false, err
	}
	if stored == nil {
		return 0, false, nil
	}
	if n, ok := stored.(int64); ok {
		return n, true, nil
	}
	return 0, false, fmt.Errorf("it is a %v, want an integer", v.Type())
}

// numeric reports whether numeral can read fields of a type. What a driver.Valuer stores is known
// when it has a value.
func numeric(t reflect.Type) bool {
	zero := reflect.New(t).Elem()
	if _, ok := reflect.TypeAssert[driver.Valuer](zero); ok {
		return true
	}
	_, _, err := numeral(zero.Interface())
	return err == nil
}

// text reads a string, a pointer to one, or what stores one.
func text(value any) string {
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch {
	case !v.IsValid():
		return ""
	case v.Kind() == reflect.String:
		return v.String()
	}
	stored, _ := unwrap(v)
	s, _ := stored.(string)
	return s
}

// unwrap returns what a driver.Valuer stores; anything else as it is.
func unwrap(v reflect.Value) (any, error) {
	valuer, ok := reflect.TypeAssert[driver.Valuer](v)
	if !ok {
		return v.Interface(), nil
	}
	stored, err := valuer.Value()
	if err != nil {
		return nil, fmt.Errorf("its value cannot be read: %w", err)
	}
	return stored, nil
}
