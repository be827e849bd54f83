package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
)

// Product is the server that speaks a dialect, by what it says of itself. Many servers speak
// MySQL's and are not MySQL.
type Product string

// The products that are told apart. Any other counts as the one whose dialect it speaks.
const (
	MySQL     Product = "MySQL"
	MariaDB   Product = "MariaDB"
	Percona   Product = "Percona Server"
	TiDB      Product = "TiDB"
	OceanBase Product = "OceanBase"
	PolarDB   Product = "PolarDB"
	MatrixOne Product = "MatrixOne"
	Dolt      Product = "Dolt"
	Vitess    Product = "Vitess"
	Postgres  Product = "PostgreSQL"
	Doltgres  Product = "Doltgres"
	SQLite    Product = "SQLite"
)

// marks are the texts that tell the products of MySQL's dialect, in VERSION() or @@version_comment.
// The first that is found counts: Dolt is built on Vitess.
var marks = []struct {
	text string
	Product
}{
	{"mariadb", MariaDB}, {"tidb", TiDB}, {"oceanbase", OceanBase},
	{"polardb", PolarDB}, {"-tddl-", PolarDB}, {"-pxc-", PolarDB},
	{"matrixone", MatrixOne}, {"dolt", Dolt}, {"vitess", Vitess}, {"percona", Percona},
}

// ProductOf returns the product of MySQL's dialect that has the VERSION() and the
// @@version_comment.
func ProductOf(version, comment string) Product {
	text := strings.ToLower(version + "\n" + comment)
	for _, m := range marks {
		if strings.Contains(text, m.text) {
			return m.Product
		}
	}
	return MySQL
}

// LosesUpdates reports whether, of two changes of one row at the same time, the product is known to
// answer both and forget one. Nothing that rests on a compare-and-set is unique on it.
//
// Dolt merges transactions when they commit and has no row locks: its issue 7148, and 2600 of
// Doltgres.
func (p Product) LosesUpdates() bool { return p == Dolt || p == Doltgres }

// Product asks the server which product it is.
func (c *Conn) Product(ctx context.Context) (Product, error) {
	var version, comment string
	switch c.Name {
	case "mysql":
		err := c.Row(ctx, "SELECT VERSION(), @@version_comment", nil, &version, &comment)
		return ProductOf(version, comment), err
	case "postgres":
		err := c.Row(ctx, "SELECT VERSION()", nil, &version)
		if err != nil {
			return "", err
		}
		// PostgreSQL adds what it was built on. Doltgres adds nothing and has this function.
		if !strings.Contains(version, " on ") &&
			c.Row(ctx, "SELECT DOLT_VERSION()", nil, &version) == nil {
			return Doltgres, nil
		}
		return Postgres, nil
	}
	return SQLite, nil
}

// ErrUnfit says why a server is refused.
var ErrUnfit = errors.New("ids would come twice")

// Strict returns d with a Do that fails on a server which is known to lose updates. It asks once.
func (d *DB) Strict() *DB {
	strict := *d
	strict.unknown = &atomic.Bool{}
	strict.unknown.Store(true)
	return &strict
}

// admit is an error if d is strict and the server is known to lose updates.
func (d *DB) admit(ctx context.Context, c *Conn) error {
	if d.unknown == nil || !d.unknown.Load() {
		return nil
	}
	p, err := c.Product(ctx)
	if err != nil {
		return err
	}
	if p.LosesUpdates() {
		return Final(fmt.Errorf("%s: %s is %s, which is known to lose one of two changes at the "+
			"same time: %w; use another database, or set AcceptLostUpdates",
			d.name, d.place, p, ErrUnfit))
	}
	d.unknown.Store(false)
	return nil
}
