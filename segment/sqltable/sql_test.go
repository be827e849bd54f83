package sqltable_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqltable"
)

// TestSQL: a pool and its dialect are all that tables and sources need.
func TestSQL(t *testing.T) {
	t.Parallel()
	s := servers.MariaDB(t)
	pool, err := sql.Open("mysql", s.DSN(s.CreateDB(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	ctx, db := t.Context(), sqltable.DB{Pool: pool, Dialect: "mysql"}
	if err := sqltable.Migrate(ctx, db); err != nil {
		t.Fatal(err)
	}
	for name, src := range map[string]segment.Source{
		"LeafAlloc": sqltable.LeafAlloc(db, nil), "Sequence": sqltable.Sequence(db, nil),
		"Ticket": sqltable.Ticket([]sqltable.DB{db}, nil),
	} {
		if set, ok := src.(segment.Setter); ok {
			if err := set.Set(ctx, segment.Row{Tag: "a", Step: 10}); err != nil {
				t.Errorf("%s: Set = %v", name, err)
			}
		}
		first, err := src.Fetch(ctx, "a", 10)
		second, err2 := src.Fetch(ctx, "a", 10)
		if err != nil || err2 != nil || first.To > second.From || first.To-first.From != 10 {
			t.Errorf("%s: two Fetches = %v, %v, %v, %v, want 10 ids and later ones",
				name, first, err, second, err2)
		}
	}
}

// TestNoDatabase: a DB that names none is an error of whatever uses it.
func TestNoDatabase(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, tt := range []struct {
		db   sqltable.DB
		want string
	}{
		{sqltable.DB{}, `dialect is "", want mysql, postgres or sqlite`},
		{sqltable.DB{Dialect: "oracle"}, `dialect is "oracle", want mysql, postgres or sqlite`},
		{sqltable.DB{Dialect: "mysql"}, "the *sql.DB is nil"},
		{sqltable.DB{Err: boom}, "boom"},
	} {
		_, leaf := sqltable.LeafAlloc(tt.db, nil).Fetch(t.Context(), "a", 1)
		_, sequence := sqltable.Sequence(tt.db, nil).Fetch(t.Context(), "a", 1)
		_, ticket := sqltable.Ticket([]sqltable.DB{tt.db}, nil).Fetch(t.Context(), "a", 1)
		for name, err := range map[string]error{
			"LeafAlloc": leaf, "Sequence": sequence, "Ticket": ticket,
			"Migrate": sqltable.Migrate(t.Context(), tt.db),
		} {
			if !errors.Is(err, segment.ErrOptions) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s on %+v = %v, want %v with %q", name, tt.db, err, segment.ErrOptions, tt.want)
			}
		}
	}
}
