// Package etcd assigns worker ids from etcd, version 3.4 or later, and fences every reservation.
//
// A worker id is a key that holds its owner, a fencing token and the end of the reserved window.
// Package lease has the form and the proof. Each change is one transaction that compares the key's
// ModRevision and value. No etcd lease, lock or session takes part: they end by the clock of a
// server, in the middle of what a paused owner does.
//
//	/uidring/header      the layout of all ids
//	/uidring/used-0      worker 0 was given out
//	/uidring/slot-0      worker 0
//
// etcd has no clock that clients can ask. The processes' clocks decide when a worker id that was
// not given back may be used again, and nothing else.
//
// A program that changes to this authority from another one repeats ids, unless lease.Move has
// moved them.
package etcd
