// Package ticketplan is how the command changes a set of ticket servers while they are in use.
package ticketplan

import "context"

// Plan says how one server of a changed set is to count.
type Plan struct {
	Step   int64 // auto_increment_increment
	Offset int64 // auto_increment_offset, 1..Step
	Start  int64 // ids from Start on are counted by the plan, and ids below as before

	// Announce and Change are the statements that are left to run. Each list must run on one
	// connection. Announce writes the plan into the server's table, where every program reads it.
	// Change moves the counter to Start and sets the server's variables. A list that is done is
	// empty.
	Announce, Change []string
}

// Planner is what the Source of sqltable.Ticket is too. It changes the servers of the Source.
type Planner interface {
	// Plan returns the plans, one per server, that make the servers one set. New servers have an
	// empty table. Plan reads every server and changes nothing; Expand carries the plans out.
	//
	// Each server is to count by TicketOptions.Step, or by the number of servers if that is 0. Its
	// offset is its place in the list, counted from 1. So old servers must keep their places, and
	// new ones follow. The set begins at Start, above every id of any server. If the tables have a
	// plan for the same set that is not carried out on all servers, Plan returns what is left of
	// it.
	//
	// Two that are one server, under two names or with two databases, are an error that wraps
	// segment.ErrOptions: a server counts in one way only.
	Plan(ctx context.Context) ([]Plan, error)

	// Expand carries out the plans of Plan and returns them. The servers stay in service. After an
	// error it may be called again, with the same servers in the same order: it continues where it
	// stopped. Abandon takes the plans back instead.
	//
	// A server may restart at any moment, with the old settings, the new ones or none. Until its
	// settings are those of its plan, no program uses its ids from Start on. Another call of Expand
	// repairs the settings. They must be in the servers' configuration files all the same, or every
	// restart takes the server out of service.
	//
	// Expand needs MySQL or MariaDB, and the privileges to lock the table and to set global
	// variables. The variables affect every table of the server. It locks each table twice, for as
	// long as three statements take.
	Expand(ctx context.Context) ([]Plan, error)

	// Abandon takes back the plans that Expand announced, and returns how many there were. It fails
	// once a counter of the set has moved to its plan's start: ids are counted by the plan then,
	// and Expand has to finish it. Programs stay in service, and the servers count on as before.
	//
	// The servers are all of the plan, in any order, each once or under several names. It needs
	// what Expand needs. After an error it may be called again.
	Abandon(ctx context.Context) (int, error)
}
