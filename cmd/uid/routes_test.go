package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/segment"
)

// listOf writes a list of routes and returns its file.
func listOf(t *testing.T, lines ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "routes")
	if err := os.WriteFile(file, []byte("# tags\n\n"+strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestServeRoutes: tags are in the databases that a list names. One moves while two servers, of which one
// has the old list, hand out its ids: no call fails, and no id occurs twice.
func TestServeRoutes(t *testing.T) {
	t.Parallel()
	for name, start := range databases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.env["UID_DSN"] = start(t)[0]
			two := start(t)[0]
			if two == b.env["UID_DSN"] {
				t.Fatal("the databases are one")
			}
			old := listOf(t, "user "+two, "shop-* "+two)
			b.check(t, exitOK, "", "", "segment", "init")
			b.check(t, exitOK, "", "", "segment", "init", "--dsn", two)
			b.check(t, exitOK, "", "", "segment", "set", "order", "--step", "5")
			for _, tag := range []string{"user", "shop-1"} {
				b.check(t, exitOK, "", "", "segment", "set", tag, "--step", "5", "--next", "1000", "--dsn", two)
			}
			servers := []*served{
				b.serve(t, "--routes", old, "--only", "segment", "--max-step", "1", "--wait", "1m"),
				b.serve(t, "--routes", listOf(t, "user "+two, "shop-* "+two, "order "+two), "--only", "segment",
					"--max-step", "1", "--wait", "1m"),
			}
			for path, want := range map[string]string{"/user": "1000", "/shop-1": "1000"} {
				if got := servers[0].ok(t, "/api/segment/get"+path); got != want {
					t.Errorf("%s is %s, want %s", path, got, want)
				}
			}
			var (
				mu   sync.Mutex
				seen = map[int64]bool{}
				wg   sync.WaitGroup
				stop = make(chan struct{})
				most int64
			)
			take := func(s *served) error {
				resp, err := http.Get(s.base + "/api/segment/get/order")
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				var id int64
				if _, err := fmt.Fscan(resp.Body, &id); err != nil || resp.StatusCode != http.StatusOK {
					return fmt.Errorf("status %d: %w", resp.StatusCode, err)
				}
				mu.Lock()
				defer mu.Unlock()
				if seen[id] {
					return fmt.Errorf("id %d occurs twice", id)
				}
				seen[id], most = true, max(most, id)
				return nil
			}
			for i := range 4 {
				wg.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						if err := take(servers[i%2]); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			taken := func() int { mu.Lock(); defer mu.Unlock(); return len(seen) }
			wait := func(n int) {
				for goal := taken() + n; taken() < goal && !t.Failed(); {
					if err := take(servers[0]); err != nil {
						t.Error(err)
					}
				}
			}
			wait(50)
			b.check(t, exitOK, "a dry run: nothing is changed", "", "segment", "move", "order", "--to", two)
			move := []string{"segment", "move", "order", "--to", two, "--yes", "--timeout", "1m"}
			b.check(t, exitOK, "-- moved: the next id is ", "", move...)
			wait(50)
			b.check(t, exitOK, "-- moved: ", "", move...)
			wait(50)
			close(stop)
			wg.Wait()
			r := b.check(t, exitOK, "", "", "segment", "list", "--json")
			if !strings.Contains(r.stdout, strconv.FormatInt(math.MaxInt64, 10)) {
				t.Errorf("the old counter is not at its end: %s", r.stdout)
			}
			if got := servers[0].stderr(); !strings.Contains(got, "a tag is not in the database that --routes names") ||
				!strings.Contains(got, "(user, shop-*)") {
				t.Errorf("the server with the old list prints\n%s", got)
			}
		})
	}
}

// TestRoutesRefused: a list that cannot be is an error that names its line.
func TestRoutesRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.check(t, exitOK, "", "", "segment", "init")
	two := "sqlite:" + filepath.Join(t.TempDir(), "two.db")
	for line, want := range map[string]string{
		"order":                       "line 3: want TAG DSN",
		"a*b " + two:                  "line 3: want TAG DSN",
		"a@b " + two:                  "line 3: want TAG DSN",
		"a " + two + "\na " + two:     "line 4: want TAG DSN",
		"order mysql://u:hunter2@:x/": "line 3: ",
	} {
		r := b.check(t, exitUsage, "", want, "serve", "--only", "segment", "--addr", "127.0.0.1:0", "--routes",
			listOf(t, line))
		if strings.Contains(r.stderr, "hunter2") {
			t.Errorf("stderr shows a password: %s", r.stderr)
		}
	}
	b.check(t, exitUsage, "", "--routes wants --source leaf or sequence", "serve", "--only", "segment", "--addr",
		"127.0.0.1:0", "--source", "ticket", "--tag", "a", "--routes", listOf(t, "order "+two))
	b.check(t, exitUsage, "", "--only snowflake leaves them out", "serve", "--only", "snowflake", "--routes", "x")
	b.check(t, exitUsage, "", "has no tags to move", "segment", "move", "a", "--source", "ticket", "--to", two)
	b.check(t, exitUsage, "", "which the tag is in", "segment", "move", "a", "--dsn", two, "--to", two)
	b.check(t, exitFailure, "", "unknown tag", "segment", "move", "a", "--to", two)
}

