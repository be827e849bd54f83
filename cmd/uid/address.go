package main

import (
	"net"
	"net/netip"
	"strings"
)

// listenNetwork returns the network to listen on for addr. What is written as an IPv4 address means IPv4: left to itself the
// net package takes 0.0.0.0 for every address of both kinds.
func listenNetwork(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" || strings.Contains(port, "/") {
		return "", usagef("--addr is %q, want HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080, or :8080 for every address of this machine", addr)
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
		return "tcp4", nil
	}
	return "tcp", nil
}
