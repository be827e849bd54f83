// Package zookeeper assigns worker ids from ZooKeeper and fences every reservation.
//
// A worker id is a node that holds its owner, a fencing token and the end of the reserved window.
// Package lease has the form and the proof. Each change is one write that succeeds only on the
// version that was read. No session, ephemeral node or lock takes part: they end by the clock of a
// server, in the middle of what a paused owner does.
//
//	/uidring             Options.Namespace
//	/uidring/header      the layout of all ids
//	/uidring/used-0      worker 0 was given out
//	/uidring/slot-0      worker 0
//	/uidring/clock       is written to learn ZooKeeper's time
//
// ZooKeeper's clock decides when a worker id that was not given back may be used again, and nothing
// else.
//
// A program that changes to this authority from another one repeats ids, unless lease.Move has
// moved them.
package zookeeper
