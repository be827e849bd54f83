package zookeeper_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/zookeeper"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	// The suite releases windows that were used minutes beyond the clock, which MaxAhead would refuse.
	for _, names := range []string{"own names", "one name"} {
		t.Run(names, func(t *testing.T) {
			assignertest.Run(t, assignertest.Factory{
				MaxWorker: maxWorker,
				// Slots are free by the clocks of the processes that take them.
				Clock: func(tb testing.TB) (func() assigner.Assigner, func(time.Duration)) {
					clock := &wallClock{}
					var n atomic.Int64
					return func() assigner.Assigner {
						o := zookeeper.Options{Instance: "process", MaxAhead: 240 * time.Hour,
							MaxSkew: zookeeper.AnySkew}
						if names == "own names" {
							o.Instance = fmt.Sprint("process-", n.Add(1))
						}
						a := open(tb, s.addr, o)
						a.SetClock(clock.now)
						return a
					}, clock.step
				},
				// Ranges of one ensemble take a root each.
				Ranges: func(tb testing.TB) func(first, last int64) assigner.Assigner {
					return func(first, last int64) assigner.Assigner {
						o := zookeeper.Options{Root: fmt.Sprint(root(tb), "/", first), First: first, Last: last}
						a, err := zookeeper.New([]string{s.addr}, &o)
						if err != nil {
							return assignertest.Refused(err)
						}
						tb.Cleanup(func() { a.Close() })
						return a
					}
				},
				Authority: func(tb testing.TB) func() assigner.Assigner {
					var n atomic.Int64
					return func() assigner.Assigner {
						o := zookeeper.Options{Instance: "process", MaxAhead: 24 * time.Hour}
						if names == "own names" {
							o.Instance = fmt.Sprint("process-", n.Add(1))
						}
						return open(tb, s.addr, o)
					}
				},
			})
		})
	}
}
