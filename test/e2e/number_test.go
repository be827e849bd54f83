package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/number"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/segment/sqltable"
)

// counters are the sources that keep periods.
var counters = map[string]func(db *gorm.DB) segment.Source{
	"LeafAlloc": func(db *gorm.DB) segment.Source { return sqlsource.LeafAlloc(db, nil) },
	"Sequence":  func(db *gorm.DB) segment.Source { return sqlsource.Sequence(db, nil) },
}

// onCounters runs a test on each dialect and source, in a database with the tables.
func onCounters(t *testing.T, test func(t *testing.T, kind string, open func() segment.Periods, dsn string)) {
	onEach(t, func(t *testing.T, d dialect) {
		for kind, source := range counters {
			t.Run(kind, func(t *testing.T) {
				dsn := d.fresh(t)
				if err := sqlsource.Migrate(t.Context(), d.connect(t, dsn)); err != nil {
					t.Fatal(err)
				}
				test(t, kind, func() segment.Periods {
					src, ok := source(d.connect(t, dsn)).(segment.Periods)
					if !ok {
						t.Fatal("the source has no periods")
					}
					return src
				}, dsn)
			})
		}
	})
}

// TestPeriods: the conformance suite of segment.Periods.
func TestPeriods(t *testing.T) {
	onCounters(t, func(t *testing.T, _ string, open func() segment.Periods, _ string) {
		segmenttest.RunPeriods(t, func(testing.TB) segment.Periods { return open() })
	})
}

// TestPeriodsRefused: a cyclic sequence and ticket servers keep no periods, a counter cannot be
// deleted past its name, and two tables of counters do not share one.
func TestPeriodsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		db := d.connect(t, d.fresh(t))
		if err := sqlsource.Migrate(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		p := segment.Period{Name: "order", Format: "f", Number: 20261122, Tag: "order@20261122", Step: 10}
		cyclic, _ := sqlsource.Sequence(db, &sqltable.SequenceOptions{Cycle: true}).(segment.Periods)
		if err := cyclic.Begin(t.Context(), p); !errors.Is(err, segment.ErrOptions) {
			t.Errorf("Begin of a cyclic sequence = %v, want ErrOptions", err)
		}
		schema, _ := sqlsource.LeafAlloc(db, &sqltable.LeafAllocOptions{Table: "app.leaf_alloc"}).(segment.Periods)
		if err := schema.Begin(t.Context(), p); !errors.Is(err, segment.ErrOptions) ||
			!strings.Contains(err.Error(), "without a schema") {
			t.Errorf("Begin in a table of another schema = %v, want ErrOptions", err)
		}
		if _, ok := sqlsource.Ticket([]*gorm.DB{db}, nil).(segment.Periods); ok {
			t.Error("ticket servers have periods")
		}
		leaf, _ := counters["LeafAlloc"](db).(segment.Periods)
		sequence, _ := counters["Sequence"](db).(segment.Periods)
		if err := leaf.Begin(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if err := sequence.Begin(t.Context(), p); !errors.Is(err, segment.ErrFormat) {
			t.Errorf("Begin in another table = %v, want ErrFormat", err)
		}
		row, err := leaf.(segment.Finder).Find(t.Context(), p.Tag)
		if err != nil {
			t.Fatal(err)
		}
		deleter, _ := leaf.(segment.Deleter)
		if err := deleter.Delete(t.Context(), row); !errors.Is(err, segment.ErrOptions) {
			t.Errorf("Delete of a period = %v, want ErrOptions", err)
		}
		if err := leaf.(segment.Setter).Set(t.Context(), segment.Row{Tag: "plain@1", Step: 5}); err != nil {
			t.Fatal(err)
		}
		if err := deleter.Delete(t.Context(), segment.Row{Tag: "plain@1", Next: 1, Step: 5}); err != nil {
			t.Errorf("Delete of a tag with an @ = %v", err)
		}
		// A database of tags alone, which a Listed generator reads, may have tags with an @.
		execAll(t, db, "DROP TABLE number_name")
		if names, err := leaf.Names(t.Context()); names != nil || err != nil {
			t.Errorf("Names without their table = %v, %v, want none", names, err)
		}
	})
}

// numberEnvs make the test binary a process that takes numbers until it is killed.
const numberJobEnv = "UIDRING_E2E_NUMBER_JOB"

// numberJob is what such a process does. Its days last Day, and its clock is off by Skew days.
type numberJob struct {
	DSN, Kind, File, Zone string
	Start                 time.Time // when the days began
	Day                   time.Duration
	Skew                  float64
}

// numberFormat is that of the jobs: the property that a check character and a key stand in it is
// tested elsewhere.
const numberFormat = "{shop upper 2}-{20060102}-{n 7 day}-{check mod37,36}"

