package segments

import (
	"errors"
	"time"

	"github.com/glebarez/sqlite"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/segment/sqltable"
)

// places are the addresses of the databases.
type places struct {
	Tickets  []string // DSNs of the ticket servers; the first has other sources' tables as well
	Postgres string   // a DSN
	SQLite   string   // a path
}

// open opens a database without connecting to it, because its server may be down.
func open(d gorm.Dialector) (*gorm.DB, error) {
	return gorm.Open(d, &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true})
}

// mariaDB opens a MariaDB database.
func mariaDB(dsn string) (*gorm.DB, error) {
	return open(mysql.New(mysql.Config{DSN: dsn + "&timeout=2s&readTimeout=2s",
		SkipInitializeWithVersion: true}))
}

// databases are the databases of places, opened.
type databases struct {
	tickets          []*gorm.DB
	postgres, sqlite *gorm.DB
}

// open opens the databases.
func (p places) open() (d databases, err error) {
	var errs []error
	for _, dsn := range p.Tickets {
		db, err := mariaDB(dsn)
		d.tickets, errs = append(d.tickets, db), append(errs, err)
	}
	d.postgres, err = open(postgres.Open(p.Postgres))
	errs = append(errs, err)
	d.sqlite, err = open(sqlite.Open(p.SQLite +
		"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_txlock=immediate"))
	return d, errors.Join(append(errs, err)...)
}

// kind is a source and how it is used.
type kind struct {
	name   string
	of     func(databases) segment.Source
	batch  int           // ids in a frame
	every  time.Duration // pause between two frames
	origin bool          // several servers, of which each has ids that increase
}

// The tags.
const (
	tag     = "soak"    // of all sources but one
	current = "current" // of the sequence that counts from its current value
)

// tagOf returns the tag of a kind.
func (k kind) tagOf() string {
	if k.name == fromCurrent {
		return current
	}
	return tag
}

// The names of kinds that the program refers to.
const (
	fromCurrent = "Sequence from current, MariaDB"
	tickets     = "Ticket, MariaDB, 2 and then 3 servers"
)

// The pauses between two frames of a kind.
const (
	fast = 20 * time.Millisecond
	slow = 200 * time.Millisecond
)

// kinds are all kinds. Frames and ledgers refer to them by index.
var kinds = []kind{
	{"LeafAlloc, MariaDB", func(d databases) segment.Source {
		return sqlsource.LeafAlloc(d.tickets[0], nil)
	}, 100, fast, false},
	{"Sequence, MariaDB", func(d databases) segment.Source {
		return sqlsource.Sequence(d.tickets[0], nil)
	}, 100, fast, false},
	{fromCurrent, func(d databases) segment.Source {
		return sqlsource.Sequence(d.tickets[0], &sqltable.SequenceOptions{FromCurrent: true})
	}, 100, fast, false},
	{tickets, func(d databases) segment.Source {
		return sqlsource.Ticket(d.tickets, nil)
	}, 40, slow, true},
	{"LeafAlloc, PostgreSQL", func(d databases) segment.Source {
		return sqlsource.LeafAlloc(d.postgres, nil)
	}, 100, fast, false},
	{"Sequence, PostgreSQL", func(d databases) segment.Source {
		return sqlsource.Sequence(d.postgres, nil)
	}, 100, fast, false},
	{"Ticket, PostgreSQL", func(d databases) segment.Source {
		return sqlsource.Ticket([]*gorm.DB{d.postgres}, nil)
	}, 4, slow, false},
	{"LeafAlloc, SQLite", func(d databases) segment.Source {
		return sqlsource.LeafAlloc(d.sqlite, nil)
	}, 100, fast, false},
	{"Sequence, SQLite", func(d databases) segment.Source {
		return sqlsource.Sequence(d.sqlite, nil)
	}, 100, fast, false},
	{"Ticket, SQLite", func(d databases) segment.Source {
		return sqlsource.Ticket([]*gorm.DB{d.sqlite}, nil)
	}, 2, slow, false},
}
