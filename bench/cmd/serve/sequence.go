package main

import (
	"context"
	"os/exec"

	"github.com/uidring/uidring/internal/dbtest"
)

// sequences is the preparation for t_sequence with the default increment of 1. The first server
// fetches one block at a time, as the original does, so that each id costs a commit.
func sequences(ctx context.Context, uid string, env []string) ([]server, func(), error) {
	db, err := dbtest.NewMariaDB("--innodb-flush-log-at-trx-commit=1")
	if err != nil {
		return nil, nil, err
	}
	if _, err = db.TryQuery("", "CREATE DATABASE bench"); err != nil {
		db.Close()
		return nil, nil, err
	}
	env = append(env, "UID_DSN="+db.DSN("bench"))
	serve := func(name string, flags ...string) server {
		return server{name, []string{"/api/segment/get/order"}, func(address string) *exec.Cmd {
			args := []string{"serve", "--addr", address, "--only", "segment", "--source",
				"sequence", "--wait", "10s"}
			cmd := exec.CommandContext(ctx, uid, append(args, flags...)...)
			cmd.Env = env
			return cmd
		}}
	}
	for _, args := range [][]string{
		{"segment", "init"}, {"segment", "set", "order", "--source", "sequence", "--step", "1"},
	} {
		if err := command(ctx, env, uid, args...); err != nil {
			db.Close()
			return nil, nil, err
		}
	}
	return []server{
		serve("one block a fetch (--max-step 1)", "--max-step", "1"), serve("uid serve"),
	}, db.Close, nil
}
