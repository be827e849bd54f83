package server_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bench/internal/server"
)

// TestMain serves until it is killed where TestServer starts it with an address.
func TestMain(m *testing.M) {
	address, ok := strings.CutPrefix(os.Args[len(os.Args)-1], "serve=")
	if !ok {
		os.Exit(m.Run())
	}
	web := &http.Server{Addr: address, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.Error(w, "no such page", http.StatusNotFound)
		}
	})}
	panic(web.ListenAndServe())
}

// A server that was killed comes back as another process, on the same address, until it is closed.
func TestServer(t *testing.T) {
	t.Parallel()
	s, err := server.Start(t.Context(), os.Environ(), os.Args[0], "serve=ADDRESS")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Await(t.Context(), "/"); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Get(t.Context(), "http://"+s.Address+"/other"); err == nil ||
		!strings.Contains(err.Error(), "no such page") {
		t.Errorf("an answer with status 404: %v", err)
	}
	first := s.PID()
	s.Kill()
	for begin := time.Now(); s.PID() == first && time.Since(begin) < 30*time.Second; {
		time.Sleep(10 * time.Millisecond)
	}
	if err := s.Await(t.Context(), "/"); err != nil || s.PID() == first {
		t.Errorf("after a kill: process %d after %d, %v", s.PID(), first, err)
	}
	s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // it would be back after one
	defer cancel()
	if err := s.Await(ctx, "/"); err == nil {
		t.Error("a closed server answers")
	}
}
