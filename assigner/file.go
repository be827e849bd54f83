package assigner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// reservation is what the file says: no process may stamp with the worker id before until, except
// the one that has the file locked. Layouts that begin after Until may be added to those in the
// file, since ids of two layouts in one text are never equal. None may be taken away.
type reservation struct {
	Worker int64     `json:"worker"`
	Layout string    `json:"layout"`
	Until  time.Time `json:"until"`
}

// fileClaim is a claim that a file remembers. A window's end is in the file, and the file on the
// disk, before Window reports it. The next claim begins at the end that it finds.
type fileClaim struct {
	boundedClaim

	path   string
	layout string
	lock   *os.File

	// Owned by the caller of Extend and Release.
	saved time.Time // the end that the file has
	tried time.Time // the end that the file may have, after a write that failed
}

// newFileClaim locks the file, and reserves a window that begins where the file's ends. release
// frees the worker id for this process; the claim's Release calls it. Here it is the caller's task
// if newFileClaim fails.
func newFileClaim(o LocalOptions, a local, worker int64, release func()) (_ *fileClaim, err error) {
	path, err := resolve(o.File)
	if err != nil {
		return nil, fmt.Errorf("option File: %w", err)
	}
	lock, err := lockFile(path + ".lock")
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("%w: file %s is locked by another process with worker id %d",
			ErrWorkersExhausted, path, worker)
	}
	if err != nil {
		return nil, fmt.Errorf("option File: %w", err)
	}
	defer func() {
		if err != nil {
			lock.Close()
		}
	}()
	now := a.now().UTC().Round(0)
	c := &fileClaim{boundedClaim: boundedClaim{worker: worker, release: release}, path: path,
		layout: a.layout, lock: lock}
	switch found, err := readReservation(path); {
	case errors.Is(err, fs.ErrNotExist):
		// A run without the file, or one whose volume is lost, may have stamped ahead of the clock.
		c.from = now.Add(o.Lead)
	case err != nil:
		return nil, fmt.Errorf("option File: %w", err)
	case !found.fits(a.layout):
		return nil, fmt.Errorf("%w: file %s is for the layout %q, want %q; give every layout a "+
			"file of its own, or let one succeed it from %v on or later", ErrLayoutMismatch, path,
			found.Layout, a.layout, found.Until)
	case found.Worker != worker:
		return nil, fmt.Errorf("file %s is for worker id %d, want %d; give every worker id a file "+
			"of its own", path, found.Worker, worker)
	default:
		c.from = found.Until
	}
	if now.Before(c.from) {
		now = c.from
	}
	c.until = now.Add(o.Lead)
	c.saved = c.until
	if err := (reservation{worker, a.layout, c.until}).write(path); err != nil {
		return nil, fmt.Errorf("option File: %w", err)
	}
	return c, nil
}

// Extend writes the new end into the file and waits for the disk, and only then reports it. Asked
// for no more than there is, it does nothing. It does not read ctx while it waits.
func (c *fileClaim) Extend(ctx context.Context, until time.Time) (time.Time, error) {
	err := ctx.Err()
	switch {
	case err != nil:
	case c.released:
		err = errReleased
	case until.After(c.until):
		until = until.UTC().Round(0)
		err = c.reserve(until)
	default:
		return c.until, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("assigner: extending worker id %d: %w", c.worker, err)
	}
	c.extendTo(until)
	return until, nil
}

// Release moves the reserved end back to used and unlocks the file.
func (c *fileClaim) Release(_ context.Context, used time.Time) error {
	if c.released {
		return nil
	}
	c.released = true
	defer c.release()
	if used.Before(c.from) {
		used = c.from
	}
	var err error
	if used.Before(c.until) {
		err = c.reserve(used.UTC().Round(0))
	}
	if err = errors.Join(err, c.lock.Close()); err != nil { // Close unlocks
		return fmt.Errorf("assigner: releasing worker id %d: %w", c.worker, err)
	}
	return nil
}

// reserve makes until the end that the file has.
func (c *fileClaim) reserve(until time.Time) error {
	// A file that another process wrote, or that went back to an older state, ends the claim: the
	// lock file was removed, or the volume is mounted twice.
	found, err := readReservation(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrClaimLost, err)
	}
	if err != nil {
		return err
	}
	own := found.Until.Equal(c.saved) || found.Until.Equal(c.tried)
	if found.Worker != c.worker || !own {
		return fmt.Errorf("%w: file %s reserves worker id %d until %v, want %d until %v",
			ErrClaimLost, c.path, found.Worker, found.Until, c.worker, c.saved)
	}
	c.saved, c.tried = found.Until, until
	if err := (reservation{c.worker, c.layout, until}).write(c.path); err != nil {
		return err
	}
	c.saved = until
	return nil
}

// fits reports whether a claim for a layout may go on where r ends.
func (r reservation) fits(layout string) bool {
	if r.Layout == layout {
		return true
	}
	_, added, err := CompareLayouts(r.Layout, layout)
	return err == nil && !added.IsZero() && !added.Before(r.Until)
}

// readReservation returns what the file at path says.
func readReservation(path string) (reservation, error) {
	var r reservation
	text, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil || r.Until.IsZero() {
		return r, fmt.Errorf("%s does not hold a reservation; remove it only when no generator "+
			"has used the worker id for longer than its lead: %w", path,
			errors.Join(err, errDamaged))
	}
	return r, nil
}

var (
	errDamaged = errors.New("not in the form that this package writes")
	errLocked  = errors.New("file is locked")
)

// write replaces the file at path. Whatever happens on the way, the file holds the old reservation
// or the new one: the new one is on the disk under another name before it gets this one.
func (r reservation) write(path string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	temp := path + ".tmp"
	// What a crash has left, or a link that was put there, goes. A folder stays, and is an error.
	if left, err := os.Lstat(temp); err == nil && !left.IsDir() {
		if err := os.Remove(temp); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	// The rename is on the disk when the folder is.
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
