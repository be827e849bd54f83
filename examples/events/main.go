// Command events is a service without a database: it gives each event that is posted an id, and
// writes both to its standard output. Its worker id is the number of its pod, in a StatefulSet:
//
//	UID_FILE=/var/lib/uid/window ADDR=:8080 events
//
// The file keeps the window's end. It is on a volume, so that a restart repeats no id, whatever the
// clock does. The pods of a Deployment have no numbers. They get worker ids from the cluster:
//
//	UID_WORKERS=kubernetes:events ADDR=:8080 events
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/kubernetes/kubeconfig"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/uid"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := listen(ctx); err != nil {
		slog.Error("events", "error", err)
		os.Exit(1)
	}
}

// listen serves at ADDR.
func listen(ctx context.Context) error {
	workers, err := workers()
	if err != nil {
		return err
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", cmp.Or(os.Getenv("ADDR"), "127.0.0.1:8080"))
	if err != nil {
		return err
	}
	return run(ctx, workers, l, slog.New(slog.NewJSONHandler(os.Stdout, nil)))
}

// workers returns where worker ids come from.
func workers() (assigner.Assigner, error) {
	cluster, file := os.Getenv("UID_WORKERS"), os.Getenv("UID_FILE")
	switch {
	case (cluster == "") == (file == ""):
		return nil, errors.New("want either UID_FILE, a path on a volume of this pod's own, or " +
			"UID_WORKERS, such as kubernetes:events")
	case cluster != "":
		return kubeconfig.Open(cluster, nil)
	default:
		return assigner.StatefulSet(&assigner.LocalOptions{File: file}), nil
	}
}

// run serves on l until ctx ends. It then waits up to 10 s for the requests under way.
func run(
	ctx context.Context, workers assigner.Assigner, l net.Listener, events *slog.Logger,
) (err error) {
	gen, err := uid.NewCached(ctx, workers, nil)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer func() { err = errors.Join(err, gen.Close()) }() // after the last request

	mux := http.NewServeMux()
	mux.Handle("GET /ready", service.Health(gen))
	mux.HandleFunc("POST /events", func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<16))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		id, err := gen.Next(r.Context())
		if err != nil {
			slog.Warn("no id", "error", err)
			http.Error(w, "no id, try again", http.StatusServiceUnavailable)
			return
		}
		events.Info("event", "id", id, "text", string(text))
		_ = json.NewEncoder(w).Encode(id) // fails only if the client is gone
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		ended <- server.Shutdown(grace)
	})
	if err := server.Serve(l); stop() { // before ctx has ended
		return err
	}
	return <-ended
}
