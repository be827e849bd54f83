package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/segbound"
	"gorm.io/gorm"

	"github.com/uidring/uidring/cmd/uid/internal/dsn"
	"github.com/uidring/uidring/internal/sqlgorm"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqltable"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/uid"
)

type serveCmd struct {
	sourceFlags   `embed:""`
	Listed        bool          `help:"Fetch for every tag of the table at the start, and answer 404 for any other key without asking the table."`
	MaxStep       int64         `placeholder:"N" help:"The most that a step grows to. 1 keeps each tag's own. Default: 1000000, or twice the tag's own step."`
	Wait          time.Duration `default:"1s" help:"How long a call waits for an id when there is none."`
	assignerFlags `embed:"" set:"namespace=serve, or default if of the two only that has this layout. Disposable worker ids are in default"`
	layoutFlags   `embed:""`
	Addr          string `default:"127.0.0.1:8080" help:"Address to listen on; port 0 takes a free one. One that is not loopback needs UID_TOKEN, --token-file or --open."`
	Only          string `enum:"both,segment,snowflake" default:"both" help:"both, segment or snowflake."`

	TokenFile string `placeholder:"FILE" help:"A file with a token in each line, and what it is for: tag=NAME, tag=START*, number=NAME, snowflake, workers; nothing means everything. It is read again each minute and on SIGHUP."`

	Open    bool          `help:"Serve an address that is not loopback without a token: every client that reaches it gets ids."`
	Drain   time.Duration `default:"0s" help:"After a signal, how long to go on serving while /health answers 503, so that a load balancer sends requests elsewhere. Stopping takes at most 15 s more."`
	TLSCert string        `name:"tls-cert" placeholder:"FILE" help:"Serve HTTPS with this certificate chain in PEM form. Needs --tls-key."`
	TLSKey  string        `name:"tls-key" placeholder:"FILE" help:"The private key of --tls-cert in PEM form."`

	Routes  string `placeholder:"FILE" help:"Tags in other databases: a line has TAG or START*, and the database. All other tags are in that of --dsn."`
	Numbers string `placeholder:"FILE" help:"Serve the numbers of this file, too: a line has a name, a time zone and a format, such as order Asia/Shanghai {20060102}-{n 6 day}. They are counted in the table of the tags."`

	Tag []string `help:"Serve this tag. May be repeated. Required with --source ticket, which makes any tag that it is asked for."`
}

// Help names the default layout, which is not that of the other commands.
func (*serveCmd) Help() string {
	return "Time-ordered ids have Leaf's layout, 41-10-12 in milliseconds, unless --layout names " +
		"another."
}

// The limits of a connection.
const (
	requestTime = 5 * time.Second  // until a request has arrived, its body too
	answerTime  = 10 * time.Second // from then on until the answer has been read
	idleTime    = 2 * time.Minute  // between two requests
	headerBytes = 16 << 10         // of a request's line and header
)

// stopTime is how long stopping may take after the drain. One deadline covers all of it, in this
// order: requests under way, for graceTime at most; the worker id, for which package uid takes at
// most 5 s; and with what is left, 4 s at least, the unused ranges. It passes lateTime before
// stopTime, which leaves that to a call that its context does not end at once: SQLite waits for a
// locked file regardless of it.
const (
	stopTime  = 15 * time.Second
	graceTime = 5 * time.Second
	lateTime  = time.Second
)

// gcPercent is GOGC while uid serves, unless the environment sets it. The heap is a few megabytes,
// so that Go's 100 collects it many times a second. This takes about 15 MB more memory, and a fifth
// of the processor time off each request.
const gcPercent = 400

// maxConns bounds the connections to a database that has to serve others too. Segments need one for
// each fetch under way, and worker ids one now and then.
const maxConns = 16

