package uid_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/internal/winlog"
	"github.com/uidring/uidring/uid"
)

var (
	simSeed = flag.Uint64("sim.seed", 0,
		"run one seed of the simulation, on one processor, and print what happens")
	simSeeds = flag.Uint64("sim.seeds", 0,
		"how many seeds TestSimulation runs; 0: as many as fit a test")
	simFrom  = flag.Uint64("sim.from", 1, "the first seed of TestSimulation")
	simWatch = flag.Bool("sim.watch", false,
		"end when the standard input does: the process that started this one holds its other end")
)

// TestSimulation runs fleets of generators on one authority, in virtual time, through faults that a
// seed chooses: requests and answers that are delayed or lost, an authority that is restarted,
// clocks
// that step, processes that are killed or stand still. Every id is recorded.
func TestSimulation(t *testing.T) {
	t.Parallel()
	if *simWatch {
		go func() { // TestSimulationRepeats was killed
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(1)
		}()
	}
	if *simSeed != 0 {
		// Several processors run what happens at one instant in any order.
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		w := simulate(t, *simSeed, "", t.Logf)
		t.Logf("%d generators, %d ids, trace %016x", len(w.processes), len(w.ids), w.trace)
		for _, problem := range w.problems {
			t.Error(problem)
		}
		return
	}
	seeds := *simSeeds
	if seeds == 0 {
		seeds = 400 / scale
		if testing.Short() {
			seeds /= 10
		}
	}
	var mu sync.Mutex
	var ids, generators, lives, calls int
	t.Cleanup(func() {
		t.Logf("%d seeds: %d generators, %d starts, %d calls of the authority, %d ids", seeds,
			generators, lives, calls, ids)
		if uint64(ids) < 1000*seeds {
			t.Error("want more ids")
		}
	})
	for seed := *simFrom; seed < *simFrom+seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := simulate(t, seed, "", nil)
			t.Logf("%d generators, %d ids, trace %016x", len(w.processes), len(w.ids), w.trace)
			for _, problem := range w.problems {
				t.Error(problem)
			}
			mu.Lock()
			defer mu.Unlock()
			ids, generators, lives, calls = ids+len(w.ids), generators+len(w.processes), lives+w.lives,
				calls+w.calls
		})
	}
}

// TestSimulationRepeats runs a seed in processes of their own until ten runs are the same, down to
// the order in which ids are returned, thirty times at most: of runs that leave anything to chance no
// two are the same. One differs if the machine interrupts a goroutine for long, which a busy one does
// to a third of them. Other seeds have processes with several lanes, and which lane a caller gets depends on where
// its stack lies, or a padder that has stood at a reading of its clock and finds that its timer and a
// kick are both there: select takes any.
func TestSimulationRepeats(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: tests the simulation, not ids")
	}
	const runs, same = 30, 10
	seeds := []int{17, 1, 2, 7, 8}
	if scale > 1 { // the first repeats under the race detector, too
		seeds = seeds[:1]
	}
	for _, seed := range seeds {
		seen, most := map[string]int{}, 0
		for n := 0; n < runs && most < same; n++ {
			cmd, held, err := simulationRun(t.Context(), "-test.run=^TestSimulation$", fmt.Sprint("-sim.seed=", seed))
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.Output()
			held.Close()
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, out)
			}
			trace := traceLine.FindString(string(out))
			seen[trace]++
			most = max(most, seen[trace])
		}
		if most < same {
			t.Errorf("seed %d: want %d of %d runs to be the same, got %v", seed, same, runs, seen)
		}
	}
}

// simulationRun returns a run of this program that ends when this process does, however that ends: the
// kernel then closes held, the other end of the run's standard input.
func simulationRun(ctx context.Context, args ...string) (cmd *exec.Cmd, held io.Closer, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd = exec.CommandContext(ctx, self, append([]string{"-test.v", "-sim.watch"}, args...)...)
	held, err = cmd.StdinPipe()
	return cmd, held, err
}

var traceLine = regexp.MustCompile(`\d+ generators, .*`)

