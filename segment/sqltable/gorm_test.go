package sqltable_test

import (
	"context"

	"gorm.io/gorm"

	"github.com/uidring/uidring/internal/ticketplan"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/segment/sqltable"
)

// The tests of this package go through GORM and package sqlsource, which so are tested with it.

func reading(db *gorm.DB) segment.Source { return sqltable.Reading(sqlsource.LeafAlloc(db, nil)) }

func unbounded(dbs []*gorm.DB) segment.Source {
	return sqltable.Unbounded(sqlsource.Ticket(dbs, nil))
}

func planTables(
	ctx context.Context, dbs []*gorm.DB, o *sqltable.TicketOptions,
) ([]ticketplan.Plan, error) {
	return sqltable.PlanTables(ctx, sqlsource.Ticket(dbs, o))
}

func expandTicketsWith(
	ctx context.Context, dbs []*gorm.DB, o *sqltable.TicketOptions, after func(int, string) error,
) ([]ticketplan.Plan, error) {
	return sqltable.ExpandTicketsWith(ctx, sqlsource.Ticket(dbs, o), after)
}

// planner returns the Planner of ticket servers.
func planner(dbs []*gorm.DB, o *sqltable.TicketOptions) ticketplan.Planner {
	p, _ := sqlsource.Ticket(dbs, o).(ticketplan.Planner)
	return p
}

func planned(ctx context.Context, dbs []*gorm.DB, o *sqltable.TicketOptions) ([]ticketplan.Plan, error) {
	return planner(dbs, o).Plan(ctx)
}

func expanded(ctx context.Context, dbs []*gorm.DB, o *sqltable.TicketOptions) ([]ticketplan.Plan, error) {
	return planner(dbs, o).Expand(ctx)
}

func abandoned(ctx context.Context, dbs []*gorm.DB, o *sqltable.TicketOptions) (int, error) {
	return planner(dbs, o).Abandon(ctx)
}
