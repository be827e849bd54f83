package main

import (
	"strings"
	"testing"
)

// TestBlank: a flag that is given an empty value is refused, because its default is not what was meant.
func TestBlank(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct{ args, want string }{
		{"gen --dsn=", "--dsn is empty"},
		{"gen --namespace=", "--namespace is empty"},
		{"gen --layout=", "--layout is empty"},
		{"gen --epoch=", "--epoch is empty"},
		{"gen --tick=0", "--tick is 0s, want above 0"},
		{"gen --timeout=0", "--timeout is 0s, want above 0"},
		{"plan --tick=0s", "--tick is 0s, want above 0"},
		{"gen --tick=-1ns", "--tick is -1ns, want above 0"},
		{"plan --burst=-1s", "--burst is -1s, want above 0"},
		{"serve --wait=0s", "--wait is 0s, want above 0"},
		{"serve --drain=-1s", "--drain is -1s, want 0 or more"},
		{"workers reap --namespace=", "--namespace is empty"},
		{"segment set order --step=1 --dsn=", "--dsn is empty"},
		{"serve --addr=", "--addr is empty"},
		{"serve --addr=127.0.0.1:0 --epoch=", "--epoch is empty"},
	} {
		if r := b.check(t, exitUsage, "", c.want, strings.Fields(c.args)...); r.stdout != "" {
			t.Errorf("uid %s prints %q", c.args, r.stdout)
		}
	}
	b.env["UID_DSN"] = "" // as if it were not set
	b.check(t, exitOK, "", "", "gen")
}
