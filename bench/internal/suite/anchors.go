package suite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// Names of rows that others refer to.
const (
	Baidu = "Baidu CachedUidGenerator (Java)"
	Chain = "CosId SegmentChainId (Java)"
	Leaf  = "Leaf SegmentIDGenImpl (Java)"
)

// anchor is a Java process that runs a generator of another project.
type anchor struct {
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

// newAnchor starts the process, which ends when ctx does.
func newAnchor(ctx context.Context, dir, name string) (*anchor, error) {
	path, err := os.ReadFile(filepath.Join(dir, "classpath"))
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "java", "-Xmx2g", "-cp", strings.TrimSpace(string(path)),
		"Anchor", name)
	cmd.Stderr = os.Stderr
	a := &anchor{cmd: cmd}
	if a.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	a.out = bufio.NewReader(out)
	return a, cmd.Start()
}

// ask sends a line and returns millions of ids a second and the refused calls per million ids.
func (a *anchor) ask(format string, args ...any) (rate, refused float64, err error) {
	if _, err := fmt.Fprintf(a.in, format+"\n", args...); err != nil {
		return 0, 0, err
	}
	line, err := a.out.ReadString('\n')
	if err != nil {
		return 0, 0, err
	}
	var ids, ns, no float64
	if _, err := fmt.Sscan(line, &ids, &ns, &no); err != nil || ns == 0 {
		return 0, 0, err
	}
	return 1e3 * ids / ns, 1e6 * no / ids, nil
}

// close ends the process.
func (a *anchor) close() {
	_ = a.in.Close()
	_ = a.cmd.Wait()
}

// anchors measures the generators of three Java projects in turn with the library's own, and the
// sweeps of the tables that the original publishes. Without what build.sh builds it does nothing.
func anchors(ctx context.Context, c *Config, f *result.File) error {
	if c.Anchors == "" {
		fmt.Fprint(c.Out, ", left out without -anchors")
		return nil
	}
	version, err := exec.CommandContext(ctx, "java", "-version").CombinedOutput()
	if err != nil {
		return err
	}
	commits, err := os.ReadFile(filepath.Join(c.Anchors, "commits"))
	if err != nil {
		return err
	}
	f.Meta.Modules["java"] = strings.Join(strings.Split(string(version), "\n")[:3], "; ")
	f.Meta.Modules["baidu/uid-generator, Ahoo-Wang/CosId, Meituan-Dianping/Leaf"] =
		strings.Join(strings.Fields(string(commits)), " ")
	names := []struct{ row, name string }{
		{Baidu, "baidu-cached"}, {"Baidu DefaultUidGenerator 29-4-30 (Java)", "baidu-default"},
		{Chain, "cosid-chain"},
		{"CosId MillisecondSnowflakeId (Java)", "cosid-snowflake"},
		{Leaf, "leaf-segment"},
		{"Leaf SnowflakeIDGenImpl (Java)", "leaf-snowflake"},
	}
	java := map[string]*anchor{}
	for _, x := range names {
		a, err := newAnchor(ctx, c.Anchors, x.name)
		if err != nil {
			return err
		}
		defer a.close()
		java[x.row] = a
		for _, threads := range []int{1, 8} { // compiles it
			if _, _, err := a.ask("%d %d", threads, pick(c, 300, 3000)); err != nil {
				return err
			}
		}
	}
	d := pick(c, 50*time.Millisecond, 250*time.Millisecond)
	err = rounds(ctx, pick(c, 2, 8), func(int) error {
		for _, threads := range []int{1, 2, 4, 8} {
			column := fmt.Sprint(threads)
			for _, x := range contender.Pick(contender.OneLane, contender.ManyLanes,
				contender.DefaultWide, contender.DefaultZero, contender.SegmentTag) {
				ns, err := once(x.New, threads, d)
				f.Add("anchors", x.Name, column, "M/s", 1e3/ns, err)
			}
			for _, x := range names {
				rate, refused, err := java[x.row].ask("%d %d", threads, d.Milliseconds())
				f.Add("anchors", x.row, column, "M/s", rate, err)
				if x.row == Baidu {
					f.Add("refused", x.row, column, "", refused, err)
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return rounds(ctx, pick(c, 1, 4), func(int) error { return sweeps(ctx, c, f, java[Baidu]) })
}

// sweeps measures timeBits 25..32 with workerBits 20 and workerBits 20..29 with timeBits 31, on one
// goroutine per processor, and 1..8 consumers of a 31-23-9 layout. The epoch is now, so that 25
// bits of seconds have room for what a measurement borrows.
func sweeps(ctx context.Context, c *Config, f *result.File, baidu *anchor) error {
	one := func(table string, x, timeBits, workerBits, goroutines int) error {
		l := bitsalloc.Layout{TimeBits: timeBits, WorkerBits: workerBits,
			SeqBits: 63 - timeBits - workerBits, Epoch: time.Now().Truncate(time.Second)}
		d, column := pick(c, 30*time.Millisecond, 100*time.Millisecond), fmt.Sprint(x)
		for _, own := range []struct {
			name  string
			lanes int
		}{{contender.OneLane, 1}, {contender.ManyLanes, uid.AutoLanes}} {
			ns, err := once(contender.Cached(&uid.Options{Layout: l, Lanes: own.lanes}),
				goroutines, d)
			f.Add(table, own.name, column, "M/s", 1e3/ns, err)
		}
		_, _, err := baidu.ask("layout %d %d %d", l.TimeBits, l.WorkerBits, l.SeqBits)
		if err != nil {
			return err
		}
		rate, _, err := baidu.ask("%d %d", goroutines, d.Milliseconds())
		f.Add(table, Baidu, column, "M/s", rate, err)
		return ctx.Err()
	}
	for t := 25; t <= 32; t++ {
		if err := one("timeBits", t, t, 20, procs()); err != nil {
			return err
		}
	}
	for w := 20; w <= 29; w++ {
		if err := one("workerBits", w, 31, w, procs()); err != nil {
			return err
		}
	}
	for n := 1; n <= 8; n++ {
		if err := one("consumers", n, 31, 23, n); err != nil {
			return err
		}
	}
	return nil
}
