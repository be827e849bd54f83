// Package workerlist is what an operator's command does with WORKER_NODE and WORKER_LEASE: it lists
// their rows, frees worker ids, and makes the tables fit for claims after a restore.
package workerlist
