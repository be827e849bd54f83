package assignertest

import "testing"

// Failures runs the whole suite and returns the error of each check that fails, by its name.
func Failures(t *testing.T, f Factory) map[string]error {
	failed := map[string]error{}
	for _, c := range checks {
		if !f.applies(c) {
			continue
		}
		// A subtest of its own, so that its authority is cleaned up before the next one's.
		t.Run(c.name, func(t *testing.T) {
			if err := f.run(t, c); err != nil {
				failed[c.name] = err
			}
		})
	}
	return failed
}
