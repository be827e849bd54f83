package main

import (
	"crypto/tls"
	"fmt"
)

// encryption returns the TLS configuration that the flags name, nil for none.
func (c *serveCmd) encryption() (*tls.Config, error) {
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return nil, usagef("--tls-cert and --tls-key go together, want both or none")
	}
	if c.TLSCert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"},
		MinVersion: tls.VersionTLS12}, nil
}
