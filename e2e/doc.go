// Package e2e tests the library on real database servers.
package e2e
