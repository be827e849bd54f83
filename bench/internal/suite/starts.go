package suite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/uid"
)

// starts measures how long the first id takes. In a process that runs already, where the authority
// is part of it or the HTTP service; for the others, from the start of the command uid to its first
// line, which "command uid, a worker id of its own" is to be subtracted from.
func starts(ctx context.Context, c *Config, f *result.File, dir string) error {
	program := filepath.Join(dir, "uid")
	if _, err := command(ctx, c.Root, "go", "build", "-o", program, "./cmd/uid"); err != nil {
		return err
	}
	row := func(name string, first func(done func()) error) error {
		return rounds(ctx, pick(c, 2, 15), func(int) error {
			start, took := time.Now(), time.Duration(0)
			err := first(func() { took = time.Since(start) })
			f.Add("start", name, "first id", "ns", float64(took.Nanoseconds()), err)
			return nil
		})
	}
	gen := func(name string, args ...string) error {
		return row("command uid, "+name, func(done func()) error {
			return firstLine(ctx, done, program, append([]string{"gen"}, args...)...)
		})
	}
	handler, err := service.NewHandler(&service.HandlerOptions{Workers: &claimtest.Memory{}})
	if err != nil {
		return err
	}
	web := httptest.NewServer(handler)
	defer web.Close()
	err = errors.Join(row("a worker id of its own", func(done func()) error {
		return firstID(ctx, done, assigner.Static(1))
	}), row("HTTP service", func(done func()) error {
		client, err := service.NewClient([]string{web.URL}, nil)
		if err != nil {
			return err
		}
		return errors.Join(firstID(ctx, done, client), client.Close())
	}), gen("a worker id of its own", "--worker", "1"))
	for _, x := range []struct {
		name  string
		start authority
	}{
		{"SQLite", func() (string, func(), error) {
			return "sqlite://" + filepath.Join(dir, "uid.db"), func() {}, nil
		}},
		{"MariaDB", database(dbtest.NewMariaDB, "CREATE DATABASE bench")},
		{"PostgreSQL", database(dbtest.NewPostgres, "CREATE DATABASE bench")},
		{"etcd", database(dbtest.NewEtcd, "")}, {"ZooKeeper", database(dbtest.NewZooKeeper, "")},
		{"Kubernetes", kubernetes},
	} {
		dsn, stop, problem := x.start()
		if problem != nil {
			f.Add("start", "command uid, "+x.name, "first id", "ns", 0, problem)
		} else {
			err = errors.Join(err, gen(x.name, "--dsn", dsn))
		}
		stop()
	}
	return err
}

// firstID makes an id and calls done when it is there.
func firstID(ctx context.Context, done func(), a assigner.Assigner) error {
	g, err := uid.NewCached(ctx, a, nil)
	if err != nil {
		return err
	}
	_, err = g.Next(ctx)
	done()
	return errors.Join(err, g.Close())
}

// firstLine runs a program and calls done when its first line is there.
func firstLine(ctx context.Context, done func(), program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	_, err = bufio.NewReader(out).ReadString('\n')
	done()
	if err = errors.Join(err, cmd.Wait()); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(problem.String()))
	}
	return nil
}

// authority starts what hands out worker ids, and returns its address and what stops it.
type authority func() (dsn string, stop func(), err error)

// database is a server and a statement that it needs first.
func database(start func(...string) (*dbtest.Server, error), prepare string) authority {
	return func() (string, func(), error) {
		s, err := start()
		if err != nil {
			return "", func() {}, err
		}
		if prepare != "" {
			_, err = s.TryQuery("", prepare)
		}
		return s.DSN("bench"), s.Close, err
	}
}

func kubernetes() (string, func(), error) {
	s, err := dbtest.NewKubernetes()
	if err != nil {
		return "", func() {}, err
	}
	path, err := s.WriteKubeconfig(s.Addr())
	return "kubernetes:?kubeconfig=" + path, s.Close, err
}