// run takes numbers and appends them to the file, one a line.
func (j numberJob) run() error {
	ctx := context.Background()
	db, err := openAny(j.DSN)
	if err != nil {
		return err
	}
	zone, err := time.LoadLocation(j.Zone)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(j.File, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	gen, err := segment.New(ctx, counters[j.Kind](db), nil)
	if err != nil {
		return err
	}
	n, err := number.New(ctx, gen, "order", numberFormat, &number.Options{Zone: zone, Clock: func() time.Time {
		days := float64(time.Since(j.Start))/float64(j.Day) + j.Skew
		return time.Date(2028, 2, 27, 0, 0, 0, 0, zone).Add(time.Duration(days * float64(24*time.Hour)))
	}})
	if err != nil {
		return err
	}
	texts := make([]string, 5)
	for {
		for _, shop := range []string{"BJ", "SH"} {
			if _, err := n.Fill(ctx, texts, shop); err != nil {
				return err
			}
			if _, err := f.WriteString(strings.Join(texts, "\n") + "\n"); err != nil {
				return err
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// numberWorker is the main function of such a process.
func numberWorker(text string) int {
	var j numberJob
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		err = j.run()
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// TestKilledNumbers: processes whose clocks differ by a third of a day take numbers of two shops over
// several days, the end of February of a leap year among them, and are killed and started again. Every
// text was handed out once. Each dialect has a zone of its own.
func TestKilledNumbers(t *testing.T) {
	t.Parallel()
	zones := map[string]string{"MariaDB": "Asia/Shanghai", "PostgreSQL": "America/New_York", "SQLite": "UTC"}
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dsn := d.fresh(t)
			if err := sqlsource.Migrate(t.Context(), d.connect(t, dsn)); err != nil {
				t.Fatal(err)
			}
			killNumbers(t, numberJob{DSN: dsn, Kind: "LeafAlloc", Zone: zones[d.name], Start: time.Now(),
				Day: 700 * time.Millisecond})
		})
	}
}

// killNumbers runs jobs, kills them one after the other, and checks what they wrote.
func killNumbers(t *testing.T, j numberJob) {
	dir := t.TempDir()
	var files []string
	begin := func(i int) (*exec.Cmd, *bytes.Buffer) {
		j.File = filepath.Join(dir, fmt.Sprint(len(files)))
		files = append(files, j.File)
		j.Skew = float64(i) / 3
		text, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		cmd, out := exec.Command(os.Args[0]), new(bytes.Buffer)
		cmd.Env = append(os.Environ(), numberJobEnv+"="+string(text))
		cmd.Stderr = out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, out
	}
	end := func(cmd *exec.Cmd, out *bytes.Buffer) {
		if err := cmd.Process.Kill(); err != nil {
			t.Errorf("kill: %v", err)
		}
		_ = cmd.Wait()
		if out.Len() > 0 {
			t.Errorf("a process says %s", out)
		}
	}
	running, outs := [3]*exec.Cmd{}, [3]*bytes.Buffer{}
	for i := range running {
		running[i], outs[i] = begin(i)
	}
	for i := range 9 {
		time.Sleep(350 * time.Millisecond)
		end(running[i%3], outs[i%3])
		running[i%3], outs[i%3] = begin(i % 3)
	}
	waitFor(t, "numbers of the last processes", func() bool {
		for _, name := range files[len(files)-3:] {
			if s, err := os.Stat(name); err != nil || s.Size() == 0 {
				return false
			}
		}
		return true
	})
	for i := range running {
		end(running[i], outs[i])
	}
	made, days := map[string]int{}, map[string]bool{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for _, line := range lines[:max(len(lines)-1, 0)] { // the kill may have cut the last one off
			if made[line]++; made[line] > 1 {
				t.Errorf("%s was handed out %d times", line, made[line])
			}
			days[strings.Split(line, "-")[1]] = true
		}
	}
	if len(made) < 300 || len(days) < 4 || !days["20280229"] {
		t.Errorf("%d numbers of the days %v, want 300 or more of four days and 29 February", len(made), days)
	}
}

// TestNumbersTogether: processes that use a name and its periods for the first time at once agree on
// its format, and begin each counter once.
func TestNumbersTogether(t *testing.T) {
	onCounters(t, func(t *testing.T, _ string, open func() segment.Periods, _ string) {
		var mu sync.Mutex
		var wg sync.WaitGroup
		made := map[string]int{}
		for range 6 {
			gen, err := segment.New(t.Context(), open(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer gen.Close()
			wg.Go(func() {
				n, err := number.New(t.Context(), gen, "order", numberFormat, nil)
				for i := 0; i < 30 && err == nil; i++ {
					var text string
					if text, err = n.Next(t.Context(), fmt.Sprintf("A%c", 'A'+i%10)); err == nil {
						mu.Lock()
						made[text]++
						mu.Unlock()
					}
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for text, times := range made {
			if times > 1 {
				t.Errorf("%s was handed out %d times", text, times)
			}
		}
		if len(made) != 180 {
			t.Errorf("%d numbers, want 180", len(made))
		}
	})
}
