// Package lincheck checks linearizability.
package lincheck
