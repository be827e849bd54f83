package bench_test

import (
	"bufio"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/uid"
)

// BenchmarkStart measures how long the first id takes. In a process that runs already, where the
// authority is part of it or the HTTP service; for the others, from the start of the command uid to
// its first line, which "command uid, a worker id of its own" is to be subtracted from.
func BenchmarkStart(b *testing.B) {
	program := filepath.Join(b.TempDir(), "uid")
	command(b, root, "go", "build", "-o", program, "./cmd/uid")
	handler, err := service.NewHandler(&service.HandlerOptions{Workers: &claimtest.Memory{}})
	check(b, err)
	web := httptest.NewServer(handler)
	defer web.Close()
	b.Run("start", func(b *testing.B) {
		row(b, "a worker id of its own", func(b *testing.B, done func()) {
			firstID(b, done, assigner.Static(1))
		})
		row(b, "Host", func(b *testing.B, done func()) { firstID(b, done, assigner.Host()) })
		row(b, "Env", func(b *testing.B, done func()) {
			b.Setenv("WORKER_ID", "1")
			firstID(b, done, assigner.Env("WORKER_ID", nil))
		})
		row(b, "HTTP service", func(b *testing.B, done func()) {
			client, err := service.NewClient([]string{web.URL}, nil)
			check(b, err)
			firstID(b, done, client)
			check(b, client.Close())
		})
	})
	for _, x := range []struct {
		name string
		args func(b *testing.B) (first, second string)
	}{
		{"a worker id of its own", func(*testing.B) (string, string) { return "--worker", "1" }},
		{"SQLite", func(b *testing.B) (string, string) {
			return "--dsn", "sqlite://" + filepath.Join(b.TempDir(), "uid.db")
		}},
		{"MariaDB", func(b *testing.B) (string, string) {
			s := dbtest.MariaDB(b)
			return "--dsn", s.DSN(s.CreateDB(b))
		}},
		{"Disposable on MariaDB", func(b *testing.B) (string, string) {
			s := dbtest.MariaDB(b)
			return "--assigner=disposable", "--dsn=" + s.DSN(s.CreateDB(b))
		}},
		{"PostgreSQL", func(b *testing.B) (string, string) {
			s := dbtest.Postgres(b)
			return "--dsn", s.DSN(s.CreateDB(b))
		}},
		{"etcd", func(b *testing.B) (string, string) { return "--dsn", dbtest.Etcd(b).DSN("bench") }},
		{"ZooKeeper", func(b *testing.B) (string, string) {
			return "--dsn", dbtest.ZooKeeper(b).DSN("bench")
		}},
		{"Kubernetes", func(b *testing.B) (string, string) {
			s := dbtest.Kubernetes(b)
			path, err := s.WriteKubeconfig(s.Addr())
			check(b, err)
			return "--dsn", "kubernetes:?kubeconfig=" + path
		}},
	} {
		b.Run("start", func(b *testing.B) {
			first, second := x.args(b)
			row(b, "command uid, "+x.name, func(b *testing.B, done func()) {
				firstLine(b, done, program, "gen", first, second)
			})
		})
	}
}

// row measures from each start of first to its call of done.
func row(b *testing.B, name string, first func(b *testing.B, done func())) {
	b.Run(name, func(b *testing.B) {
		took := time.Duration(0)
		for b.Loop() {
			begin := time.Now()
			first(b, func() { took += time.Since(begin) })
		}
		b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "first_id-ns")
	})
}

// firstID makes an id and calls done when it is there.
func firstID(b *testing.B, done func(), a assigner.Assigner) {
	g, err := uid.NewCached(b.Context(), a, nil)
	check(b, err)
	_, err = g.Next(b.Context())
	done()
	check(b, err)
	check(b, g.Close())
}

// firstLine runs a program and calls done when its first line is there.
func firstLine(b *testing.B, done func(), program string, args ...string) {
	cmd := exec.CommandContext(b.Context(), program, args...)
	cmd.Stderr = b.Output()
	out, err := cmd.StdoutPipe()
	check(b, err)
	check(b, cmd.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	done()
	check(b, cmd.Wait())
	check(b, err)
}
