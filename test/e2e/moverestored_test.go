package e2e

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/kubernetes"
	"github.com/uidring/uidring/assigner/kubernetes/kubeconfig"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/test/internal/stores"
)

// TestMoveRestoredServers: the same of sources that are no tables. Their servers go back to a backup of
// before the move, and the same move seals them again before a process claims.
func TestMoveRestoredServers(t *testing.T) {
	t.Parallel()
	zoo, etc, kube := dbtest.ZooKeeper(t), dbtest.Etcd(t), dbtest.Kubernetes(t)
	config, err := kube.WriteKubeconfig(kube.Addr())
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []struct {
		place
		backup func() (restore func() error, err error)
	}{
		{place{"ZooKeeper", func(t testing.TB, o lease.Options) *lease.Assigner {
			return opened(t, o, func(o lease.Options) (*lease.Assigner, error) {
				return stores.ZooKeeper(zoo.DSN("orders"), o)
			})
		}}, zoo.Backup},
		{place{"etcd", func(t testing.TB, o lease.Options) *lease.Assigner {
			return opened(t, o, func(o lease.Options) (*lease.Assigner, error) {
				return stores.Etcd(etc.DSN("orders"), o)
			})
		}}, etc.Backup},
		// The API server keeps what it has read, so it stops before its etcd goes back.
		{place{"Kubernetes", func(t testing.TB, o lease.Options) *lease.Assigner {
			return opened(t, o, func(o lease.Options) (*lease.Assigner, error) {
				return kubeconfig.Open("kubernetes:orders?kubeconfig="+config, &kubernetes.Options{Lease: o})
			})
		}}, func() (func() error, error) {
			restore, err := kube.Etcd.Backup()
			return func() error { return errors.Join(kube.Stop(), restore(), kube.Start()) }, err
		}},
	} {
		t.Run(from.name, func(t *testing.T) {
			t.Parallel()
			d := dialects[0]
			to := d.in(d.migrated(t), "orders")
			f := newFleet(t, from.place, 2, time.Minute)
			restore, err := from.backup()
			if err != nil {
				t.Fatal(err)
			}
			brokenMove(t, from.place, to, time.Minute)
			f.replace(to)
			if err := restore(); err != nil {
				t.Fatal(err)
			}
			var lines []string
			_, err = lease.Move(t.Context(), from.open(t, lease.Options{}), to.open(t, lease.Options{}),
				&lease.MoveOptions{DryRun: true, Report: func(line string) { lines = append(lines, line) }})
			if text := strings.Join(lines, "\n"); err != nil || !strings.Contains(text, "it went back") {
				t.Fatalf("a dry run after the restore = %q, %v, want it to say that the source went back", text, err)
			}
			brokenMove(t, from.place, to, time.Minute)
			_, err = from.open(t, lease.Options{}).Assign(t.Context(), 7)
			if !errors.Is(err, assigner.ErrMoved) {
				t.Errorf("Assign after the same move = %v, want ErrMoved", err)
			}
			time.Sleep(100 * time.Millisecond)
			f.end()
		})
	}
}

// TestMoveRightsPostgres: an account that must not stop WORKER_NODE is refused before the source is sealed.
func TestMoveRightsPostgres(t *testing.T) {
	t.Parallel()
	srv, d := servers.Postgres(t), dialects[1]
	dsn := d.migrated(t)
	name := dsn[strings.LastIndex(dsn, "/")+1 : strings.Index(dsn, "?")]
	role := "mover_" + name
	srv.Query(t, name, "CREATE ROLE "+role+" LOGIN PASSWORD '"+dbtest.Password+"'; "+
		"GRANT SELECT, INSERT, UPDATE ON WORKER_LEASE TO "+role+"; GRANT SELECT, INSERT ON WORKER_NODE TO "+role+
		"; GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO "+role)
	own := strings.Replace(dsn, dbtest.User+":", role+":", 1)
	assign := func() error {
		_, err := d.in(own, "default").open(t, lease.Options{}).Assign(t.Context(), 100)
		return err
	}
	if err := assign(); err != nil {
		t.Fatal(err)
	}
	for _, grant := range []string{"UPDATE ON WORKER_NODE", "UPDATE ON ALL SEQUENCES IN SCHEMA public"} {
		for _, dry := range []bool{true, false} {
			_, err := lease.Move(t.Context(), d.in(own, "default").open(t, lease.Options{}),
				d.in(own, "orders").open(t, lease.Options{}), &lease.MoveOptions{DryRun: dry})
			if !errors.Is(err, lease.ErrRefused) {
				t.Errorf("Move without %s, dry run %v = %v, want ErrRefused", grant, dry, err)
			}
			if err := assign(); err != nil {
				t.Errorf("Assign after a move that is refused = %v", err)
			}
		}
		srv.Query(t, name, "GRANT "+grant+" TO "+role)
	}
	if _, err := lease.Move(t.Context(), d.in(own, "default").open(t, lease.Options{}),
		d.in(own, "orders").open(t, lease.Options{}), nil); err != nil {
		t.Fatal(err)
	}
	if err := assign(); !errors.Is(err, assigner.ErrMoved) {
		t.Errorf("Assign after the move = %v, want ErrMoved", err)
	}
}
