// Package workerstore is WORKER_LEASE as a store of package assigner/lease. Package
// assigner/sqlstore says what its rows are.
package workerstore
