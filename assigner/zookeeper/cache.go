package zookeeper

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// proof is what the cache file says: this machine owns the slot, and of its reserved window the
// part [From, Until) was never used.
//
// Why a start may believe it, although ZooKeeper is not there to confirm:
//
//   - Until is what ZooKeeper had confirmed as reserved when the file was written, and a new owner
//     begins at or after it.
//   - From is raised, and the file is on the disk, before anything below it is used: see consume.
//     However a run ends, the next one begins after it.
//   - One Assigner at a time has the file, by a lock that the kernel drops when the process ends.
//   - The file is the original, not a copy: it names its own device and inode. And it is still
//     under the kernel that it was written under, by the boot id, so that lock and inode mean what
//     they meant. A cloned disk, a copied image, a restored backup and a rebooted machine all fail
//     this.
//
// What is left is a virtual machine that is resumed twice from one memory snapshot. That clones
// running generators as well, and only ZooKeeper can notice.
type proof struct {
	Root        string `json:"root"`
	Instance    string `json:"instance"`
	Layout      string `json:"layout"`
	Worker      int64  `json:"worker"`
	Token       string `json:"token"`
	NodeVersion int32  `json:"node_version"`
	From        int64  `json:"from_ms"`
	Until       int64  `json:"until_ms"`
	Front       int64  `json:"front_ms"`
	Boot        string `json:"boot"`
	Device      uint64 `json:"device"`
	Inode       uint64 `json:"inode"`
}

// sealed is the file: a proof and its checksum.
type sealed struct {
	Version int             `json:"v"` // cacheVersion
	Proof   json.RawMessage `json:"proof"`
	Sum     string          `json:"sha256"`
}

const (
	cacheVersion = 1
	maxCache     = 16 << 10
)

// cache is the cache file. The methods of a nil *cache do nothing, so that callers need not know if
// there is one. It is safe for concurrent use.
type cache struct {
	path string
	lock *os.File               // path + ".lock", locked
	boot func() (string, error) // the boot id of the kernel

	mu     sync.Mutex
	holder *claim // the claim that the file is about, until its release; nil: none of this process
}

func openCache(path string) (*cache, error) {
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrCache, path, err)
	}
	return &cache{path: path, lock: lock, boot: bootID}, nil
}

// close unlocks the file for the next Assigner.
func (k *cache) close() error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lock == nil {
		return nil
	}
	err := k.lock.Close()
	k.lock = nil
	return err
}

// held reports whether the file is about c.
func (k *cache) held(c *claim) bool {
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.holder == c && k.lock != nil
}

// hold makes the file about c, whose window up to c.until counts as used.
func (k *cache) hold(c *claim) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.write(c, c.until); err != nil {
		return err
	}
	k.holder = c
	return nil
}

// consume records that c's window is used up to until, and what ZooKeeper has reserved for it. When
// it returns nil, that is on the disk, or the file is not about c.
func (k *cache) consume(c *claim, until time.Time) error {
	if !k.held(c) {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.write(c, until)
}

// release records that c's run ended at used, and leaves the rest of its window to the next start.
func (k *cache) release(c *claim, used time.Time) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.write(c, used); err != nil {
		return err
	}
	k.holder = nil
	return nil
}

// write replaces the file. The caller holds k.mu.
func (k *cache) write(c *claim, from time.Time) error {
	if k.lock == nil {
		return fmt.Errorf("%w: %s: %w", ErrCache, k.path, ErrClosed)
	}
	p := proof{Root: c.a.o.Root, Instance: c.a.o.Instance, Layout: c.layout, Worker: c.worker,
		Token: c.token, NodeVersion: c.version, From: from.UnixMilli(),
		Until: c.usable.UnixMilli(), Front: max(0, c.front.UnixMilli())}
	if err := k.replace(&p); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrCache, k.path, err)
	}
	return nil
}

// replace writes p to a new file, which p names, and renames it over the old one. The path holds a
// complete file at every moment.
func (k *cache) replace(p *proof) (err error) {
	boot, err := k.boot()
	if err != nil {
		return err
	}
	temp := k.path + ".new"
	if err := os.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	p.Boot = boot
	if p.Device, p.Inode, err = identity(f); err == nil {
		if _, err = f.Write(p.seal()); err == nil {
			err = f.Sync()
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, k.path); err != nil {
		return err
	}
	// The rename is on the disk only when the directory is.
	dir, err := os.Open(filepath.Dir(k.path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// proof reads the file and returns what it proves to an Assigner with o whose ids have layout and
// worker ids up to last, or why it proves nothing.
func (k *cache) proof(o *Options, layout string, last int64) (*proof, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p, err := k.read()
	switch {
	case err != nil:
	case k.holder != nil:
		err = fmt.Errorf("worker id %d is in use by this process", k.holder.worker)
	case p.Root != o.Root:
		err = fmt.Errorf("it is for root %q, want %q", p.Root, o.Root)
	case p.Layout != layout:
		err = fmt.Errorf("it is for layout %q, want %q", p.Layout, layout)
	case p.Worker < o.First || p.Worker > last:
		err = fmt.Errorf("it is for worker id %d, want %d..%d", p.Worker, o.First, last)
	default:
		return p, nil
	}
	return nil, fmt.Errorf("%w: %s: %w", ErrCache, k.path, err)
}

// read returns the file's proof if the file is the original.
func (k *cache) read() (*proof, error) {
	f, err := os.Open(k.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxCache+1))
	if err != nil {
		return nil, err
	}
	p, err := unseal(b)
	if err != nil {
		return nil, err
	}
	boot, err := k.boot()
	if err != nil {
		return nil, err
	}
	device, inode, err := identity(f)
	switch {
	case err != nil:
		return nil, err
	case p.Boot != boot:
		return nil, errors.New("it was written before the last boot, or on another machine")
	case p.Device != device || p.Inode != inode:
		return nil, errors.New("it is a copy")
	}
	return p, nil
}

// seal returns the file's content.
func (p *proof) seal() []byte {
	raw, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	b, err := json.Marshal(sealed{cacheVersion, raw, checksum(raw)})
	if err != nil {
		panic(err) // raw is JSON
	}
	return b
}

// unseal reads what seal wrote, and refuses everything else.
func unseal(b []byte) (*proof, error) {
	if len(b) > maxCache {
		return nil, fmt.Errorf("it has more than %d bytes", maxCache)
	}
	var s sealed
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, err
	}
	if s.Version != cacheVersion {
		return nil, fmt.Errorf("it has version %d, want %d", s.Version, cacheVersion)
	}
	if s.Sum != checksum(s.Proof) {
		return nil, errors.New("its checksum does not match")
	}
	p := new(proof)
	if err := json.Unmarshal(s.Proof, p); err != nil {
		return nil, err
	}
	if p.From < 0 || p.Until > maxMillis || p.From > p.Until || p.Front < 0 || p.Front > maxMillis {
		return nil, fmt.Errorf("its window [%d, %d) and front %d make no sense",
			p.From, p.Until, p.Front)
	}
	return p, nil
}

func checksum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
