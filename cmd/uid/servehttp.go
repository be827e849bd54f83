package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// listenNetwork returns the network to listen on for addr. For an IPv4 address that is tcp4,
// because on tcp the net package treats 0.0.0.0 as every address of both kinds.
func listenNetwork(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" || strings.Contains(port, "/") {
		return "", usagef("--addr is %q, want HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080, "+
			"or :8080 for every address of this machine", addr)
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
		return "tcp4", nil
	}
	return "tcp", nil
}

// serve answers requests until ctx has ended and drain is over. From then on stopping bounds it.
func serve(
	ctx context.Context, l net.Listener, handler http.Handler, logger *slog.Logger,
	drain time.Duration, stopping func() (context.Context, context.CancelFunc),
) error {
	server := &http.Server{
		Handler: handler, ReadTimeout: requestTime, WriteTimeout: answerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: headerBytes, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(drain):
	}
	stop, _ := stopping() // whose caller cancels it
	grace, cancel := context.WithTimeout(stop, graceTime)
	defer cancel()
	err := server.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close() // ends the requests that are left
	}
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
