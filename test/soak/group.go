package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/test/internal/soak"
)

// group is an authority of several servers that fail over, and what happens to them. The processes
// have all of their addresses.
type group struct {
	*dbtest.Group
	begin func() (*dbtest.Group, error)
}

// newGroupReplication is Group Replication with a single primary, and MySQL's own settings.
func newGroupReplication() *authority {
	g := &group{begin: func() (*dbtest.Group, error) { return dbtest.NewGroupReplication(false) }}
	return g.authority(mysqlDialect, append(g.faults(), fault{"group: planned switch-over",
		g.switchOver}))
}

// newMultiPrimary is Group Replication in which each member is written to. Every process begins
// with another one, so changes of one row meet, and the group rolls one of them back.
func newMultiPrimary() *authority {
	g := &group{begin: func() (*dbtest.Group, error) { return dbtest.NewGroupReplication(true) }}
	a := g.authority(mysqlDialect, g.faults())
	a.dsnOf = func(slot int) string {
		all := strings.Split(g.Addrs(), ",")
		n := slot % len(all)
		return mysqlDialect.dsn(strings.Join(slices.Concat(all[n:], all[:n]), ","))
	}
	return a
}

// newSemiSync is a source with two semi-synchronous replicas, AFTER_SYNC and without a time-out.
func newSemiSync() *authority {
	g := &group{begin: func() (*dbtest.Group, error) { return dbtest.NewSemiSync() }}
	return g.authority(mysqlDialect, append(g.faults(), g.losses(writable)...))
}

// newAfterCommit is newSemiSync with AFTER_COMMIT, where others see a change before a replica has
// it.
func newAfterCommit() *authority {
	g := &group{begin: func() (*dbtest.Group, error) {
		return dbtest.NewSemiSync("--rpl-semi-sync-source-wait-point=AFTER_COMMIT")
	}}
	return g.authority(mysqlDialect, append(g.faults(), g.losses(writable)...))
}

// newStandbys is a PostgreSQL with a synchronous and an asynchronous standby.
func newStandbys() *authority {
	g := &group{begin: dbtest.NewStandbys}
	return g.authority(postgresDialect, append(g.faults(), g.losses("SELECT 1")...))
}

// writable makes a MySQL a primary that was restarted.
const writable = "SET GLOBAL rpl_semi_sync_source_enabled = ON; SET GLOBAL super_read_only = " +
	"OFF; SET GLOBAL read_only = OFF"

// authority returns the authority of the group.
func (g *group) authority(d dialect, faults []fault) *authority {
	return &authority{
		kinds: []kind{{cached, leased}, {standard, ranged}, {counting, counted}, {runOne, leased},
			{cached, ranged}, {counting, counted}, {lanes, leased}, {standard, leased},
			{cached, leased}},
		faults: faults,
		start: func() (_ *dbtest.Server, err error) {
			if g.Group, err = g.begin(); err != nil {
				return nil, err
			}
			if err = d.prepare(g.Primary()); err == nil && d.group != "" {
				_, err = g.Primary().TryQuery("", d.group)
			}
			return nil, err
		},
		end: func() {
			if g.Group != nil {
				g.Close()
			}
		},
		dsn:     func(*dbtest.Server, string) string { return d.dsn(g.Addrs()) + d.several },
		numbers: true,
	}
}

// faults returns the faults of any group.
func (g *group) faults() []fault {
	return []fault{
		{"primary: SIGKILL, the next takes over, it comes back as a replica",
			g.replaced((*dbtest.Server).Kill)},
		{"primary: shutdown, the next takes over, it comes back as a replica",
			g.replaced(shutDown)},
		{"primary: SIGSTOP until the next has taken over, and then alive with its clients",
			g.outlived},
		{"primary: SIGSTOP", func(*injector, time.Duration) (func() error, error) {
			old := g.Primary()
			return func() error { return errors.Join(old.Resume(), g.Whole()) }, old.Pause()
		}},
		{"replica: SIGKILL and restart", func(*injector, time.Duration) (func() error, error) {
			s := g.replicas()[0]
			return func() error { return errors.Join(s.Start(), g.Whole()) }, s.Kill()
		}},
		{"replicas: SIGSTOP, both", func(in *injector, _ time.Duration) (func() error, error) {
			err := g.each((*dbtest.Server).Pause)
			in.newcomers()
			return func() error {
				return errors.Join(g.each((*dbtest.Server).Resume),
					g.Whole())
			}, err
		}},
	}
}

