package assigner_test

import (
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
)

// Host, StatefulSet and Env cannot know of other claims on their worker id, so what the suite asks about those is left out.
func TestHostConformance(t *testing.T) {
	t.Parallel()
	assignertest.Run(t, assignertest.Factory{Unguarded: true, Authority: func(testing.TB) func() assigner.Assigner { return assigner.Host }})
}

func TestStatefulSetConformance(t *testing.T) {
	t.Parallel()
	assignertest.Run(t, assignertest.Factory{Unguarded: true, Authority: func(testing.TB) func() assigner.Assigner {
		return func() assigner.Assigner { return assigner.PodNamed("web-2") }
	}})
}

func TestEnvConformance(t *testing.T) {
	t.Setenv("UIDRING_TEST_WORKER", "3")
	assignertest.Run(t, assignertest.Factory{Unguarded: true, Authority: func(testing.TB) func() assigner.Assigner {
		return func() assigner.Assigner { return assigner.Env("UIDRING_TEST_WORKER") }
	}})
}
