package main

// commands is the command tree; the structure is the grammar that kong reads.
type commands struct {
	Help    helpFlag    `short:"h" help:"Show help." `
	Version versionFlag `name:"version" help:"Show the version."`

	Gen     genCmd     `cmd:"" help:"Make ids."`
	Parse   parseCmd   `cmd:"" help:"Take ids apart: time, worker, sequence."`
	Plan    planCmd    `cmd:"" help:"Plan a layout: capacities, the day it runs out, memory."`
	Workers workersCmd `cmd:"" help:"Look after the rows that worker ids come from."`
	Doctor  doctorCmd  `cmd:"" help:"Check a database from end to end: tables, privileges, settings, clocks, what is left."`
	Segment segmentCmd `cmd:"" help:"Number segments: short, dense ids per tag from a database's counter."`
	Serve   serveCmd   `cmd:"" help:"Serve ids over HTTP at the addresses of Leaf's clients."`
	Schema  schemaCmd  `cmd:"" help:"Print the SQL that creates the tables."`
	Ver     versionCmd `cmd:"" name:"version" help:"Print the version."`
}