// flaws are faults of an authority, or of a generator as its authority sees it, that the simulation
// has to find.
var flaws = map[string]struct {
	what      string
	duplicate bool   // by an id that is repeated, too
	seed      uint64 // that is known to find it
}{
	"two owners":     {"two processes are assigned one worker id at a time", true, 2},
	"early window":   {"a window begins before the end of the one before it", true, 10},
	"forgets":        {"Extend reports success and stores nothing", true, 2},
	"no fence":       {"Extend succeeds although another process has the worker id", true, 9},
	"ignores end":    {"a generator stamps beyond its window's end", false, 2},
	"restarts early": {"a generator gives back what it has used", true, 19},
}

// TestSimulationFindsFlaws runs the simulation with each flaw until it finds it: with the seed that is
// known to find it, and with others when the schedules have changed since.
func TestSimulationFindsFlaws(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: tests the simulation, not ids")
	}
	const most = 50
	for name, flaw := range flaws {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := uint64(0)
			for seed := flaw.seed; seed < flaw.seed+most; seed++ {
				w := simulate(t, seed, name, nil)
				if found == 0 && len(w.problems) > 0 {
					found = seed
					t.Logf("%s, seed %d: %s", name, seed, w.problems[0])
				}
				if w.duplicate != "" {
					t.Logf("%s, seed %d: %s", name, seed, w.duplicate)
				}
				if found > 0 && (w.duplicate != "" || !flaw.duplicate) {
					return
				}
			}
			t.Errorf("%d seeds do not find that %s", most, flaw.what)
		})
	}
}

// world is one run of the simulation.
type world struct {
	seed    uint64
	flaw    string
	logf    func(format string, args ...any) // nil: no trace
	start   time.Time
	end     time.Time // of the faults
	layout  bitsalloc.Layout
	later   []bitsalloc.Era // what succeeds it; some lives of some processes do not know that
	eras    *bitsalloc.Eras // all
	tick    time.Duration   // the longest of theirs
	seqBits int             // the fewest of theirs
	window  time.Duration
	trouble float64 // the share of calls that something happens to

	authority, second *claimtest.Memory // the second one is part of a flaw
	windows           winlog.Log        // as the generators know them
	processes         []*process
	wg                sync.WaitGroup // requests that are on their way

	mu       sync.Mutex
	down     bool // the authority
	ids      []uid.ID
	claims   int64
	lives    int
	calls    int
	problems []string
	trace    uint64

	duplicate string // what check says of an id that was repeated
}

// simulate runs one seed.
func simulate(t *testing.T, seed uint64, flaw string, logf func(string, ...any)) *world {
	w := &world{seed: seed, flaw: flaw, logf: logf}
	synctest.Test(t, func(t *testing.T) { w.run(t) })
	w.check()
	return w
}

// random returns the numbers of one actor: they depend on the seed and on the actor, whatever
// others do.
func (w *world) random(actor ...uint64) *rand.Rand {
	h := w.seed
	for _, a := range actor {
		h = (h ^ a) * 0x9E3779B97F4A7C15
		h ^= h >> 29
	}
	return rand.New(rand.NewPCG(w.seed, h))
}

// pick returns one of the choices.
func pick[T any](rnd *rand.Rand, choices ...T) T { return choices[rnd.IntN(len(choices))] }

// upTo returns a duration below d to the nanosecond, so that hardly any two things happen at one
// instant.
func upTo(rnd *rand.Rand, d time.Duration) time.Duration {
	return 1 + time.Duration(rnd.Int64N(int64(d)))
}

// eitherWay returns a duration between -d and d.
func eitherWay(rnd *rand.Rand, d time.Duration) time.Duration {
	if rnd.IntN(2) == 0 {
		return -upTo(rnd, d)
	}
	return upTo(rnd, d)
}

