package suite

import (
	"bufio"
	"context"
	"errors"
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

// anchor is a Java process that runs a generator of another project.
type anchor struct {
	name string
	in   io.WriteCloser
	out  *bufio.Reader
	cmd  *exec.Cmd
}

// newAnchor starts the process, which ends when ctx does. Its program knows the names, too.
func newAnchor(ctx context.Context, dir, name string) (*anchor, error) {
	path, err := os.ReadFile(filepath.Join(dir, "classpath"))
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "java", "-Xmx2g", "-cp", strings.TrimSpace(string(path)),
		"Anchor", name)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	out, more := cmd.StdoutPipe()
	return &anchor{name, in, bufio.NewReader(out), cmd}, errors.Join(err, more, cmd.Start())
}

// ask sends a line and returns millions of ids a second and the refused calls per million ids.
func (a *anchor) ask(format string, args ...any) (rate, refused float64, err error) {
	if _, err := fmt.Fprintf(a.in, format+"\n", args...); err != nil {
		return 0, 0, err
	}
	var ids, ns, no float64
	if _, err := fmt.Fscanln(a.out, &ids, &ns, &no); err != nil || ns == 0 {
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
// sweeps of the tables that the original publishes, with what build.sh has built.
func anchors(ctx context.Context, c *Config, f *result.File) error {
	version, err := exec.CommandContext(ctx, "java", "-version").CombinedOutput()
	commits, more := os.ReadFile(filepath.Join(c.Anchors, "commits"))
	if err := errors.Join(err, more); err != nil {
		return err
	}
	f.Meta.Modules["java"] = strings.Join(strings.Split(string(version), "\n")[:3], "; ")
	f.Meta.Modules["baidu/uid-generator, Ahoo-Wang/CosId, Meituan-Dianping/Leaf"] =
		strings.Join(strings.Fields(string(commits)), " ")
	var java []*anchor
	for _, name := range []string{contender.Baidu, "Baidu DefaultUidGenerator 29-4-30 (Java)",
		contender.Chain, "CosId MillisecondSnowflakeId (Java)",
		contender.Leaf, "Leaf SnowflakeIDGenImpl (Java)"} {
		a, err := newAnchor(ctx, c.Anchors, name)
		if err != nil {
			return err
		}
		defer a.close()
		java = append(java, a)
		for _, threads := range []int{1, 8} { // compiles it
			if _, _, err := a.ask("%d %d", threads, pick(c, 300, 3000)); err != nil {
				return err
			}
		}
	}
	d := pick(c, 50*time.Millisecond, 250*time.Millisecond)
	return errors.Join(rounds(ctx, pick(c, 2, 8), func(int) error {
		for _, threads := range []int{1, 2, 4, 8} {
			column := fmt.Sprint(threads)
			for _, x := range contender.Pick(contender.OneLane, contender.ManyLanes,
				contender.DefaultWide, contender.DefaultZero, contender.SegmentTag) {
				ns, err := once(x.New, threads, d)
				f.Add("anchors", x.Name, column, "M/s", 1e3/ns, err)
			}
			for _, a := range java {
				rate, refused, err := a.ask("%d %d", threads, d.Milliseconds())
				f.Add("anchors", a.name, column, "M/s", rate, err)
				if a.name == contender.Baidu {
					f.Add("refused", a.name, column, "", refused, err)
				}
			}
		}
		return nil
	}), rounds(ctx, pick(c, 1, 4), func(int) error { return sweeps(ctx, c, f, java[0]) }))
}

// sweeps measures timeBits 25..32 with workerBits 20 and workerBits 20..29 with timeBits 31, on one
// goroutine per processor, and 1..8 consumers of a 31-23-9 layout. The epoch is now, so that 25
// bits of seconds have room for what a measurement borrows.
func sweeps(ctx context.Context, c *Config, f *result.File, baidu *anchor) error {
	d := pick(c, 30*time.Millisecond, 100*time.Millisecond)
	for _, table := range []struct {
		name     string
		from, to int
	}{{"timeBits", 25, 32}, {"workerBits", 20, 29}, {"consumers", 1, 8}} {
		for x := table.from; x <= table.to && ctx.Err() == nil; x++ {
			l := bitsalloc.Layout{TimeBits: 31, WorkerBits: 20,
				Epoch: time.Now().Truncate(time.Second)}
			goroutines, column := procs(), fmt.Sprint(x)
			switch table.name {
			case "timeBits":
				l.TimeBits = x
			case "workerBits":
				l.WorkerBits = x
			default:
				l.WorkerBits, goroutines = 23, x
			}
			l.SeqBits = 63 - l.TimeBits - l.WorkerBits
			o := uid.Options{Layout: l}
			for _, name := range []string{contender.OneLane, contender.ManyLanes} {
				ns, err := once(contender.Cached(&o), goroutines, d)
				f.Add(table.name, name, column, "M/s", 1e3/ns, err)
				o.Lanes = uid.AutoLanes
			}
			_, _, err := baidu.ask("layout %d %d %d", l.TimeBits, l.WorkerBits, l.SeqBits)
			if err != nil {
				return err
			}
			rate, _, err := baidu.ask("%d %d", goroutines, d.Milliseconds())
			f.Add(table.name, contender.Baidu, column, "M/s", rate, err)
		}
	}
	return ctx.Err()
}
