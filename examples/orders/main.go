// Command orders is a service to copy: it serves orders over HTTP, and keeps them in four tables,
// divided by user. An order's id ends in the same bits as its user's, so either id alone tells the
// table.
//
//	export 'UID_DSN=user:password@tcp(127.0.0.1:3306)/shop' ADDR=:8080
//	go run ./examples/orders migrate
//	go run ./examples/orders
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner/workernode"
	uidprom "github.com/uidring/uidring/metrics/prometheus"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uidgorm"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	logger := slog.Default()
	var err error
	if len(os.Args) == 2 && os.Args[1] == "migrate" {
		err = migrate(ctx, os.Getenv("UID_DSN"))
	} else {
		err = listen(ctx, logger)
	}
	if err != nil {
		logger.Error("orders", "error", err)
		os.Exit(1)
	}
}

// listen serves at ADDR.
func listen(ctx context.Context, logger *slog.Logger) error {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", cmp.Or(os.Getenv("ADDR"), "127.0.0.1:8080"))
	if err != nil {
		return err
	}
	return run(ctx, os.Getenv("UID_DSN"), l, logger)
}

// migrate creates the tables that are missing, those of the worker ids too. The account needs the
// right to create tables, and the one of run does not.
func migrate(ctx context.Context, dsn string) (err error) {
	s, err := openStore(dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	return errors.Join(workernode.Migrate(ctx, s.db), s.migrate())
}

// run serves on l until ctx ends. The account needs SELECT, INSERT and UPDATE.
func run(ctx context.Context, dsn string, l net.Listener, logger *slog.Logger) (err error) {
	gen, err := uidring.Open(ctx, dsn, &uidring.Options{ // waits for the database
		Generator: uid.Options{Layout: layout},
		Lease:     workernode.LeasedOptions{Namespace: "orders"},
		NoMigrate: true,
		Logger:    logger,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gen.Close()) }() // third, after the last statement
	s, err := openStore(dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }() // second, after the last request
	if err := s.db.Use(uidgorm.New(gen, nil)); err != nil {
		return err
	}

	mux := handler(s, logger)
	// The other paths are for the cluster: let the ingress pass on only /users and /orders.
	registry := prometheus.NewRegistry()
	registry.MustRegister(uidprom.New("orders", gen))
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.Handle("GET /ready", service.Health(gen))
	page := service.NewPage(map[string]uid.Generator{"orders": gen})
	defer page.Close()
	mux.Handle("GET /debug/uid", page)
	return serve(ctx, l, mux) // ends first
}

// serve answers requests until ctx ends. It then waits up to 10 s for the requests under way.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		return fmt.Errorf("requests under way: %w", errors.Join(err, server.Close()))
	}
	return nil
}