// losses returns the faults in which a primary is lost that has changes which no replica has. In
// the second it is up once more in between, as a primary after the statement write.
func (g *group) losses(write string) []fault {
	return []fault{
		{"primary: SIGKILL while no replica acknowledges, the next takes over",
			func(in *injector, lasts time.Duration) (func() error, error) {
				return g.lost(in, lasts, func(*dbtest.Server) error { return nil })
			}},
		{"primary: SIGKILL while no replica acknowledges, restart, SIGKILL, the next takes over",
			func(in *injector, lasts time.Duration) (func() error, error) {
				return g.lost(in, lasts, func(old *dbtest.Server) error {
					err := old.Start()
					if err == nil {
						_, err = old.TryQuery("", write)
					}
					soak.Pause(in.stop, lasts)
					return errors.Join(err, old.Kill())
				})
			}},
	}
}

// shutDown stops a server. One that does not stop soon was killed.
func shutDown(s *dbtest.Server) error {
	_ = s.Stop()
	return nil
}

// replicas returns the servers but for the primary.
func (g *group) replicas() (all []*dbtest.Server) {
	for _, s := range g.Servers {
		if s != g.Primary() {
			all = append(all, s)
		}
	}
	return all
}

// each calls f for each replica.
func (g *group) each(f func(*dbtest.Server) error) error {
	var errs []error
	for _, s := range g.replicas() {
		errs = append(errs, f(s))
	}
	return errors.Join(errs...)
}

// promoted stands for a fault, in what the soak says of the time after a fail-over.
const promoted = "a new primary was there"

// failOver waits for the next primary, and until every process has followed it.
func (g *group) failOver(in *injector) error {
	err := g.FailOver()
	if err == nil {
		in.fleet.Await(promoted)
	}
	return err
}

// replaced returns the harm of a fault in which the primary ends.
func (g *group) replaced(end func(*dbtest.Server) error) harm {
	return func(in *injector, _ time.Duration) (func() error, error) {
		old := g.Primary()
		err := end(old)
		if err == nil {
			err = g.failOver(in)
		}
		return func() error { return g.Rejoin(old) }, err
	}
}

// outlived is the harm of a fault in which the old primary goes on, with the clients that it has,
// when there is a new one.
func (g *group) outlived(in *injector, lasts time.Duration) (func() error, error) {
	old := g.Primary()
	err := old.Pause()
	if err == nil {
		err = g.failOver(in)
	}
	err = errors.Join(err, old.Resume())
	in.newcomers()
	soak.Pause(in.stop, lasts)
	return func() error { return errors.Join(old.Kill(), g.Rejoin(old)) }, err
}

// lost is the harm of a fault in which the primary is lost while no replica acknowledges a change,
// and processes start. again is called while it is down.
func (g *group) lost(
	in *injector, lasts time.Duration, again func(old *dbtest.Server) error,
) (func() error, error) {
	old := g.Primary()
	err := g.each((*dbtest.Server).Pause)
	in.newcomers()
	soak.Pause(in.stop, lasts)
	err = errors.Join(err, old.Kill(), again(old), g.each((*dbtest.Server).Resume))
	if err == nil {
		err = g.failOver(in)
	}
	return func() error { return g.Rejoin(old) }, err
}

// switchOver is the harm of a fault in which an operator names another primary.
func (g *group) switchOver(*injector, time.Duration) (func() error, error) {
	next := g.replicas()[0]
	id, err := next.TryQuery("", "SELECT @@server_uuid")
	if err == nil {
		_, err = next.TryQuery("", fmt.Sprintf("SELECT group_replication_set_as_primary('%s')",
			strings.TrimSpace(id)))
	}
	return g.Whole, err
}
