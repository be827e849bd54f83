package workernode_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/sqlgorm"
	"github.com/uidring/uidring/internal/workertable"
)

// TestWaitIsLogged: waiting for a database is logged once, without the password.
func TestWaitIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	l := slog.New(slog.NewTextHandler(&log, nil))
	db := connect(t, "user:"+dbtest.Password+"@tcp(127.0.0.1:1)/x")
	assign := func(a assigner.Assigner) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := a.Assign(ctx, maxWorker)
			return err
		}
	}
	for name, wait := range map[string]func(context.Context) error{
		"Disposable": assign(workernode.Disposable(db, &workernode.DisposableOptions{Logger: l})),
		"Leased":     assign(workernode.Leased(db, &workernode.LeasedOptions{Logger: l})),
		"Migrate": func(ctx context.Context) error {
			d, err := sqlgorm.Open("workernode", db, l)
			if err != nil {
				return err
			}
			return workertable.Migrate(ctx, d)
		},
	} {
		log.Reset()
		if err := wait(within(t, 200*time.Millisecond)); err == nil {
			t.Errorf("%s without a server succeeded", name)
		}
		got := log.String()
		if strings.Count(got, "waiting for the ") != 1 ||
			!strings.Contains(got, "127.0.0.1:1") || strings.Contains(got, dbtest.Password) {
			t.Errorf("%s logs %q, want one line about waiting, with the address and without the password",
				name, got)
		}
	}
}
