package segment

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"
)

// TicketPlan says how one server of a larger set has to count.
type TicketPlan struct {
	Step   int64 // auto_increment_increment
	Offset int64 // auto_increment_offset, 1..Step
	Start  int64 // the first id that it may hand out from the change on

	// Statements make the change, in this order. The first one shuts the server: nobody uses an id that was counted by
	// neither the old step nor the new one. Then the counter is moved, and only then the server opens again, to those who
	// count the new way. They need the privilege to set global variables and concern every table of the server. A server
	// forgets the settings at its restart unless its configuration file has them too.
	Statements []string
}

// PlanTickets works out how to go on with the servers dbs, of which some may be new with an empty table. It reads every
// server and changes nothing. Each server counts by Options.Step, or by as many as there are servers, and starts above
// the highest id of any server plus gap, from where on the new offsets keep them apart.
//
// gap has to be more than any server hands out until the last of them has run its Statements: until then those that still
// count the old way must stay below Start. The servers stay in service: a Ticket with the old step stops using a server at
// the moment it is changed, one with the new step begins to. A new server has to run its Statements before any Ticket
// is told of it. docs/segment.md has the order of steps.
func PlanTickets(ctx context.Context, dbs []*gorm.DB, gap int64, opts *TicketOptions) ([]TicketPlan, error) {
	o, err := opts.withDefaults(len(dbs))
	if err != nil {
		return nil, err
	}
	if gap < 1 || gap > maxInt64/2 {
		return nil, fmt.Errorf("%w: gap is %d, want 1..%d", ErrOptions, gap, maxInt64/2)
	}
	high, err := highestTicket(ctx, dbs, o)
	if err != nil {
		return nil, err
	}
	if high > maxInt64/2-gap {
		return nil, fmt.Errorf("%w: the highest id is %d and the gap is %d, want at most %d together", ErrExhausted, high, gap, maxInt64/2)
	}
	base := ((high+gap)/o.Step + 1) * o.Step
	shut := int64(maxStride) // a step that nobody uses
	if o.Step == shut {
		shut--
	}
	plans := make([]TicketPlan, len(dbs))
	for i, db := range dbs {
		offset := int64(i) + 1
		plans[i] = TicketPlan{Step: o.Step, Offset: offset, Start: base + offset, Statements: []string{
			fmt.Sprintf("SET GLOBAL auto_increment_increment = %d", shut),
			fmt.Sprintf("ALTER TABLE %s AUTO_INCREMENT = %d", db.Statement.Quote(o.Table), base+offset),
			fmt.Sprintf("SET GLOBAL auto_increment_offset = %d", offset),
			fmt.Sprintf("SET GLOBAL auto_increment_increment = %d", o.Step),
		}}
	}
	return plans, nil
}

// highestTicket returns the highest id in any server's table. Every server has to answer: one left out could have the
// highest. A tag's row keeps the tag's last id; what a row that was deleted had lies below the counter, as long as the server
// has not been started since.
func highestTicket(ctx context.Context, dbs []*gorm.DB, o TicketOptions) (int64, error) {
	high := int64(0)
	for i, db := range dbs {
		if err := checkOpen(fmt.Sprint("PlanTickets: server ", i), db); err != nil {
			return 0, err
		}
		s := newStore(db)
		if s.dialect != dialectMySQL {
			return 0, fmt.Errorf("segment: plan ticket server %d: the database is %q: %w", i, db.Name(), errors.ErrUnsupported)
		}
		schema, name := schemaTable(o.Table)
		var id, next int64
		err := s.row(ctx, "SELECT COALESCE(MAX(id), 0), (SELECT COALESCE(MAX(auto_increment), 1) FROM information_schema.tables"+
			" WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ?) FROM "+s.ident(o.Table), []any{schema, name}, &id, &next)
		if err != nil {
			return 0, fmt.Errorf("segment: plan ticket server %d: %w", i, err)
		}
		high = max(high, id, next-1)
	}
	return high, nil
}
