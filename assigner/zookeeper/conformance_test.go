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
