// Package uidtest has what tests of a program use instead of a generator and its clock.
//
//	gen := &uidtest.Generator{}        // ids 1, 2, 3: for tests that compare ids
//	gen.Fail(0, uid.ErrClaimExpired)   // and for what the program does without ids
//
//	clock := uidtest.NewClock()        // a real generator on a clock that the test sets
//	gen, err := uid.NewCached(ctx, assigner.Static(1), &uid.Options{Clock: clock.Read})
//
// Timers follow the machine's clock. In a testing/synctest bubble all of these follow the bubble's.
package uidtest
