package tickets

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
)

// configured is a server that starts with the settings of a file, as with a configuration file.
type configured struct {
	*dbtest.Server
	file, name string
	db         *gorm.DB
}

// configure writes the file. After a restart the counter begins at the highest row, as that of old
// InnoDB does.
func (c *configured) configure(t *testing.T, increment, offset int) {
	t.Helper()
	text := fmt.Sprintf("CREATE USER IF NOT EXISTS %[1]s@'%%' IDENTIFIED BY '%[2]s';\n"+
		"GRANT ALL ON *.* TO %[1]s@'%%' WITH GRANT OPTION;\n", dbtest.User, dbtest.Password)
	text += fmt.Sprintf("SET GLOBAL auto_increment_increment = %d;\nSET GLOBAL auto_increment_offset = %d;\n",
		increment, offset)
	if c.name != "" {
		text += fmt.Sprintf("ALTER TABLE %s.ticket AUTO_INCREMENT = 1;\n", c.name)
	}
	if err := os.WriteFile(c.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// restart crashes the server and starts it again.
func (c *configured) restart(t *testing.T) {
	t.Helper()
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
}

// oldStep returns the step of a server before the expansion. The new server has the new settings from
// the start.
func oldStep(i int) int { return max(2, i+1) }

// oldSettings returns the settings that a server comes back with if not with the new ones: its own
// before the expansion, or, on the new server, those of a server without a configuration.
func oldSettings(i int) (increment, offset int) {
	if i == 2 {
		return 1, 1
	}
	return oldStep(i), i + 1
}

// startConfigured starts two old servers and a new one. It returns them and their pools.
func startConfigured(t *testing.T) (servers [3]*configured, all []*gorm.DB) {
	t.Helper()
	for i := range servers {
		c := &configured{file: filepath.Join(t.TempDir(), "init.sql")}
		servers[i] = c
		c.configure(t, oldStep(i), i+1)
		c.Server = dbtest.MariaDB(t, "--init-file="+c.file)
		c.name = c.CreateDB(t)
		c.db = open(t, c.DSN(c.name))
		if err := sqlsource.Migrate(t.Context(), c.db, "ticket"); err != nil {
			t.Fatal(err)
		}
		c.configure(t, oldStep(i), i+1)
		all = append(all, c.db)
	}
	return servers, all
}

// ticketFleet is a set of programs that take tickets and record them.
type ticketFleet struct {
	wg   sync.WaitGroup
	stop chan struct{}
	mu   sync.Mutex
	ids  map[string][]int64 // by kind of program
}

// load starts a program that takes tickets until stop is closed. It calls src for each ticket. A new
// Ticket asks every server, and one that is used again asks the servers that failed last.
func (f *ticketFleet) load(t *testing.T, kind string, src func() segment.Source) {
	f.wg.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-f.stop:
				return
			default:
			}
			s := src()
			if checker, ok := s.(segment.Checker); ok && checker.Check(t.Context()) != nil {
				time.Sleep(5 * time.Millisecond) // a Generator would not start
				continue
			}
			r, err := s.Fetch(t.Context(), fmt.Sprint(kind, n%3), 5)
			if err != nil {
				time.Sleep(5 * time.Millisecond)
				continue
			}
			f.mu.Lock()
			for id := r.From; id < r.To; id += r.Stride {
				f.ids[kind] = append(f.ids[kind], id)
			}
			f.mu.Unlock()
		}
	})
}

// ticketStep is the place of a statement in the plans of a set of servers.
type ticketStep struct {
	server int
	phase  string
	index  int
}

// ticketSteps returns the statements of the plans in the order in which an expansion runs them.
func ticketSteps(plans []Work) (steps []ticketStep) {
	for _, phase := range []string{"announce", "change"} {
		for i, p := range slices.Backward(plans) {
			n := len(p.Announce)
			if phase == "change" {
				n = len(p.Change)
			}
			for index := range n {
				steps = append(steps, ticketStep{i, phase, index})
			}
		}
	}
	return steps
}

