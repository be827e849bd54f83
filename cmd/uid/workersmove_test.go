package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
)

// TestMovePage follows the runbook of docs/workers.md: what it shows of each command is what it prints.
func TestMovePage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/workers.md")
	if err != nil {
		t.Fatal(err)
	}
	db, etc := dbtest.MariaDB(t), dbtest.Etcd(t)
	created := db.CreateDB(t)
	name := db.DSN(created)
	s, pool := opened(t, name)
	if err := workernode.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	b.env["UID_DSN"] = name
	for range 3 { // whose worker ids are given back, and in use until a moment ago
		b.check(t, exitOK, "", "", "gen", "--namespace", "orders")
	}
	here := strings.NewReplacer("mysql://me:secret@db/ids", name, "etcd:2379", etc.Addr())
	there := strings.NewReplacer(strings.TrimPrefix(s.Place, "mysql at "), "db:3306/ids",
		`"`+created+`"`, `"ids"`, etc.Addr(), "etcd:2379")
	commands := 0
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		block := strings.ReplaceAll("\n"+block[1], "\n   ", "\n")
		for _, part := range strings.Split(block, "\n$ ")[1:] {
			commands++
			command, want, _ := strings.Cut(part, "\n")
			r := b.run(t.Context(), strings.Fields(here.Replace(command))[1:]...)
			got := there.Replace(r.stdout + r.stderr)
			if strings.Contains(got, dbtest.Password) {
				t.Errorf("$ %s\n%s\nshows the password", command, got)
			}
			same(t, typed{command, strings.TrimSuffix(want, "\n")}, strings.TrimSuffix(got, "\n"), true)
		}
	}
	if commands != 4 {
		t.Errorf("the page has %d commands, want 4", commands)
	}
}

// TestMoveFlags: what the command refuses.
func TestMoveFlags(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	file := filepath.Join(t.TempDir(), "ids.db")
	b.check(t, exitOK, "", "", "gen", "--dsn", file)
	other := filepath.Join(t.TempDir(), "other.db")
	b.check(t, exitOK, "", "", "gen", "--dsn", other, "--namespace", "x")
	for _, tt := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, "want two authorities", []string{"--from", "a.db"}},
		{exitUsage, "--dsn is for the other actions", []string{"--dsn", "a", "--from", "a.db", "--to", "b.db"}},
		{exitUsage, "--to is no database",
			[]string{"--from", file, "--to", "etcd://localhost/x", "--to-namespace", "x"}},
		{exitUsage, "--from: not the name of a database", []string{"--from", "x", "--to", file}},
		{exitFailure, "without an end; take a namespace of its own", []string{"--from", file, "--to", other}},
		{exitFailure, "has no entry: is the address right?",
			[]string{"--from", file, "--namespace", "x", "--to", file, "--to-namespace", "y"}},
		{exitFailure, "is the source as well",
			[]string{"--from", other, "--to", "sqlite:" + other, "--namespace", "x"}},
	} {
		b.check(t, tt.code, "", tt.want, append([]string{"workers", "move"}, tt.args...)...)
	}
	b.check(t, exitUsage, "", "are for move", "workers", "--from", file)
	args := []string{"workers", "move", "--from", file, "--to", file, "--to-namespace", "orders", "--json"}
	r := b.check(t, exitOK, `"copied":0,"used":2,"left":4194302`, "", append(args, "--dry-run")...)
	if !strings.Contains(r.stdout, `"dry_run":true`) {
		t.Errorf("the dry run printed %s", r.stdout)
	}
	// Addresses with passwords are not for the arguments, which others see.
	b.env["UID_DSN"] = file + " " + file
	b.check(t, exitOK, `"dry_run":false`, "", "workers", "move", "--to-namespace", "orders", "--json")
	b.check(t, exitFailure, "", "were moved to another authority", "gen", "--dsn", file)
	b.check(t, exitOK, `WORKER_NODE gives out none any more: the namespace "default" was moved`, "", "doctor", "--dsn",
		file)
	b.check(t, exitOK, "", "", "gen", "--dsn", file, "--namespace", "orders")
	b.check(t, exitOK, "uid workers move", "", "workers", "restored", "--dsn", file, "--highest", "9", "--reach", "1h",
		"--layout", "default")
	b.check(t, exitFailure, "", "were moved to another authority", "gen", "--dsn", file)
}
