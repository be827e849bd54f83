package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"gorm.io/gorm"

	"github.com/uidring/uidring/cmd/uid/internal/dsn"
	"github.com/uidring/uidring/segment"
)

// tickets reads the rows of ticket servers. All tags of a server share its counter, so the next id
// of each is above the highest of all, but a row that is below 0 shows that. The step is the
// server's. A tag that several servers have is listed for each.
func (c *segmentListCmd) tickets(ctx context.Context, p *program) (rows []segment.Row, err error) {
	err = c.use(ctx, p, func(ctx context.Context, db *gorm.DB, _ dsn.Source) (err error) {
		others, _, err := ticketServers(p, c.Server)
		defer func() { err = errors.Join(err, closeServers(others)) }()
		if err != nil {
			return err
		}
		for i, server := range append([]*gorm.DB{db}, others...) {
			one, err := ticketRows(ctx, server)
			if err != nil {
				return withHint(fmt.Errorf("ticket server %d: %w", i, err))
			}
			rows = append(rows, one...)
		}
		return nil
	})
	return rows, err
}

// ticketRows reads the rows of one ticket server, without those of a plan.
func ticketRows(ctx context.Context, db *gorm.DB) ([]segment.Row, error) {
	var list []struct {
		Stub string
		ID   int64
	}
	db = db.WithContext(ctx)
	err := db.Raw("SELECT stub, id FROM ticket ORDER BY stub").Scan(&list).Error
	step := int64(1)
	if err == nil {
		switch db.Name() {
		case dsn.MySQL:
			err = db.Raw("SELECT @@global.auto_increment_increment").Scan(&step).Error
		case dsn.Postgres:
			err = db.Raw("SELECT COALESCE(MAX(seqincrement), 1) FROM pg_sequence WHERE " +
				"seqrelid = CAST(pg_get_serial_sequence('ticket', 'id') AS regclass)").
				Scan(&step).Error
		}
	}
	highest := int64(0)
	for _, one := range list {
		highest = max(highest, one.ID)
	}
	var rows []segment.Row
	for _, one := range list {
		next := min(highest, math.MaxInt64-1) + 1
		if one.ID < 0 {
			next = one.ID
		}
		if !strings.HasPrefix(strings.ToLower(one.Stub), "uid-ticket-plan") {
			rows = append(rows, segment.Row{Tag: one.Stub, Next: next, Step: step})
		}
	}
	return rows, err
}
