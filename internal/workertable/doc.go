// Package workertable is what all users of WORKER_NODE and WORKER_LEASE share: the process as
// WORKER_NODE shows it, new rows of that table, and rows that cannot be read.
package workertable