// Run serves until ctx ends. Then it lets the requests under way finish, gives the worker id and
// the unused ranges back and returns nil: being stopped is how a server ends. It only complains if
// it cannot give something back.
func (c *serveCmd) Run(ctx context.Context, p *program) (err error) {
	if c.Layout == "" {
		c.Layout = "leaf"
	}
	layout, err := c.resolveToMake()
	if err == nil && c.Only != "segment" { // which decodes ids of a layout that has ended, too
		err = layout.usable(p.now())
	}
	if err != nil {
		return err
	}
	network, err := listenNetwork(c.Addr)
	if err != nil {
		return err
	}
	switch ticket := c.Source == "ticket" && c.Only != "snowflake"; {
	case ticket && len(c.Tag) == 0:
		return usagef("--source ticket needs --tag: it would make a counter for every key " +
			"that a client asks for")
	case !ticket && len(c.Tag) > 0:
		return usagef("--tag is for --source ticket; the tags of a table are its rows")
	case c.Only != "snowflake" && c.fromAuthority(p):
		return usagef("segments need a database; with an address that has worker ids only, " +
			"say --only snowflake")
	case c.Only == "snowflake" && c.Numbers+c.Routes != "":
		return usagef("--numbers and --routes need the tags, and --only snowflake leaves them out")
	case c.MaxStep < 0 || c.MaxStep > segbound.Span:
		return usagef("--max-step is %d, want 1..%d", c.MaxStep, segbound.Span)
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, network, c.Addr)
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}
	defer l.Close()
	hangups := p.hangups.hear() // a SIGHUP during the start is heard after it
	fixed, err := p.token()
	if err != nil {
		return err
	}
	tokens, err := newTokens(c.TokenFile, fixed)
	if err != nil {
		return err
	}
	tcp, ok := l.Addr().(*net.TCPAddr)
	loopback := ok && tcp.IP.IsLoopback()
	trusted := tokens.required() || loopback // others could use up all worker ids
	address, _ := c.address(p)
	switch {
	case !trusted && !c.Open:
		return usagef("--addr %s is not loopback, and every client that reaches it would get ids: "+
			"set UID_TOKEN to what clients have to send as a bearer token, or name --token-file, "+
			"or say --open", c.Addr)
	case !loopback && address == "":
		return usagef("--addr %s is not loopback, and neither --dsn nor UID_DSN names a database: "+
			"the embedded one is a file of this user and machine, and a server elsewhere would "+
			"hand out the same ids from its own; if that is meant, name a file by "+
			"--dsn sqlite:PATH", c.Addr)
	}
	encryption, reload, err := c.encryption()
	if err != nil {
		return err
	}

	logger := slog.New(slog.NewTextHandler(redactor{p.stderr, p}, nil))
	made := layout.eras.At(p.now()).Layout() // /decodeSnowflakeId knows one layout
	options := &service.HandlerOptions{Layout: &made, Logger: logger, ErrorText: p.text,
		Stopping: ctx.Done(), Timeout: c.Wait,
		Trusted: tokens.trusts}
	started := refuseWhileStarting(l, encryption, logger)
	defer started()
	source, closeAll, err := c.generators(ctx, p, layout, options, trusted)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		fmt.Fprintln(p.stderr, "uid: stopped before it served")
		return nil
	}
	if err != nil {
		return err
	}
	// The deadline begins with the first call.
	stopping := sync.OnceValues(func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(context.WithoutCancel(ctx), stopTime-lateTime)
	})
	defer func() {
		stop, cancel := stopping()
		defer cancel()
		if closeErr := inTime(stop, closeAll); closeErr != nil {
			p.complain(fmt.Errorf("stopped, but not everything was given back (%w); nothing need "+
				"be done: the worker id is free again when its window ends, and the rest of a "+
				"range is a gap", closeErr))
		}
	}()
	options.Place = c.serves(p, source, layout, options)
	options.Links = []string{"/debug/uid", "/metrics"}
	handler, err := service.NewHandler(options)
	if err != nil {
		return err
	}
	handler, requests, page := withMetrics(handler, options, tokens)
	defer page.Close()
	handler = tokens.guard(handler)
	if !tokens.required() && loopback {
		handler = withLocalHost(handler)
	}
	handler = requests.count(handler)
	if p.getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	}
	if tokens.required() && !loopback && encryption == nil {
		logger.Warn("uid: clients send the token in clear text; use --tls-cert and --tls-key, or " +
			"a proxy with TLS in front and a network that you trust behind it")
	}
	started()
	scheme := "http"
	if encryption != nil {
		scheme, l = "https", tls.NewListener(l, encryption)
	}
	keeping, done := context.WithCancel(ctx)
	var keeper sync.WaitGroup
	keeper.Go(func() { tokens.keep(keeping, hangups, logger, reload) })
	defer func() {
		done()
		keeper.Wait()
	}()
	fmt.Fprintf(p.stderr, "uid: %s\n", options.Place)
	fmt.Fprintf(p.stderr, "uid: serving on %s://%s\n", scheme, l.Addr())
	manager := p.supervisor()
	manager.tell(ctx, "READY=1")
	keeper.Go(func() { manager.keep(keeping, handler) })
	defer context.AfterFunc(ctx, func() {
		manager.tell(context.WithoutCancel(ctx), "STOPPING=1")
	})()
	return serve(ctx, l, handler, logger, c.Drain, stopping)
}

// inTime calls closeAll with ctx and returns its error. It waits for lateTime after the end of ctx,
// and then leaves the call behind, because the process ends.
func inTime(ctx context.Context, closeAll func(context.Context) error) error {
	closed := make(chan error, 1)
	go func() { closed <- closeAll(ctx) }()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-closed:
		return err
	case <-time.After(lateTime):
		return errors.New("the database has not answered")
	}
}

