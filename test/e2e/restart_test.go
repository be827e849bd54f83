package e2e

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
)

// TestRestartedProcess: processes with a configured worker id make ids at full speed, are killed or
// end, and start again at once. No id is repeated, unless the protection is off.
func TestRestartedProcess(t *testing.T) {
	t.Setenv(numberEnv, "7")
	for name, o := range map[string]assigner.LocalOptions{
		"by the clock": {},
		"by a file":    {File: filepath.Join(t.TempDir(), "window")},
		"unprotected":  {RepeatsAfterRestart: true},
	} {
		t.Run(name, func(t *testing.T) {
			j := job{Env: &o}
			l := newLedger(t, j)
			for i := range 5 {
				before := l.count()
				p := j.start(t, l)
				waitFor(t, "ids of the new process", func() bool { return l.count() > before })
				if i%2 == 1 {
					p.stdin.Close()
					if err := p.wait(); err != nil {
						t.Error(err)
					}
					continue
				}
				p.kill()
			}
			if !o.RepeatsAfterRestart {
				if total, workers := l.check(t); workers != 1 {
					t.Errorf("%d ids of %d worker ids, want one", total, workers)
				}
			} else if l.Sum().Duplicates == 0 {
				t.Error("no id was repeated without the protection: the test cannot fail")
			}
			t.Logf("%d of %d ids were repeated", l.Sum().Duplicates, l.count())
		})
	}
}

// TestFileIsLocked: a process does not start with the file of a process that runs.
func TestFileIsLocked(t *testing.T) {
	t.Setenv(numberEnv, "7")
	j := job{Env: &assigner.LocalOptions{File: filepath.Join(t.TempDir(), "window")}}
	l := newLedger(t, j)
	p := j.start(t, l)
	waitFor(t, "ids", func() bool { return l.count() > 0 })
	second := j.start(t, l)
	if err := second.wait(); err == nil {
		t.Error("a second process with the same worker id and file ran, want an error")
	} else {
		t.Log(err)
	}
	p.kill()
	third := j.start(t, l)
	before := l.count()
	waitFor(t, "ids of the process after it", func() bool { return l.count() > before })
	third.stdin.Close()
	if err := third.wait(); err != nil {
		t.Error(err)
	}
	l.check(t)
}

// TestFileUnderKills: a process that is killed at any moment while it writes its file leaves a file
// that the next process can read, and no id is repeated.
func TestFileUnderKills(t *testing.T) {
	t.Setenv(numberEnv, "7")
	j := job{Env: &assigner.LocalOptions{Lead: 2 * time.Second,
		File: filepath.Join(t.TempDir(), "window")}}
	l := newLedger(t, j)
	for i := range 40 {
		before := l.count()
		p := j.start(t, l)
		// A burst without a bound writes the file every few milliseconds.
		waitFor(t, "ids of the new process", func() bool { return l.count() > before+batch })
		time.Sleep(time.Duration(i) * time.Millisecond)
		p.kill()
	}
	if total, _ := l.check(t); total < 40*batch {
		t.Errorf("%d ids, want %d or more", total, 40*batch)
	}
}

// TestLinkedFile: processes whose file is a symbolic link, which is made anew before each start as
// an image does it, and a process on the file itself. One runs at a time, each begins after the
// one before, and no id is repeated.
func TestLinkedFile(t *testing.T) {
	t.Setenv(numberEnv, "7")
	root := t.TempDir()
	file, link := filepath.Join(root, "volume", "window"), filepath.Join(root, "image", "window")
	if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o700),
		os.Mkdir(filepath.Dir(link), 0o700)); err != nil {
		t.Fatal(err)
	}
	direct := job{Env: &assigner.LocalOptions{File: file}}
	linked := job{Env: &assigner.LocalOptions{File: link}}
	l := newLedger(t, direct)
	for i := range 6 {
		if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if err := os.Symlink(file, link); err != nil {
			t.Fatal(err)
		}
		first, second := linked, direct
		if i == 4 {
			first, second = direct, linked
		}
		before := l.count()
		p := first.start(t, l)
		waitFor(t, "ids of the new process", func() bool { return l.count() > before+4*batch })
		other := second.start(t, l)
		if i%2 == 0 {
			other.stdin.Close()
			if err := other.wait(); err == nil {
				t.Error("a second process started by the other path, want an error")
			}
		} else {
			other.kill()
		}
		p.kill()
	}
	if _, workers := l.check(t); workers != 1 {
		t.Errorf("%d worker ids, want one", workers)
	}
}
