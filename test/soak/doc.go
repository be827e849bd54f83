// Soak runs generators in many processes, most of them on one MariaDB, PostgreSQL, SQLite, etcd,
// ZooKeeper or API server of Kubernetes. With MariaDB and PostgreSQL, one process has its worker id
// from the id service over HTTP. For a given time it injects faults into the processes, the network
// and the server. Every second one is one of these, on each authority: the store is restored from a
// backup and repaired as the documents say, an operator deletes the entry of a worker id, and an
// owner wakes up after others have had its worker id.
//
//	go run ./test/soak -duration 10m
//	go run ./test/soak -duration 10m -authority etcd
//	go run ./test/soak segments -duration 10m
//
// The third one is the soak of segments: see package segments. This page is about the other.
//
// The authorities group-replication, semisync, semisync-after-commit and standbys are three servers
// each, of which one can be written to: see group. Their faults end and stop servers, and another
// one takes over. Of group-replication-multi all three can be written to, and are. Processes with
// ids of segments and numbers run beside the generators. The time after a new primary is there is
// recorded by itself.
//
// It starts everything it needs, on loopback and in temporary folders. Its exit status is 0 if
//
//   - no id was repeated,
//   - every id lies in a window that its process was granted,
//   - no two windows of one worker id overlap,
//   - every generator came back after every fault without a restart, and
//   - no process ended by itself,
//
// else 1. The faults and their times come from -seed, which it prints. Two runs with one seed still
// differ, because scheduler and network do.
//
// Processes write their ids to pipes as they get them, and each window before the first id in it. A
// ledger keeps a bit for each id. Package ledger says how much memory that takes.
package main
