package segments

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/test/internal/soak"
	"github.com/uidring/uidring/test/internal/uidcommand"
)

// database is the name of the database on each server.
const database = "soak"

// run starts servers and a fleet, injects faults for as long as c says or until ctx ends, and
// returns what it found. The error says what must not have happened, apart from ids that were
// repeated or did not increase. The result is nil only if nothing was run.
func run(ctx context.Context, c config, progress io.Writer) (*result, error) {
	dir, err := os.MkdirTemp("", "uidring-soak-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	in := &injector{most: c.Most}
	if in.command, err = uidcommand.Build(ctx, dir); err != nil {
		return nil, err
	}
	defer func() {
		for _, s := range in.servers {
			s.Close()
		}
	}()
	all, err := in.start(dir)
	if err != nil {
		return nil, err
	}
	old := all
	old.Tickets = all.Tickets[:2]
	d, err := all.open()
	if err != nil {
		return nil, err
	}
	in.tickets = all.Tickets
	if err := prepare(d); err != nil {
		return nil, err
	}
	if in.fleet, err = newFleet(c.Processes, old); err != nil {
		return nil, err
	}
	begin := time.Now()
	in.fleet.Await("start")

	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { in.processes(rand.New(rand.NewPCG(c.Seed, 2)), stop) })
	// One goroutine makes the servers' faults and the expansion, one after the other.
	wg.Go(func() {
		r := rand.New(rand.NewPCG(c.Seed, 1))
		half := make(chan struct{})
		time.AfterFunc(c.Duration/2, func() { close(half) })
		in.harm(r, half)
		in.join(all, r)
		in.fleet.Await("the third ticket server")
		if c.broken {
			in.rewind()
		}
		in.harm(r, stop)
	})
	for next := begin; time.Since(begin) < c.Duration && !in.fleet.noticed(); {
		if !soak.Pause(ctx.Done(), min(100*time.Millisecond, c.Every)) {
			break
		}
		if time.Since(next) >= c.Every {
			next = next.Add(c.Every)
			in.report(time.Since(begin), progress)
		}
	}
	close(stop)
	wg.Wait()
	in.fleet.Await("the last fault")
	err = in.fleet.Stop()
	return newResult(c, begin, in), err
}

// start starts the servers. The first two ticket servers count by 2, and the third one by 3.
func (in *injector) start(dir string) (p places, err error) {
	p.SQLite = filepath.Join(dir, "soak.db")
	for i := 1; i <= 3; i++ {
		s, err := dbtest.NewMariaDB(fmt.Sprint("--auto-increment-increment=", max(2, i)),
			fmt.Sprint("--auto-increment-offset=", i))
		if err != nil {
			return p, err
		}
		in.servers = append(in.servers, server{fmt.Sprint("MariaDB ", i), s})
		if _, err := s.TryQuery("", "CREATE DATABASE "+database); err != nil {
			return p, err
		}
		p.Tickets = append(p.Tickets, s.DSN(database))
	}
	s, err := dbtest.NewPostgres()
	if err != nil {
		return p, err
	}
	in.servers = append(in.servers, server{"PostgreSQL", s})
	_, err = s.TryQuery("", "CREATE DATABASE "+database)
	p.Postgres = s.DSN(database)
	return p, err
}

// prepare makes the tables and the rows of the tags.
func prepare(d databases) error {
	ctx, cancel := context.WithTimeout(context.Background(), soak.Comeback)
	defer cancel()
	for _, db := range append(d.tickets, d.postgres, d.sqlite) {
		if err := sqlsource.Migrate(ctx, db); err != nil {
			return err
		}
	}
	for _, k := range kinds {
		if s, ok := k.of(d).(segment.Setter); ok {
			if err := s.Set(ctx, segment.Row{Tag: k.tagOf(), Step: 1000}); err != nil {
				return err
			}
		}
	}
	return nil
}

// report prints a line of progress.
func (in *injector) report(at time.Duration, progress io.Writer) {
	var ids int64
	for _, l := range in.fleet.ledgers {
		n, _, _, _ := l.Sum()
		ids += n
	}
	process, server := soak.Split(in.counts.All())
	fmt.Fprintf(progress, "%6.0fs  %d ids, %d faults, %d ids twice\n", at.Seconds(), ids,
		process+server, in.fleet.twice())
}
