package main

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// refuseWhileStarting answers every request with 503 until end is called, so that a client asks
// another server at once instead of waiting for the database of this one. Then l is free for the
// next server. end may be called twice.
func refuseWhileStarting(
	l net.Listener, encryption *tls.Config, logger *slog.Logger,
) (end func()) {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return func() {}
	}
	l = paused{tcp}
	if encryption != nil {
		l = tls.NewListener(l, encryption)
	}
	server := &http.Server{Handler: http.HandlerFunc(starting), ReadTimeout: requestTime,
		WriteTimeout: answerTime, MaxHeaderBytes: headerBytes,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn)}
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(l) }) // it ends by Close
	return sync.OnceFunc(func() {
		_ = server.Close() // an error of a connection, which is closed too
		running.Wait()
		_ = tcp.SetDeadline(time.Time{}) // or the next Accept says why not
	})
}

// paused is a listener whose Close ends Accept alone.
type paused struct{ *net.TCPListener }

func (p paused) Close() error { return p.SetDeadline(time.Unix(1, 0)) }

// starting answers a request before the database has answered.
func starting(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Connection", "close")
	h.Set("Content-Type", "application/json")
	h.Set("Retry-After", "1")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusServiceUnavailable)
	if r.URL.Path == "/health" {
		fmt.Fprint(w, `{"status":"down","tags":0,"problems":["starting"]}`)
		return
	}
	fmt.Fprint(w, `{"code":"unavailable","error":"the server is starting"}`)
}