// run is the life of the world, in a bubble.
func (w *world) run(t *testing.T) {
	rnd := w.random(0)
	w.start = time.Now()
	fleet, length := 1+rnd.IntN(6), 40*time.Second
	switch rnd.IntN(32) {
	case 0:
		fleet, length = 100+rnd.IntN(200), 10*time.Second
	case 1, 2, 3, 4:
		fleet, length = 10+rnd.IntN(30), 20*time.Second
	}
	workerBits := 1
	for 1<<workerBits < fleet*pick(rnd, 1, 2, 4) {
		workerBits++
	}
	w.layout = bitsalloc.Layout{TimeBits: 40, WorkerBits: workerBits, SeqBits: 1 + rnd.IntN(8),
		GeneBits: pick(rnd, 0, 0, 3),
		Tick:     pick(rnd, time.Second, 200*time.Millisecond, 10*time.Millisecond),
		Epoch:    w.start.Add(-24 * time.Hour)}
	if wide := w.random(9); wide.IntN(6) == 0 { // wider than a ring, and than what a tick uses up
		w.layout.TimeBits, w.layout.SeqBits = 29, 13+wide.IntN(8)
	}
	if err := w.succeed(w.random(10), length); err != nil {
		t.Fatal(err)
	}
	w.window = max(3*w.tick, pick(rnd, 500*time.Millisecond, 2*time.Second, 10*time.Second))
	w.trouble = pick(rnd, 0, 0.1, 0.4, 0.8)
	w.end = w.start.Add(length)
	tells := rnd.IntN(2) == 0
	for _, m := range []**claimtest.Memory{&w.authority, &w.second} {
		*m = &claimtest.Memory{Length: w.window, TellTime: tells, From: w.start.Add(-time.Hour)}
		if part := w.random(6); part.IntN(3) == 0 { // windows that are granted in part
			less := upTo(part, w.window/2)
			(*m).Grant = func(asked time.Time) time.Time { return asked.Add(-less) }
		}
		if len(w.later) > 0 && w.random(12).IntN(4) > 0 { // else it learns of it from a process, or never
			c, err := (*m).BindLayout(w.eras.String()).Assign(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Release(t.Context(), time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var actors sync.WaitGroup
	actors.Go(func() { w.disturb(rnd) })
	for n := range fleet {
		p := w.newProcess(n)
		w.processes = append(w.processes, p)
		actors.Go(p.run)
	}
	actors.Wait()
	w.wg.Wait()
}

// disturb is what happens to the authority.
func (w *world) disturb(rnd *rand.Rand) {
	for {
		time.Sleep(time.Second + upTo(rnd, 10*time.Second))
		if w.calm() {
			break
		}
		switch rnd.IntN(4) {
		case 0:
			w.set(func() { w.down = true })
			time.Sleep(upTo(rnd, pick(rnd, time.Second, 3*w.window)))
			w.set(func() { w.down = false })
		case 1:
			by := eitherWay(rnd, pick(rnd, time.Second, time.Minute, 3*time.Hour))
			w.log(-1, "the authority's clock steps by %v", by)
			w.authority.Step(by)
			w.second.Step(by)
		default:
			worker := rnd.Int64N(1 << w.layout.WorkerBits)
			w.log(-1, "worker id %d is lost", worker)
			w.authority.Lose(worker)
		}
	}
}

// calm reports whether the time of faults is over.
func (w *world) calm() bool { return !time.Now().Before(w.end) }

// set changes the world.
func (w *world) set(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// problem notes what should not have happened.
func (w *world) problem(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.problems) == 5 {
		return
	}
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// log adds to the trace.
func (w *world) log(process int, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trace = w.trace*31 + uint64(time.Since(w.start)) + uint64(process)
	if w.logf != nil {
		w.logf("%12v %3d "+format, append([]any{time.Since(w.start), process}, args...)...)
	}
}

// check looks at what is to hold of the whole fleet: no id was repeated, and windows are disjoint.
func (w *world) check() {
	ids := slices.Sorted(slices.Values(w.ids))
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			w.duplicate = fmt.Sprintf("the id %d was repeated: %+v", ids[i],
				uid.ParseParts(w.eras.Of(int64(ids[i])), ids[i]))
			w.problem("%s", w.duplicate)
			break
		}
	}
	if err := w.windows.Overlap(); err != nil {
		w.problem("%v", err)
	}
}
