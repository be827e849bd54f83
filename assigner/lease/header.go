package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner"
)

// header keeps the layouts of a store and the worker ids that have been given out. Its creation
// makes the first claim's layout that of all claims, however many processes claim at once.
//
// A claim that knows more layouts adds them in two steps, because no change covers all slots:
//
//	A ──► A|B ──► A,B      B is announced, and then settled if no window reaches beyond its begin
//	      A|B ──► A        else it is taken back
//
// Claims that name no layout are a list of none: they have the header "", and a layout A is added
// to it as "" ──► "|A" ──► "A". Such claims are not cut anywhere, so a header that has a layout,
// announced or settled, refuses them.
//
// Why no window of a claim that knows only A reaches beyond B's begin once B is settled: such a
// claim writes its slot's new end, and reads the header after that is answered, and only then is
// the window as long. B's claim writes the header, and reads the slots after that is answered. So
// either the first sees B, announced or settled, and cuts its window, or the second sees the end in
// the slot and takes B back. The compare-and-set of the header makes sure that what is settled is
// what was looked at.
type header struct {
	Version int    `json:"v"`
	Token   string `json:"token"`  // random, which tells whose change it was
	Layout  string `json:"layout"` // layouts separated by commas, announced ones after a bar
	Used    used   `json:"used"`
	Floor   int64  `json:"floor_ms,omitempty"` // where windows of new worker ids begin, see Restore
	Reach   int64  `json:"reach_ms,omitempty"` // the longest Options.Reach; 0: minReach, see reach

	entry Entry // as it was read; without a Version there is none
	cut   int64 // where windows for the space's layout end, Unix milliseconds; 0: nowhere
	lacks bool  // the space knows layouts that are not settled
}

// header reads the header, and compares its layouts with the space's.
func (s *space) header(ctx context.Context) (header, error) {
	h, err := s.anyHeader(ctx)
	if err != nil {
		return h, err
	}
	return s.compare(h)
}

// anyHeader reads the header, for whichever layouts it is.
func (s *space) anyHeader(ctx context.Context) (header, error) {
	e, err := s.get(ctx, HeaderName)
	if err != nil {
		return header{}, err
	}
	return parseHeader(e)
}

// parseHeader reads a header.
func parseHeader(e Entry) (header, error) {
	h := header{entry: e}
	if e.Version == "" {
		return h, nil
	}
	err := json.Unmarshal(e.Value, &h)
	switch {
	case err != nil:
		return h, fmt.Errorf("%w: the header: %w", ErrRefused, err)
	case h.Version != recordVersion:
		return h, fmt.Errorf("%w: the header has version %d, want %d",
			ErrRefused, h.Version, recordVersion)
	case !h.Used.valid() || h.Floor < 0 || h.Floor > maxMillis || h.Reach < 0 ||
		h.Reach > maxReach.Milliseconds():
		return h, fmt.Errorf("%w: the header has used %v, floor_ms %d and reach_ms %d",
			ErrRefused, h.Used, h.Floor, h.Reach)
	}
	return h, nil
}

// compare returns h as it is for the space's layouts.
func (s *space) compare(h header) (header, error) {
	if h.entry.Version == "" {
		return h, nil
	}
	if h.Layout == "" && s.layout != "" {
		h.lacks = true // addLayouts looks whether there are windows
		return h, nil
	}
	cut, added, err := assigner.CompareLayouts(h.all(), s.layout)
	if err != nil {
		return h, fmt.Errorf("%w; use the same layout and epoch, or other entries of the store",
			err)
	}
	if !cut.IsZero() {
		h.cut = max(1, cut.UnixMilli())
	}
	settled, _, announced := strings.Cut(h.Layout, "|")
	h.lacks = !added.IsZero() || announced && (cut.IsZero() || settled == "")
	return h, nil
}

// all returns the layouts, announced ones as well.
func (h header) all() string {
	return strings.TrimPrefix(strings.ReplaceAll(h.Layout, "|", ","), ",")
}

