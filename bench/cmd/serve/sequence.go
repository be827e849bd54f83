package main

import (
	"context"

	"github.com/uidring/uidring/bench/internal/server"
)

// sequences is the preparation for t_sequence with the default increment of 1. The first server
// fetches one block at a time, as the original does, so that each id costs a commit.
func sequences(ctx context.Context, uid string, env []string) ([]served, func(), error) {
	db, err := server.MariaDB()
	if err != nil {
		return nil, nil, err
	}
	env = append(env, "UID_DSN="+db.DSN("ids"))
	serve := func(name string, flags ...string) served {
		return served{name, []string{"/api/segment/get/order"}, env, append([]string{uid, "serve",
			"--addr", "ADDRESS", "--only", "segment", "--source", "sequence", "--wait", "10s"},
			flags...)}
	}
	for _, args := range [][]string{
		{"segment", "init"}, {"segment", "set", "order", "--source", "sequence", "--step", "1"},
	} {
		if err := server.Run(ctx, env, uid, args...); err != nil {
			db.Close()
			return nil, nil, err
		}
	}
	return []served{
		serve("one block a fetch (--max-step 1)", "--max-step", "1"), serve("uid serve"),
	}, db.Close, nil
}
