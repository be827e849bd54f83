package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/uid"
)

// serve runs the service on a free port until stop is called. stop returns run's error.
func serve(t *testing.T, workers assigner.Assigner, log io.Writer) (url string, stop func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, workers, l, slog.New(slog.NewJSONHandler(log, nil))) }()
	return "http://" + l.Addr().String(), func() error {
		cancel()
		return <-ended
	}
}

// post posts an event and returns its id.
func post(t *testing.T, url, text string) (id uid.ID) {
	t.Helper()
	res, err := http.Post(url+"/events", "text/plain", strings.NewReader(text))
	if err == nil {
		err = json.NewDecoder(res.Body).Decode(&id)
		res.Body.Close()
	}
	if err != nil {
		t.Error(err)
	}
	return id
}

// TestRestart: a service that starts again with its file goes on above the ids of the run before, and
// each event is written with the id that its client got. Env stands in for the number of a pod.
func TestRestart(t *testing.T) {
	t.Setenv("WORKER", "7")
	file := filepath.Join(t.TempDir(), "window")
	var last uid.ID
	for range 2 {
		var log bytes.Buffer
		url, stop := serve(t, assigner.Env("WORKER", &assigner.LocalOptions{File: file}), &log)
		id := post(t, url, "tea")
		if id <= last {
			t.Errorf("the event has id %v, want one above %v", id, last)
		}
		last = id
		if err := stop(); err != nil {
			t.Errorf("run() = %v, want no error", err)
		}
		if line := log.String(); !strings.Contains(line, `"id":"`+id.String()+`","text":"tea"`) {
			t.Errorf("the line is %s, want id %v and the text", line, id)
		}
	}
}

// TestWorkers: the environment names one source of worker ids.
func TestWorkers(t *testing.T) {
	for _, c := range []struct{ cluster, file, err string }{
		{"", "", "want either UID_FILE"},
		{"kubernetes:events", "window", "want either UID_FILE"},
		{"zookeeper:events", "", "not of the form kubernetes:"},
		{"", "window", ""},
	} {
		t.Setenv("UID_WORKERS", c.cluster)
		t.Setenv("UID_FILE", c.file)
		_, err := workers()
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestCluster runs two services with worker ids from a real API server of Kubernetes.
func TestCluster(t *testing.T) {
	server := dbtest.Kubernetes(t)
	config, err := server.WriteKubeconfig(server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("UID_FILE", "")
	t.Setenv("UID_WORKERS", "kubernetes:events?kubeconfig="+config)
	var ids []uid.ID
	for range 2 {
		workers, err := workers()
		if err != nil {
			t.Fatal(err)
		}
		url, stop := serve(t, workers, io.Discard)
		defer func() {
			if err := stop(); err != nil {
				t.Errorf("run() = %v, want no error", err)
			}
		}()
		ids = append(ids, post(t, url, "tea"))
	}
	layout, err := bitsalloc.New(bitsalloc.Layout{})
	if err != nil {
		t.Fatal(err)
	}
	_, first, _, _ := layout.Split(int64(ids[0]))
	if _, second, _, _ := layout.Split(int64(ids[1])); first == second {
		t.Errorf("two services made the ids %v with one worker id", ids)
	}
}
