package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/leafhttp"
	"github.com/uidring/uidring/uid"
)

type serveCmd struct {
	sourceFlags   `embed:""`
	assignerFlags `embed:""`
	layoutFlags   `embed:""`
	Addr          string `default:"127.0.0.1:8080" help:"Address to listen on; port 0 takes a free one. There is no authentication: keep it on loopback or a private network."`
	Only          string `enum:"both,segment,snowflake" default:"both" help:"both, segment or snowflake."`
}

// Help says what the flags that serve shares with gen do not.
func (*serveCmd) Help() string {
	return "Time-ordered ids have Leaf's layout, 41-10-12 in milliseconds, unless --layout names another."
}

// The limits of a connection.
const (
	requestTime  = 5 * time.Second  // until a request has arrived, its body too
	answerTime   = 10 * time.Second // from then on until the answer has been read
	idleTime     = 2 * time.Minute  // between two requests
	headerBytes  = 16 << 10         // of a request's line and header
	shutdownTime = 5 * time.Second  // for requests under way after a signal
)

// Run serves until ctx ends, then lets the requests under way finish, gives the worker id and the unused ranges back and
// returns nil: being stopped is how a server ends. What could not be given back is complained about; it is a gap.
func (c *serveCmd) Run(ctx context.Context, p *program) (err error) {
	layout, err := c.layout(p)
	if err != nil {
		return err
	}
	network, err := listenNetwork(c.Addr)
	if err != nil {
		return err
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, network, c.Addr)
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}
	defer l.Close()

	logger := slog.New(slog.NewTextHandler(redactor{p.stderr, p}, nil))
	made := layout.alloc.Layout()
	options := &leafhttp.Options{Layout: &made, Logger: logger, ErrorText: func(err error) string {
		return redact(oneLine(err.Error()), p.secrets...)
	}}
	closeAll, err := c.generators(ctx, p, layout, options)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := closeAll(); closeErr != nil {
			p.complain(fmt.Errorf("stopped; what is left was not given back: %w", closeErr))
		}
	}()
	handler, err := leafhttp.New(options)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "uid: serving on http://%s\n", l.Addr())
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		fmt.Fprintln(p.stderr, "uid: note: this address is not loopback, and whoever reaches it gets ids")
	}
	return serve(ctx, l, handler, logger)
}

// layout returns the layout of the time-ordered ids, which is Leaf's if the flags name none.
func (c *serveCmd) layout(p *program) (namedLayout, error) {
	if c.Layout == "" {
		c.Layout = "leaf"
	}
	layout, err := c.layoutFlags.resolve()
	if err != nil {
		return layout, err
	}
	if layout.decode != nil {
		return layout, usagef("--layout %s is for taking ids apart; keyworker makes them", layout.name)
	}
	if c.Only == "segment" {
		return layout, nil // ids of the past are taken apart all the same
	}
	return layout, layout.usable(p.now())
}

// serve answers requests until ctx ends.
func serve(ctx context.Context, l net.Listener, handler http.Handler, logger *slog.Logger) error {
	server := &http.Server{
		Handler: handler, ReadTimeout: requestTime, WriteTimeout: answerTime, IdleTimeout: idleTime, MaxHeaderBytes: headerBytes,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	err := server.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close() // whoever is left had its time
	}
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// generators opens the database and sets the generators of o. What it returns closes them and the database.
func (c *serveCmd) generators(ctx context.Context, p *program, layout namedLayout, o *leafhttp.Options) (closeAll func() error, err error) {
	start, cancel := context.WithTimeout(ctx, max(c.Timeout, 0))
	defer cancel()
	db, d, err := c.open(start, p)
	if err != nil {
		return nil, err
	}
	closers := []func() error{func() error { return closeDB(db) }}
	closeAll = func() error {
		var errs []error
		for _, c := range slices.Backward(closers) {
			errs = append(errs, c())
		}
		return errors.Join(errs...)
	}
	if c.Only != "segment" {
		g, err := c.snowflake(start, db, layout, o.Logger)
		if err != nil {
			return nil, errors.Join(c.explain(start, d, err), closeAll())
		}
		o.Snowflake, closers = g, append(closers, g.Close)
	}
	if c.Only != "snowflake" {
		if d.embedded {
			if err := segment.Migrate(start, db); err != nil {
				return nil, errors.Join(c.explain(start, d, err), closeAll())
			}
		}
		// Ordered, because a request costs far more than the word that its callers share.
		g, err := segment.New(start, c.source(db), &segment.Options{Ordered: true, Checkpoint: true, Logger: o.Logger})
		if err != nil {
			return nil, errors.Join(c.explain(start, d, withHint(err)), closeAll())
		}
		o.Segment, closers = g, append(closers, g.Close)
	}
	return closeAll, nil
}

// snowflake returns the generator of time-ordered ids, with one lane so that they rise. The lease outlives an outage of the
// database of ten minutes.
func (c *serveCmd) snowflake(ctx context.Context, db *gorm.DB, layout namedLayout, logger *slog.Logger) (*uid.Cached, error) {
	migrateErr := workernode.Migrate(ctx, db)
	a := c.assigner(db, layout, deal{command: "uid serve", window: workernode.DefaultWindow, logger: logger})
	g, err := uid.NewCached(ctx, a, &uid.Options{Layout: layout.alloc.Layout(), Logger: logger})
	if err != nil && migrateErr != nil {
		err = errors.Join(err, migrateErr)
	}
	return g, err
}

// redactor is a writer whose lines are free of passwords.
type redactor struct {
	w io.Writer
	p *program
}

func (r redactor) Write(b []byte) (int, error) {
	if _, err := io.WriteString(r.w, redact(string(b), r.p.secrets...)); err != nil {
		return 0, err
	}
	return len(b), nil
}
