package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"gorm.io/gorm"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/sqlgorm"
	"github.com/uidring/uidring/internal/storekind"
	"github.com/uidring/uidring/internal/workertable"
	"github.com/uidring/uidring/uid"
)

// serveNamespace is the service's own namespace. The namespace "default" most often has the layout
// of "uid gen" and of the library.
const serveNamespace = "serve"

// homes says which of the two namespaces have the service's layout. A namespace keeps its layout
// for good, so neither turns false again.
type homes struct{ own, shared bool }

// choose returns the namespace of a service that names none. It stays where the service was before:
// in its own, or in "default", which earlier versions used. Else it makes its own.
func (h homes) choose() string {
	if !h.own && h.shared {
		return workertable.DefaultNamespace
	}
	return serveNamespace
}

// snowflake creates the tables that are missing and returns the generator of time-ordered ids, and
// the Assigner that its worker id came from.
//
// Ids of two namespaces may be equal, so all servers have to choose one. Each looks before its
// claim and again afterwards, because another one may have claimed meanwhile: before it stamps an
// id, it gives a worker id of "default" back if the own namespace is there now, and fails if it has
// made the own one while "default" got the layout.
func (c *serveCmd) snowflake(
	ctx context.Context, db *gorm.DB, layout namedLayout, logger *slog.Logger,
) (assigner.Assigner, *uid.Cached, error) {
	flags, free := c.assignerFlags, c.Namespace == "" && c.Assigner == "leased"
	d, migrateErr := sqlgorm.Open("workernode", db, logger)
	if migrateErr == nil {
		migrateErr = workertable.Migrate(ctx, d)
	}
	for {
		var before, after homes
		var err error
		if free {
			if before, err = findHomes(ctx, db, layout); err != nil {
				return nil, nil, errors.Join(err, migrateErr)
			}
			flags.Namespace = before.choose()
		}
		a := flags.assigner(db, serveClaim(logger))
		g, err := newSnowflake(ctx, a, layout, logger)
		if free && errors.Is(err, assigner.ErrMoved) {
			err = fmt.Errorf("%w; if its ids were not those of this service, name another "+
				"namespace for all servers by --namespace", err)
		}
		if err != nil {
			return nil, nil, errors.Join(err, migrateErr)
		}
		if !free {
			return a, g, nil
		}
		after, err = findHomes(ctx, db, layout)
		again := err == nil && after.choose() != flags.Namespace
		if !before.own && !before.shared && after.shared {
			err = errBothHomes
		}
		if err == nil && !again {
			if after.own && after.shared {
				logger.Warn("uid: the namespace \"default\" has this layout too: ids of a server " +
					"that uses it may equal those of this one; name one for all by --namespace")
			}
			return a, g, nil
		}
		if err := errors.Join(err, g.Close()); err != nil {
			return nil, nil, err
		}
	}
}

var errBothHomes = fmt.Errorf("%w: the namespace \"default\" got the layout of this service while "+
	"it made its namespace %q: name one of them for all servers by --namespace",
	assigner.ErrLayoutMismatch, serveNamespace)

// findHomes reads the headers of both namespaces.
func findHomes(ctx context.Context, db *gorm.DB, layout namedLayout) (h homes, err error) {
	d, err := sqlgorm.Open("workernode", db, nil)
	if err != nil {
		return h, err
	}
	has := func(c *sqldb.Conn, namespace string, inMove bool) (bool, error) {
		var text string
		err := c.Row(ctx, "SELECT LAYOUT FROM WORKER_LEASE WHERE NAMESPACE = ? AND WORKER_ID = -1",
			[]any{namespace}, &text)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		if storekind.InMove(text) {
			return inMove, err
		}
		// Layouts that are announced or taken back count: they are of the same universe.
		text = strings.TrimPrefix(strings.NewReplacer("|", ",", "~", ",").Replace(text), ",")
		_, _, mismatch := assigner.CompareLayouts(text, layout.eras.String())
		return err == nil && mismatch == nil, err
	}
	err = d.Do(ctx, func(c *sqldb.Conn) (err error) {
		// A header does not say which layout it had before its universe moved away. It counts, or
		// this service would begin anew, with equal ids; its claim says where they are.
		if h.own, err = has(c, serveNamespace, true); err == nil {
			h.shared, err = has(c, workertable.DefaultNamespace, !h.own)
		}
		return err
	})
	return h, err
}
