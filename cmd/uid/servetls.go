package main

import (
	"crypto/tls"
	"fmt"
	"sync/atomic"
)

// encryption returns the TLS configuration that the flags name, nil for none, and a function that
// reads the files again. After an error the certificate is that of before.
func (c *serveCmd) encryption() (_ *tls.Config, reload func() error, err error) {
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return nil, nil, usagef("--tls-cert and --tls-key go together, want both or none")
	}
	if c.TLSCert == "" {
		return nil, func() error { return nil }, nil
	}
	var current atomic.Pointer[tls.Certificate]
	reload = func() error {
		pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
		if err != nil {
			return fmt.Errorf("--tls-cert and --tls-key: %w", err)
		}
		current.Store(&pair)
		return nil
	}
	get := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return current.Load(), nil }
	return &tls.Config{GetCertificate: get, NextProtos: []string{"http/1.1"},
		MinVersion: tls.VersionTLS12}, reload, reload()
}
