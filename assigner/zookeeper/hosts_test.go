package zookeeper

import "testing"

// TestHosts: the library pauses and fails waiting requests when retryStart is true: after each round
// without a connection, and never within one.
func TestHosts(t *testing.T) {
	t.Parallel()
	var h hosts
	h.Init([]string{"a", "b"})
	for i, want := range []struct {
		server string
		retry  bool
	}{{"a", false}, {"b", false}, {"a", true}, {"b", false}, {"a", true}, {"b", false}, {"a", false}, {"b", true}} {
		if i == 5 {
			h.Connected()
		}
		if server, retry := h.Next(); server != want.server || retry != want.retry {
			t.Errorf("Next no. %d = %s, %v, want %s, %v", i, server, retry, want.server, want.retry)
		}
	}
	if h.Len() != 2 {
		t.Errorf("Len = %d, want 2", h.Len())
	}
}