// end returns until, or where the space's windows end if that is earlier.
func (h header) end(until int64) int64 {
	if h.cut > 0 {
		return min(until, h.cut)
	}
	return until
}

// reach returns how far beyond the clock a window of the store may end, in milliseconds. Without a
// header it is what the space knows of.
func (s *space) reach(h header) int64 {
	return max(h.Reach, s.options.Reach.Milliseconds())
}

// reached reports whether h has the space's reach, so that every process counts with it.
func (s *space) reached(h header) bool {
	return s.reach(h) == max(h.Reach, minReach.Milliseconds())
}

// putHeader stores h in place of the entry that it was read from, and returns it with its new
// entry.
func (s *space) putHeader(ctx context.Context, h header) (header, error) {
	h.Version, h.Token = recordVersion, newToken()
	if !s.reached(h) {
		h.Reach = s.reach(h)
	}
	e, err := s.put(ctx, h.entry, encode(h))
	h.entry = e
	return h, err
}

// succeeded returns the error of a window that would have to reach beyond the cut.
func (s *space) succeeded(h header) error {
	return fmt.Errorf("%w: the layouts are %q, and this process knows %q: it stops at %v",
		assigner.ErrSuperseded, h.all(), s.layout, millis(h.cut))
}

// addHeader makes the header with the space's first layout, and announces the others. If another
// process makes it first, addHeader returns nil or ErrConflict, and the caller looks again.
func (s *space) addHeader(ctx context.Context) error {
	// It may have been made since the look, or be an entry that List leaves out and Get refuses.
	h, err := s.header(ctx)
	if err != nil || h.entry.Version != "" {
		return err
	}
	latest, there, err := s.latest(ctx, h)
	if err != nil {
		return err
	}
	// The header is made before the first slot, so slots without a header mean that it was deleted.
	if there {
		return fmt.Errorf("%w: %w: there is no header, and slots are there, such as that of "+
			"worker %d until %v; an operator has to run Restore",
			assigner.ErrClaimLost, assigner.ErrWentBack, latest.worker, millis(latest.Until))
	}
	h.Layout, h.Used = strings.Replace(s.layout, ",", "|", 1), used{}
	if h.Floor, err = s.floor(ctx); err != nil {
		return err
	}
	_, err = s.putHeader(ctx, h)
	return err
}

// addLayouts takes the next step towards the layouts that the space knows: it announces them, or
// settles what is announced, or takes it back. After nil the header has to be read again. Each step
// is one compare-and-set of the header, so of several processes that take the same step one
// succeeds, and the others look again.
func (s *space) addLayouts(ctx context.Context) error {
	h, err := s.header(ctx)
	if err != nil || !h.lacks {
		return err
	}
	before, added, announced := strings.Cut(h.Layout, "|")
	to := h.all()
	if !announced {
		added = strings.TrimPrefix(s.layout[len(before):], ",")
		to = before + "|" + added
	}
	// With a comma, because an empty list is followed by none.
	_, begin, err := assigner.CompareLayouts(before, before+","+added)
	if err != nil {
		return err
	}
	refused := s.reaches(ctx, h, begin)
	if refused != nil && (!announced || !errors.Is(refused, assigner.ErrLayoutMismatch)) {
		return refused
	}
	h.Layout = to
	if refused != nil {
		h.Layout = before
	}
	if _, err := s.putHeader(ctx, h); err != nil {
		return err
	}
	return refused
}

// reaches returns an error that wraps assigner.ErrLayoutMismatch if a window reaches beyond begin.
func (s *space) reaches(ctx context.Context, h header, begin time.Time) error {
	r, there, err := s.latest(ctx, h)
	if err != nil || !there || r.Until <= begin.UnixMilli() {
		return err
	}
	return fmt.Errorf("%w: a layout of %q begins at %v, and the window of worker %d reaches %v; "+
		"let it begin later",
		assigner.ErrLayoutMismatch, s.layout, begin, r.worker, millis(r.Until))
}
