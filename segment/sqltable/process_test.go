package sqltable_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
)

// The environment of a worker process: the DSN, the kind of source, and the file to which the worker
// appends its ranges and ids.
const (
	workerEnv     = "UIDRING_SEGMENT_WORKER"
	workerKindEnv = "UIDRING_SEGMENT_KIND"
	workerFileEnv = "UIDRING_SEGMENT_FILE"
)

// worker is the main function of a process that takes ids until it is killed. It writes each range to
// its file, and then each id. Ids are written in batches, so the last batch before the kill may be
// missing. That cannot hide an id that two processes wrote.
func worker() {
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func work() error {
	db, err := openDB(os.Getenv(workerEnv))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(os.Getenv(workerFileEnv), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	src := kinds[os.Getenv(workerKindEnv)](db)
	noted := segtest.Func(func(ctx context.Context, tag string, step int64) (segment.Range, error) {
		r, err := src.Fetch(ctx, tag, step)
		if err == nil {
			_, err = fmt.Fprintf(f, "range %d %d\n", r.From, r.To)
		}
		return r, err
	})
	ctx := context.Background()
	g, err := segment.New(ctx, noted, &segment.Options{MaxStep: 200})
	if err != nil {
		return err
	}
	ids := make([]int64, 7)
	for {
		if _, err := g.Fill(ctx, "a", ids); err != nil {
			return err
		}
		var b []byte
		for _, id := range ids {
			b = fmt.Appendf(b, "id %d\n", id)
		}
		if _, err := f.Write(b); err != nil {
			return err
		}
	}
}

// TestProcesses: many processes take ids of one tag from one server and are killed at random. No id is
// handed out twice, no two ranges overlap, and every id is in a range of the process that handed it
// out.
func TestProcesses(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) { testProcesses(t, kind) })
	}
}

func testProcesses(t *testing.T, kind string) {
	dsn, db := database(t)
	run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, 50)")
	run(t, db, "INSERT INTO t_sequence VALUES ('a', 0, 50)")
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	started := 0
	start := func() *exec.Cmd {
		started++
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), workerEnv+"="+dsn, workerKindEnv+"="+kind,
			workerFileEnv+"="+filepath.Join(dir, strconv.Itoa(started)))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	kill := func(cmd *exec.Cmd) {
		if err := cmd.Process.Kill(); err != nil {
			t.Errorf("kill: %v (the worker should not end by itself)", err)
		}
		_ = cmd.Wait() // says that the process was killed
	}
	const processes, kills = 6, 8
	var running []*exec.Cmd
	for range processes {
		running = append(running, start())
	}
	for range kills {
		time.Sleep(50*time.Millisecond + time.Duration(rng.IntN(100))*time.Millisecond)
		i := rng.IntN(processes)
		kill(running[i])
		running[i] = start()
	}
	time.Sleep(300 * time.Millisecond)
	for _, cmd := range running {
		kill(cmd)
	}

	var ids []int64
	var ranges []segment.Range
	for i := 1; i <= started; i++ {
		own, got := readWorker(t, filepath.Join(dir, strconv.Itoa(i)))
		ranges = append(ranges, own...)
		for _, id := range got {
			if !slices.ContainsFunc(own, func(r segment.Range) bool { return r.From <= id && id < r.To }) {
				t.Errorf("process %d handed out %d, which is in none of its ranges %v", i, id, own)
			}
		}
		ids = append(ids, got...)
	}
	t.Logf("%d processes, %d ranges, %d ids", started, len(ranges), len(ids))
	if len(ids) < 500 {
		t.Errorf("the workers handed out %d ids, want at least 500 for a meaningful test", len(ids))
	}
	segtest.Distinct(t, ids)
	slices.SortFunc(ranges, func(a, b segment.Range) int { return int(a.From - b.From) })
	for i := 1; i < len(ranges); i++ {
		if ranges[i].From < ranges[i-1].To {
			t.Errorf("the ranges %v and %v overlap", ranges[i-1], ranges[i])
		}
	}
}

// readWorker reads a worker's file. It ignores a last line that the kill cut off.
func readWorker(t *testing.T, name string) (ranges []segment.Range, ids []int64) {
	t.Helper()
	f, err := os.Open(name)
	if os.IsNotExist(err) {
		return nil, nil // killed before it began
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewReader(f)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return ranges, ids
		}
		var a, b int64
		if n, _ := fmt.Sscanf(line, "range %d %d", &a, &b); n == 2 {
			ranges = append(ranges, segment.Range{From: a, To: b})
		} else if n, _ := fmt.Sscanf(line, "id %d", &a); n == 1 {
			ids = append(ids, a)
		} else {
			t.Fatalf("%s has the line %q", name, line)
		}
	}
}
