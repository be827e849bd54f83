package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/uid"
)

// TestRestart: a service that starts again with its file goes on above the ids of the run before, and
// each event is written with the id that its client got. Env stands in for the number of a pod.
func TestRestart(t *testing.T) {
	t.Setenv("WORKER", "7")
	t.Setenv("UID_FILE", "")
	if err := listen(t.Context()); err == nil || !strings.Contains(err.Error(), "UID_FILE is empty") {
		t.Errorf("listen() without UID_FILE = %v", err)
	}
	file := filepath.Join(t.TempDir(), "window")
	var last uid.ID
	for range 2 {
		workers := assigner.Env("WORKER", &assigner.LocalOptions{File: file})
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var log bytes.Buffer
		ended := make(chan error, 1)
		go func() { ended <- run(ctx, workers, l, slog.New(slog.NewJSONHandler(&log, nil))) }()
		var id uid.ID
		res, err := http.Post("http://"+l.Addr().String()+"/events", "text/plain", strings.NewReader("tea"))
		if err == nil {
			err = json.NewDecoder(res.Body).Decode(&id)
			res.Body.Close()
		}
		if err != nil || id <= last {
			t.Errorf("the event has id %v, %v, want one above %v", id, err, last)
		}
		last = id
		stop()
		if err := <-ended; err != nil {
			t.Errorf("run() = %v, want no error", err)
		}
		if line := log.String(); !strings.Contains(line, `"id":"`+id.String()+`","text":"tea"`) {
			t.Errorf("the line is %s, want id %v and the text", line, id)
		}
	}
}
