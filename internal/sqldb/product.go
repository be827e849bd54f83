package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
)

// Product is a server product, as the server identifies itself. Many of them speak MySQL's dialect.
type Product string

// The products that are distinguished. Any other counts as the one whose dialect it speaks.
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

// marks are the texts in VERSION() or @@version_comment that identify the products of MySQL's
// dialect. The first match counts: Dolt is built on Vitess, and comes before it.
var marks = []struct {
	text string
	Product
}{
	{"mariadb", MariaDB}, {"tidb", TiDB}, {"oceanbase", OceanBase},
	{"polardb", PolarDB}, {"-tddl-", PolarDB}, {"-pxc-", PolarDB},
	{"matrixone", MatrixOne}, {"dolt", Dolt}, {"vitess", Vitess}, {"percona", Percona},
}

// ProductOf returns the product of MySQL's dialect with the given VERSION() and @@version_comment.
func ProductOf(version, comment string) Product {
	text := strings.ToLower(version + "\n" + comment)
	for _, m := range marks {
		if strings.Contains(text, m.text) {
			return m.Product
		}
	}
	return MySQL
}

// LosesUpdates reports whether the product is known to confirm two concurrent changes of one row
// and lose one of them. An id that depends on a compare-and-set is not unique on it.
//
// Dolt has no row locks and merges transactions when they commit: see issue 7148 of Dolt and issue
// 2600 of Doltgres.
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
		// PostgreSQL's version ends with the platform. That of Doltgres does not, and only Doltgres
		// has this function.
		if !strings.Contains(version, " on ") &&
			c.Row(ctx, "SELECT DOLT_VERSION()", nil, &version) == nil {
			return Doltgres, nil
		}
		return Postgres, nil
	}
	return SQLite, nil
}

// FreshCounters is a statement for MySQL's dialect, after which information_schema has the current
// AUTO_INCREMENT of each table for the rest of the session. MySQL 8 and later answer with one that
// is up to a day old. The comment is a statement's part on these alone.
const FreshCounters = "SET @uidring = 0 /*!80000 , SESSION information_schema_stats_expiry = 0 */"

// ErrUnfit is the reason for which a server is refused.
var ErrUnfit = errors.New("ids would repeat")

// Strict returns d with a Do that fails on a server which is known to lose updates. Do asks the
// server until it has learned the product once.
func (d *DB) Strict() *DB {
	strict := *d
	strict.unknown = &atomic.Bool{}
	strict.unknown.Store(true)
	return &strict
}

// admit returns an error if d is strict and the server is known to lose updates.
func (d *DB) admit(ctx context.Context, c *Conn) error {
	if d.unknown == nil || !d.unknown.Load() {
		return nil
	}
	p, err := c.Product(ctx)
	if err != nil {
		return err
	}
	if p.LosesUpdates() {
		return Final(fmt.Errorf("%s: %s is %s, which is known to lose one of two concurrent "+
			"changes: %w; use another database, or set AcceptLostUpdates",
			d.name, d.place, p, ErrUnfit))
	}
	d.unknown.Store(false)
	return nil
}
