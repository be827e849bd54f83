package uidring

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// OpenEnv is Open as the environment configures it. A variable that is set, and not empty, replaces
// the field of o. UID_LAYOUT that is set and empty is an error: it stands for a value that has got
// lost, and ids of the default layout would collide with those of the one that is meant. An error
// is about the first bad one in this order:
//
//	UID_NAMESPACE  Lease.Namespace
//	UID_WINDOW     Lease.Window, such as 20m
//	UID_LAYOUT     Generator.Layout, as bitsalloc.ParseLayout reads it
//	UID_MIGRATE    false sets NoMigrate
//	UID_TIMEOUT    Timeout, such as 30s
//	UID_MAX_CONNS  MaxConns
//	UID_DSN        what Open takes; required
func OpenEnv(ctx context.Context, o *Options) (*Generator, error) {
	var fromEnv Options
	if o != nil {
		fromEnv = *o
	}
	for _, v := range []struct {
		name string
		set  func(text string) error
	}{
		{"UID_NAMESPACE", func(text string) error { fromEnv.Lease.Namespace = text; return nil }},
		{"UID_WINDOW", func(text string) (err error) {
			fromEnv.Lease.Window, err = time.ParseDuration(text)
			return err
		}},
		{"UID_LAYOUT", func(text string) (err error) {
			fromEnv.Generator.Layout, err = bitsalloc.ParseLayout(text)
			return err
		}},
		{"UID_MIGRATE", func(text string) error {
			migrate, err := strconv.ParseBool(text)
			fromEnv.NoMigrate = !migrate
			return err
		}},
		{"UID_TIMEOUT", func(text string) (err error) {
			fromEnv.Timeout, err = time.ParseDuration(text)
			return err
		}},
		{"UID_MAX_CONNS", func(text string) (err error) {
			fromEnv.MaxConns, err = strconv.Atoi(text)
			return err
		}},
	} {
		text, set := os.LookupEnv(v.name)
		if text != "" || set && v.name == "UID_LAYOUT" {
			if err := v.set(text); err != nil {
				return nil, fmt.Errorf("uidring: %s is %q: %w", v.name, text, err)
			}
		}
	}
	dsn := os.Getenv("UID_DSN")
	if dsn == "" {
		return nil, errors.New("uidring: UID_DSN is empty, want " +
			"user:password@tcp(host:port)/database or mysql://user:password@host:port/database")
	}
	return Open(ctx, dsn, &fromEnv)
}
