package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	sqldriver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// layout has two gene bits for four tables, and 32,768 ids a second from each of 65,536 workers
// until 2060.
var layout = bitsalloc.Layout{TimeBits: 30, WorkerBits: 16, SeqBits: 15, GeneBits: 2}

// tables is the number of tables. It is a power of two, and never changes: the ids' gene bits hold
// the number of a table.
const tables = 4

// batch is how many orders one INSERT stores.
const batch = 1000

// Order is stored in the table of its user. The last bits of its own id name that table as well.
type Order struct {
	ID      uid.ID    `json:"id" uid:"gene=UserID"`
	UserID  uid.ID    `json:"user" gorm:"index"`
	Item    string    `json:"item"`
	Cents   int64     `json:"cents"`
	Created time.Time `json:"created" gorm:"autoCreateTime"`
}

// table returns the table of a user, or of an order.
func table(id uid.ID) string { return fmt.Sprintf("orders_%d", id%tables) }

// store keeps orders.
type store struct{ db *gorm.DB }

// openStore opens the service's own pool. The generator has another one: its few connections close
// after two seconds without work, and its statements run outside transactions.
func openStore(dsn string) (store, error) {
	config, err := sqldriver.ParseDSN(dsn)
	if err != nil { // which may quote the password
		return store{}, errors.New("the DSN does not parse, want " +
			"user:password@tcp(host:port)/database")
	}
	config.ParseTime = true // Order.Created is a time.Time
	config.Timeout = 5 * time.Second
	config.ReadTimeout, config.WriteTimeout = 10*time.Second, 10*time.Second
	db, err := gorm.Open(mysql.New(mysql.Config{DSNConfig: config}),
		&gorm.Config{Logger: logger.Discard}) // errors are returned, not printed as well
	if err != nil {
		return store{}, err
	}
	pool, err := db.DB()
	if err != nil {
		return store{}, err
	}
	pool.SetMaxOpenConns(20)
	pool.SetMaxIdleConns(20)
	pool.SetConnMaxLifetime(5 * time.Minute)
	return store{db}, nil
}

// close closes the pool.
func (s store) close() error {
	pool, err := s.db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}

// migrate creates the tables that are missing.
func (s store) migrate() error {
	for i := range tables {
		if err := s.db.Table(table(uid.ID(i))).AutoMigrate(&Order{}); err != nil {
			return fmt.Errorf("creating table %d: %w", i, err)
		}
	}
	return nil
}

// place stores new orders of one user, all or none. The plug-in sets the ids of a batch in one
// call.
func (s store) place(ctx context.Context, user uid.ID, orders []Order) error {
	for i := range orders {
		orders[i].ID, orders[i].UserID = 0, user
	}
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		return tx.Table(table(user)).CreateInBatches(orders, batch).Error
	})
}

// order finds an order by its id alone.
func (s store) order(ctx context.Context, id uid.ID) (o Order, err error) {
	err = s.db.WithContext(ctx).Table(table(id)).Take(&o, "id = ?", id).Error
	return o, err
}

// ofUser returns a user's orders, the oldest first.
func (s store) ofUser(ctx context.Context, user uid.ID) (orders []Order, err error) {
	err = s.db.WithContext(ctx).Table(table(user)).Order("id").Find(&orders, "user_id = ?",
		user).Error
	return orders, err
}
