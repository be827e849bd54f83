// Package lincheck records what concurrent callers of the library's types see, and checks with
// porcupine that the histories are linearizable: that each call could have happened at one instant
// between its beginning and its end, in an order in which a simple sequential model gives the same
// results. It holds tests only, in the module of tests, so that users of the library do not inherit
// porcupine.
package lincheck
