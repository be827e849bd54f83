// Package zookeeper assigns worker ids from ZooKeeper, the way Leaf does it, and fences every
// reservation.
//
// Every worker id is a slot, a persistent sequential node whose number, from Options.First on, is
// the worker id, and whose data holds the owner, the layout and the end of the reserved window:
//
//	/uidring                         Options.Root
//	/uidring/layout                  the bit layout that all slots are for
//	/uidring/slots/w-0000000000      worker 0: JSON, see record
//	/uidring/slots/w-0000000001      worker 1
//	/uidring/peers                   whose data is written to ask instances for their clocks
//	/uidring/peers/<token>           ephemeral: the clock of an instance that is alive
//
// The version that ZooKeeper counts per node is the fencing token. Claiming, extending and
// releasing are each one write that succeeds only on the version that was read, and a new owner's
// window begins at or after the stored end of the old one. That makes the windows of one worker id
// disjoint; no clock, no session and no lock takes part. A session that expires or a partition
// costs a claim its extension, never its exclusiveness.
//
// Clocks decide when a slot may be used again, and whether a start is refused because the clock
// cannot be right.
package zookeeper
