// Package lease assigns worker ids from any store that can compare and set: etcd, ZooKeeper and
// Kubernetes in assigner/etcd, assigner/zookeeper and assigner/kubernetes, or one that you bring. A
// Store has three methods, and the package does the rest: windows that are fenced, worker ids that
// are reused, layouts that succeed one another, answers that got lost, and stores that were
// restored from a backup.
//
// Every worker id that was ever assigned is a slot, an entry of the store. It holds a counter that
// fences (gen, the fencing token), a random text that names the last change (token), the owner and
// the end of the reserved window. Its first owner has made a note of the worker id before, which
// stays where a slot is deleted. A slot that Move has copied has none: the header lists its worker
// id. The header keeps the layout of all ids, and the random name of their universe, which tells a
// header that was made anew:
//
//	header    {"layout": "28-22-13-0/1s@2026-01-01T00:00:00Z", "universe": "...", ...}
//	used-0    {"token": "..."}
//	slot-0    {"gen": 7, "token": "...", "owner": "...", "until_ms": ..., "universe": "..."}
//
// # Why windows are disjoint
//
// Claiming, extending and releasing are each one compare-and-set of one slot, against the entry
// that was read before. So the changes to a slot form a chain, and of two processes that read the
// same entry one succeeds. A claim's window begins at the end that it found in the slot, or later.
// A claim only raises that end, and its owner alone may lower it, to what it has stamped: so no
// window begins before the last one ended. Clocks decide when a slot is free and nothing else: if
// all of them were wrong, worker ids would be reused too late or too early, and ids would still be
// unique.
//
// An owner that is paused, cut off or forgotten may stamp to its window's end and no further: its
// Extend finds another token and fails with assigner.ErrClaimLost.
//
// When an answer is lost, the entry may have changed or not. Every change writes a random token, so
// reading the entry decides: the token is one that this claim wrote, or the entry is as it was, or
// it has another owner.
//
// # What the store must ensure
//
// The store must not forget a change that it has answered. If it does, because a backup was
// restored, owners that run find out and fail with assigner.ErrWentBack. Processes that start
// cannot find out, so none may start until Restore has run.
package lease
