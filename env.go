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
// the field of o:
//
//	UID_DSN        what Open takes; required
//	UID_NAMESPACE  Lease.Namespace
//	UID_WINDOW     Lease.Window, such as 20m
//	UID_LAYOUT     Generator.Layout, as bitsalloc.ParseLayout reads it
//	UID_MIGRATE    false sets NoMigrate
func OpenEnv(ctx context.Context, o *Options) (*Generator, error) {
	var fromEnv Options
	if o != nil {
		fromEnv = *o
	}
	for name, set := range map[string]func(string) error{
		"UID_NAMESPACE": func(text string) error { fromEnv.Lease.Namespace = text; return nil },
		"UID_WINDOW": func(text string) (err error) {
			fromEnv.Lease.Window, err = time.ParseDuration(text)
			return err
		},
		"UID_LAYOUT": func(text string) (err error) {
			fromEnv.Generator.Layout, err = bitsalloc.ParseLayout(text)
			return err
		},
		"UID_MIGRATE": func(text string) error {
			migrate, err := strconv.ParseBool(text)
			fromEnv.NoMigrate = !migrate
			return err
		},
	} {
		if text := os.Getenv(name); text != "" {
			if err := set(text); err != nil {
				return nil, fmt.Errorf("uidring: %s is %q: %w", name, text, err)
			}
		}
	}
	dsn := os.Getenv("UID_DSN")
	if dsn == "" {
		return nil, errors.New("uidring: UID_DSN is empty, want " +
			"user:password@tcp(host:port)/database")
	}
	return Open(ctx, dsn, &fromEnv)
}
