package doctor

import (
	"context"
	"fmt"
	"math"

	"gorm.io/gorm"

	"github.com/uidring/uidring/cmd/uid/internal/dsn"
	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/internal/segbound"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/segment/sqltable"
)

// tickets checks how the table ticket counts, and how far it is. It returns nothing without the
// table, or without the right to read it.
func (p *Patient) tickets(ctx context.Context) ([]Finding, error) {
	if p.failed(p.probe(ctx, "id, stub", "ticket"), sqldb.Missing, sqldb.Denied) {
		return nil, nil
	}
	step, offset, settled, err := p.ticketStep(ctx)
	if err != nil {
		return nil, err
	}
	if step < 1 || offset < 1 || offset > step || step > segbound.Stride {
		return []Finding{fail(fmt.Sprintf("the server counts by %d from %d, want an offset of "+
			"1..%d", step, offset, max(step, 1)),
			"auto_increment_increment is the number of ticket servers or more, and each has an "+
				"auto_increment_offset of its own from 1 on")}, nil
	}
	// On MySQL an examination writes down how an unused server counts, and the doctor writes
	// nothing.
	if settled {
		src, _ := sqlsource.Ticket([]*gorm.DB{p.DB},
			&sqltable.TicketOptions{Step: step}).(segment.Checker)
		if err := src.Check(ctx); err != nil {
			return []Finding{fail(p.Text(err), "programs leave this server out; see "+
				"docs/segment.md, Ticket servers")}, nil
		}
	}
	var highest int64
	err = p.query(ctx, []any{&highest}, "SELECT COALESCE(MAX(id), 0) FROM ticket")
	if err != nil {
		return nil, err
	}
	left := (math.MaxInt64 - highest) / step
	f := ok("counts by %d from %d; the highest id is %s", step, offset, human.Count(highest))
	f.Advice = "let the service use another table before the counter ends"
	switch {
	case left < 1:
		f.Verdict = Fail
		f.Text = fmt.Sprintf("the highest id is %d: no id is left before the last int64", highest)
	case left < nearEnd:
		f.Verdict = Warn
		f.Text = fmt.Sprintf("the highest id is %d: %s ids are left before the last int64",
			highest, human.Count(left))
	}
	return []Finding{f}, nil
}

// ticketStep returns how the ticket server counts, and whether its table says so too.
func (p *Patient) ticketStep(ctx context.Context) (step, offset int64, settled bool, err error) {
	switch p.DB.Name() {
	case dsn.Postgres:
		err = p.query(ctx, []any{&step, &offset}, "SELECT COALESCE(MAX(seqincrement), 1), "+
			"COALESCE(MAX((seqstart - 1) % seqincrement + 1), 1) FROM pg_sequence "+
			"WHERE seqincrement > 0 AND "+
			"seqrelid = CAST(pg_get_serial_sequence('ticket', 'id') AS regclass)")
		return step, offset, true, err
	case dsn.SQLite:
		return 1, 1, true, nil
	}
	var rows int64
	err = p.query(ctx, []any{&step, &offset, &rows}, "SELECT @@global.auto_increment_increment, "+
		"@@global.auto_increment_offset, "+
		"(SELECT COUNT(*) FROM ticket WHERE stub LIKE 'uid-ticket-plan %')")
	return step, offset, rows > 0, err
}