// tags is a database of a list, in memory.
type tags struct {
	tagTable
	rows map[string]int64
	err  error
}

func (s *tags) Find(_ context.Context, tag string) (segment.Row, error) {
	next, ok := s.rows[tag]
	if s.err != nil || !ok {
		return segment.Row{}, errors.Join(s.err, map[bool]error{false: segment.ErrUnknownTag}[s.err != nil])
	}
	return segment.Row{Tag: tag, Next: next, Step: 10}, nil
}

func (s *tags) Fetch(ctx context.Context, tag string, _ int64) (segment.Range, error) {
	row, err := s.Find(ctx, tag)
	switch {
	case err != nil:
		return segment.Range{}, err
	case row.Next == 1<<63-1:
		return segment.Range{}, segment.ErrExhausted
	}
	s.rows[tag] += 10
	return segment.Range{From: row.Next, To: row.Next + 10}, nil
}

// TestRouted: a tag that two databases have is refused, one in another database than the list says is
// served from there, and a database that is away stops its own tags only.
func TestRouted(t *testing.T) {
	t.Parallel()
	const end = 1<<63 - 1
	one := &tags{rows: map[string]int64{"moved": end, "both": 1, "first": 1, "stays": 1}}
	two := &tags{rows: map[string]int64{"moved": 500, "both": 1, "second": 1}}
	r := &routed{logger: slog.New(slog.DiscardHandler), at: map[string]*route{}}
	r.all = []*route{
		{tagTable: one, place: "one"}, {tagTable: two, place: "two", tags: []string{"second", "stays", "s*", "both"}},
	}
	for tag, want := range map[string]int64{"moved": 500, "first": 1, "second": 1, "stays": 1} {
		if got, err := r.Fetch(t.Context(), tag, 0); err != nil || got.From != want {
			t.Errorf("%s: %v, %v, want from %d", tag, got, err, want)
		}
	}
	_, err := r.Fetch(t.Context(), "both", 0)
	if !errors.Is(err, segment.ErrBadRange) || !strings.Contains(err.Error(), "one and two") {
		t.Errorf("a tag of two databases: %v, want ErrBadRange", err)
	}
	if _, err := r.Fetch(t.Context(), "none", 0); !errors.Is(err, segment.ErrUnknownTag) {
		t.Errorf("a tag of none: %v, want ErrUnknownTag", err)
	}
	// It moves between two fetches.
	one.rows["first"], two.rows["first"] = end, 11
	if got, err := r.Fetch(t.Context(), "first", 0); err != nil || got.From != 11 {
		t.Errorf("a tag that has moved: %v, %v, want from 11", got, err)
	}
	one.rows["moving"] = end
	if _, err := r.Fetch(t.Context(), "moving", 0); err == nil || errors.Is(err, segment.ErrExhausted) ||
		errors.Is(err, segment.ErrUnknownTag) {
		t.Errorf("a tag on its way: %v, want an error that passes", err)
	}
	away := errors.New("connection refused")
	two.err = away
	if _, err := r.Fetch(t.Context(), "second", 0); !errors.Is(err, away) {
		t.Errorf("a tag of a database that is away: %v", err)
	}
	one.rows["new"] = 1
	for want := range 2 {
		if got, err := r.Fetch(t.Context(), "new", 0); err != nil || got.From != int64(1+10*want) {
			t.Errorf("a tag of the other database: %v, %v", got, err)
		}
	}
	one.err, two.err = away, nil
	for _, tag := range []string{"fresh", "s@20261123"} {
		two.rows[tag] = 500
		if got, err := r.Fetch(t.Context(), tag, 0); err == nil {
			t.Errorf("while the first is away, %q of its own is fetched from another: %v", tag, got)
		}
	}
	for tag, want := range map[string]string{"order": "one", "s": "two", "stays": "two", "sx": "two", "": "one"} {
		if got := r.home(tag).place; got != want {
			t.Errorf("%q is in %q, want %q", tag, got, want)
		}
	}
}

// hung is a database that accepts connections and never answers.
type hung struct{ tagTable }

func (hung) Find(ctx context.Context, _ string) (segment.Row, error) {
	<-ctx.Done()
	return segment.Row{}, ctx.Err()
}

// TestRoutedSilent: a database of the list that keeps silent, perhaps since before the start, stops its own
// tags only, and costs those of another a second now and then.
func TestRoutedSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &routed{logger: slog.New(slog.DiscardHandler), at: map[string]*route{}}
		one := &tags{rows: map[string]int64{"order": 1}}
		r.all = []*route{{tagTable: one, place: "one"}, {tagTable: hung{}, place: "two", tags: []string{"user"}}}
		fetch := func(tag string) (time.Duration, error) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			begin := time.Now()
			_, err := r.Fetch(ctx, tag, 0)
			return time.Since(begin), errors.Join(err, ctx.Err())
		}
		for i, want := range []time.Duration{lookTime, 0, 0} {
			if took, err := fetch("order"); err != nil || took != want {
				t.Errorf("fetch %d: %v after %v, want none after %v", i, err, took, want)
			}
		}
		if _, err := fetch("user"); err == nil {
			t.Error("a tag of a silent database: want an error")
		}
		time.Sleep(quietTime)
		if took, err := fetch("order"); err != nil || took != lookTime {
			t.Errorf("later: %v after %v, want the database asked again", err, took)
		}
	})
}