// TestTicketExpansionRestarts: a third server joins two, while programs with the old list and with the
// new one take tickets. After every statement its server crashes in one of the rounds. The server's counter
// begins at the highest row when it comes back, and the expansion is called again and continues. No id
// is given twice, and in the end both kinds of programs get ids.
//
// When a server has its plan, the rest of the list that announces it is not run again. So there are
// three rounds, one for each statement of that list from the plan's row on. In the first round servers
// come back with their old settings, and the new server with none, so the list that changes a server is
// run until each of its statements was the last before a crash. In the second round they come back with
// the new settings, and in the third with the old and the new ones in turn.
func TestTicketExpansionRestarts(t *testing.T) {
	if testing.Short() {
		t.Skip("restarts servers some eighty times")
	}
	t.Parallel()
	var mu sync.Mutex
	var all []ticketStep
	crashed := map[ticketStep]bool{}
	t.Run("Rounds", func(t *testing.T) {
		for round, back := range []func(n int) (renewed bool){
			func(int) bool { return false },
			func(int) bool { return true },
			func(n int) bool { return n%2 == 0 },
		} {
			t.Run(fmt.Sprint(round), func(t *testing.T) {
				t.Parallel()
				steps, now := expandAndCrash(t, back, func(s ticketStep) bool {
					const row = 3 // index of the statement that writes the plan's row
					return s.phase == "change" || s.index < row || s.index == row+round
				})
				mu.Lock()
				defer mu.Unlock()
				all = steps
				maps.Copy(crashed, now)
			})
		}
	})
	for _, s := range all {
		if !crashed[s] {
			t.Errorf("no crash followed the statement %+v", s)
		}
	}
	t.Logf("%d statements, and a crash followed %d", len(all), len(crashed))
	if want := 3 * (6 + 7); len(all) != want || len(crashed) != want {
		t.Errorf("%d statements, and a crash followed %d, want %d of both", len(all), len(crashed), want)
	}
}

// expandAndCrash expands a set under load. A server crashes the first time that one of the wanted
// statements has been run, and comes back with the new settings if back(number of crashes) says so. It
// returns all statements and those that a crash followed.
func expandAndCrash(
	t *testing.T, back func(int) bool, wanted func(ticketStep) bool,
) (steps []ticketStep, crashed map[ticketStep]bool) {
	servers, all := startConfigured(t)
	f := &ticketFleet{stop: make(chan struct{}), ids: map[string][]int64{}}
	oldList, newList := sqlsource.Ticket(all[:2], nil), sqlsource.Ticket(all, nil)
	segtest.Fetch(t, oldList, "a", 10)
	f.load(t, "old", func() segment.Source { return oldList })
	f.load(t, "old", func() segment.Source { return sqlsource.Ticket(all[:2], nil) })
	f.load(t, "new", func() segment.Source { return newList })
	f.load(t, "new", func() segment.Source { return sqlsource.Ticket(all, nil) })

	crash := errors.New("the server crashed")
	crashed = map[ticketStep]bool{}
	var start int64
	for calls := 0; ; calls++ {
		plans, err := set(t, all).Plan(t.Context())
		left := ticketSteps(plans)
		if steps == nil {
			steps = left
		}
		if err == nil {
			plans, err = set(t, all).expand(t.Context(), func(i int, q string) error {
				if len(left) == 0 || left[0].server != i {
					t.Fatalf("server %d ran %q, want the statements %+v", i, q, left)
				}
				at := left[0]
				if left = left[1:]; crashed[at] || !wanted(at) {
					return nil
				}
				crashed[at] = true
				time.Sleep(10 * time.Millisecond) // under load
				if step, offset := oldSettings(i); back(len(crashed)) {
					servers[i].configure(t, 3, i+1)
				} else {
					servers[i].configure(t, step, offset)
				}
				servers[i].restart(t)
				time.Sleep(50 * time.Millisecond)
				return crash
			})
		}
		if err == nil {
			start = plans[0].Plan.Start
			break
		}
		if !errors.Is(err, crash) {
			time.Sleep(10 * time.Millisecond) // a session that the crash ended
		}
		if calls > 200 {
			t.Fatalf("the expansion does not end: %v", err)
		}
	}
	for i := range 2 { // in the end restart with the old settings, and then with the new ones
		servers[0].configure(t, 2+i, 1)
		servers[0].restart(t)
		time.Sleep(200 * time.Millisecond)
	}
	time.Sleep(500 * time.Millisecond)
	close(f.stop)
	f.wg.Wait()
	for kind, list := range map[string][]*gorm.DB{"old": all[:2], "new": all} {
		src := sqlsource.Ticket(list, nil)
		for range 6 {
			r := segtest.Fetch(t, src, "a", 1)
			if f.ids[kind] = append(f.ids[kind], r.From); r.From < start || r.Stride != 3 {
				t.Errorf("after the expansion the %s list gets %v, want it from %d on by 3", kind, r, start)
			}
		}
	}
	t.Logf("%d crashes, %d ids of the old list, %d of the new one",
		len(crashed)+2, len(f.ids["old"]), len(f.ids["new"]))
	for kind, ids := range f.ids {
		if len(ids) < 1000 {
			t.Errorf("%d ids of the %s list, want at least 1,000 for a meaningful test", len(ids), kind)
		}
	}
	segtest.Distinct(t, append(f.ids["old"], f.ids["new"]...))
	return steps, crashed
}