// generators opens the database and sets the generators of o. If clients are trusted, it sets
// o.Workers too. It returns what names the database, and a function that closes the generators and
// the database, which gives ranges back until its ctx ends.
func (c *serveCmd) generators(
	ctx context.Context, p *program, layout namedLayout, o *service.HandlerOptions, trusted bool,
) (source string, _ func(context.Context) error, err error) {
	if c.fromAuthority(p) {
		g, err := c.authorityGenerator(ctx, p, &c.assignerFlags, serveClaim(o.Logger),
			func(ctx context.Context, a *authority) (uid.Generator, error) {
				source = a.place
				if trusted {
					o.Workers = a
				}
				return newSnowflake(ctx, a, layout, o.Logger)
			})
		if err != nil {
			return "", nil, err
		}
		o.Snowflake = g
		return source, func(context.Context) error { return g.Close() }, nil
	}
	start, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	open := c.open
	if c.Source == "ticket" && c.Only == "segment" {
		open = c.pool // one of several servers may be down
	}
	db, s, err := open(start, p)
	if err != nil {
		return "", nil, err
	}
	if pool, err := db.DB(); err == nil && pool.Stats().MaxOpenConnections == 0 {
		pool.SetMaxOpenConns(maxConns)
	}
	var closers []func(context.Context) error // called in this order: the worker id goes first
	closeAll := func(ctx context.Context) error {
		var errs []error
		for _, c := range closers {
			errs = append(errs, c(ctx))
		}
		return errors.Join(append(errs, dsn.Close(db))...)
	}
	defer func() {
		if err != nil {
			err = errors.Join(c.explain(start, s, withFlags(err)), closeAll(start))
		}
	}()
	if c.Only != "segment" {
		workers, g, err := c.snowflake(start, db, layout, o.Logger)
		if err != nil {
			return "", nil, err
		}
		o.Snowflake = g
		closers = append(closers, func(context.Context) error { return g.Close() })
		if trusted {
			o.Workers = workers
		}
	}
	if c.Only != "snowflake" {
		src, others, err := c.source(p, db)
		closers = append(closers, func(context.Context) error { return closeServers(others) })
		if err == nil && c.Routes != "" {
			var r *routed
			var routes []*gorm.DB
			r, routes, err = c.newRouted(p, src, s.Place, c.Routes, o.Logger)
			others = append(others, routes...)
			if err == nil {
				src, s.Place = r, s.Place+"; "+r.String()
			}
		}
		if err != nil {
			return "", nil, err
		}
		// An account that may not create tables can use those that exist. So this error is
		// reported only if the generator fails as well.
		migrateErr := c.migrate(start, append(others, db), o.Logger)
		options := segment.Options{
			Checkpoint: true, Listed: c.Listed, MaxStep: c.MaxStep, Logger: o.Logger,
		}
		if len(c.Tag) > 0 {
			src, options.Listed = listed{src, c.Tag}, true
		}
		g, err := segment.New(start, src, &options)
		if err != nil {
			return "", nil, withHint(errors.Join(err, migrateErr))
		}
		o.Segment = g
		closers[len(closers)-1] = func(ctx context.Context) error {
			return errors.Join(g.Shutdown(ctx), closeServers(others))
		}
		if o.Numbers, err = p.readNumbers(start, g, c.Numbers); err != nil {
			return "", nil, err
		}
	}
	return s.Place, closeAll, nil
}

// migrate creates the table of the tags where it is missing. A database that is down is waited for
// until ctx ends, but of several ticket servers each may be down, so they get a part of that time.
func (c *serveCmd) migrate(ctx context.Context, dbs []*gorm.DB, logger *slog.Logger) error {
	if len(dbs) > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout/4)
		defer cancel()
	}
	tables := []string{c.table()}
	if c.Numbers != "" {
		tables = append(tables, "number_name")
	}
	errs := make([]error, len(dbs))
	var wg sync.WaitGroup
	for i, db := range dbs {
		wg.Go(func() { errs[i] = migrateSegments(ctx, db, logger, tables) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// migrateSegments creates the tables of segments, and logs that it waits for the database.
func migrateSegments(
	ctx context.Context, db *gorm.DB, logger *slog.Logger, tables []string,
) error {
	d := sqltable.DB{Logger: logger}
	d.Pool, d.Dialect, d.Place, d.Err = sqlgorm.Pool("uid serve", db)
	return sqltable.Migrate(ctx, d, tables...)
}

// serveClaim returns the options of serve's claim, which lasts through an outage of ten minutes.
func serveClaim(logger *slog.Logger) claimOptions {
	return claimOptions{window: 20 * time.Minute, logger: logger}
}

// newSnowflake returns a generator with one lane, so that its ids increase.
func newSnowflake(
	ctx context.Context, a assigner.Assigner, layout namedLayout, logger *slog.Logger,
) (*uid.Cached, error) {
	options := layout.options()
	options.Logger = logger
	return uid.NewCached(ctx, a, options)
}

// redactor writes to w what it is given, without passwords.
type redactor struct {
	w io.Writer
	p *program
}

func (r redactor) Write(b []byte) (int, error) {
	if _, err := io.WriteString(r.w, r.p.redactor.Redact(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}
