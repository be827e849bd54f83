package lease

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner"
)

// What begins the layouts of a header that are not settled.
const (
	announcing = "|" // they never were
	takingBack = "~" // they were
)

// header keeps the layouts of a store. Its creation makes the first claim's layout that of all
// claims, however many processes claim at once.
//
// A claim that knows more layouts adds them in two steps, because no change covers all slots:
//
//	A ──► A|B ──► A,B      B is announced, and then settled if no window reaches past its start
//	      A|B ──► A        else it is taken back
//
// An operator takes a settled layout back that has not begun, in two steps as well:
//
//	A,B ──► A~B ──► A      if no window reaches past B's start
//	        A~B ──► A,B    else, and when a claim comes that knows B
//
// The windows of all claims end where the first layout that is not settled begins.
//
// Claims that name no layout are a list of none: they have the header "", and a layout A is added
// to it as "" ──► "|A" ──► "A". Such claims are not cut anywhere, so a header that has a layout,
// announced or settled, refuses them.
//
// Why no window of a claim that knows only A reaches past B's start once B is settled: such a
// claim writes its slot's new end, and reads the header after that is answered, and only then is
// the window as long. B's claim writes the header, and reads the slots after that is answered. So
// either the first sees B, announced or settled, and cuts its window, or the second sees the end in
// the slot and takes B back. The compare-and-set of the header makes sure that what is settled is
// what was looked at. It is the same for a claim that knows B while B is taken back.
type header struct {
	Version int    `json:"v"`
	Token   string `json:"token"`              // random, which tells whose change it was
	Layout  string `json:"layout"`             // separated by commas, those that are settled first
	Used    used   `json:"used"`               // not given out as new, besides those of notes
	Floor   int64  `json:"floor_ms,omitempty"` // where windows of new worker ids begin, see Restore
	// The floor of a Restore that has moved the count of a Numberer above all worker ids that were
	// used, so that windows of new ones may begin before it.
	Counted int64 `json:"counted_ms,omitempty"`
	Reach   int64 `json:"reach_ms,omitempty"` // the longest Options.Reach; 0: dayReach, see reach
	Move    *move `json:"move,omitempty"`     // the last one into the store or out of it; nil: none

	// Universe names the universe of ids, see assigner.Named. It moves along. Where there is none,
	// or a database's process of an earlier version has counted it up, the next claim or extension
	// names what is there.
	Universe string `json:"universe,omitempty"`

	// Changes counts the writes of the header, so that one that went back alone is known by the
	// slots that were claimed since.
	Changes int64 `json:"changes,omitempty"`

	entry Entry // as it was read; without a Version there is none
	cut   int64 // where windows for the space's layout end, Unix milliseconds; 0: nowhere
	lacks bool  // the space knows layouts that are not settled
}

// header reads the header, and compares its layouts with the space's.
func (s *space) header(ctx context.Context) (header, error) {
	h, err := s.anyHeader(ctx)
	if err == nil {
		err = s.sealStays(h)
	}
	if err != nil {
		return h, err
	}
	return s.compare(h)
}

// anyHeader reads the header, for whichever layouts it is.
func (s *space) anyHeader(ctx context.Context) (header, error) {
	e, err := s.get(ctx, headerName)
	if err != nil {
		return header{}, err
	}
	return s.parseHeader(e)
}

// parseHeader reads a header, and keeps its reach in memory.
func (s *space) parseHeader(e Entry) (header, error) {
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
	case !h.Used.valid() || h.Floor < 0 || h.floor() > maxMillis || h.Reach < 0 ||
		h.Reach > maxReach.Milliseconds():
		return h, fmt.Errorf("%w: the header has used %v, floor_ms %d, counted_ms %d and "+
			"reach_ms %d", ErrRefused, h.Used, h.Floor, h.Counted, h.Reach)
	}
	s.memory.noteReach(h.reach())
	return h, nil
}

// compare returns h as it is for the space's layouts.
func (s *space) compare(h header) (header, error) {
	if h.entry.Version == "" {
		return h, nil
	}
	if err := s.moved(h); err != nil {
		return h, err
	}
	settled, announced := h.settled()
	var cut, added time.Time
	var err error
	if h.Layout != "" {
		cut, added, err = assigner.CompareLayouts(h.all(), s.layout)
		if err != nil {
			return h, fmt.Errorf("%w; use the same layout and epoch, or other entries of the store",
				err)
		}
	}
	h.lacks = !added.IsZero() || announced && cut.IsZero() || settled == "" && s.layout != ""
	if h.lacks { // windows end there until addLayouts has looked whether there are others
		cut, err = begin(settled, s.layout)
	}
	if !cut.IsZero() {
		h.cut = max(1, cut.UnixMilli())
	}
	return h, err
}

// begin returns where the first layout that all has beyond the list before begins.
func begin(before, all string) (time.Time, error) {
	added := strings.TrimPrefix(all[len(before):], ",")
	// With a comma, because an empty list is followed by none.
	_, at, err := assigner.CompareLayouts(before, before+","+added)
	return at, err
}

// all returns the layouts, those that are not settled as well. A header that is sealed has none.
func (h header) all() string {
	if h.sealed() {
		return ""
	}
	h.Layout = strings.TrimPrefix(h.Layout, closed)
	all := strings.NewReplacer(announcing, ",", takingBack, ",").Replace(h.Layout)
	return strings.TrimPrefix(all, ",")
}

// settled returns the layouts that are settled. more reports whether there are others.
func (h header) settled() (layouts string, more bool) {
	i := strings.IndexAny(h.Layout, announcing+takingBack)
	if i < 0 {
		return h.Layout, false
	}
	return h.Layout[:i], true
}

// floor returns where every window ends that the store may have forgotten.
func (h header) floor() int64 { return max(h.Floor, h.Counted) }

// end returns until, or where the space's windows end if that is earlier.
func (h header) end(until int64) int64 {
	if h.cut > 0 {
		return min(until, h.cut)
	}
	return until
}

// reach returns the reach that h has, in milliseconds.
func (h header) reach() int64 { return cmp.Or(h.Reach, dayReach.Milliseconds()) }

// reach returns how far beyond the clock a window of the store may end, in milliseconds. A header
// that is gone, or has none, stands for dayReach. A header from before its store had a longer reach
// does not make it shorter: windows that this process has known of may end there.
func (s *space) reach(h header) int64 {
	return max(s.memory.longestReach(), h.reach(), s.options.Reach.Milliseconds())
}

// reached reports whether h has the space's reach, so that every process counts with it.
func (s *space) reached(h header) bool {
	return s.reach(h) == h.reach()
}

// putHeader stores h in place of the entry that it was read from, and returns it with its new
// entry.
func (s *space) putHeader(ctx context.Context, h header) (header, error) {
	h.Version, h.Token = recordVersion, newToken()
	h.Changes++
	h.Universe = cmp.Or(h.Universe, newToken())
	// No window of another process is forgotten, and none was moved in.
	if h.entry.Version == "" && h.Floor == 0 && h.Move == nil {
		h.Reach = s.options.Reach.Milliseconds()
	}
	if !s.reached(h) {
		h.Reach = s.reach(h)
	} else if h.Reach == dayReach.Milliseconds() {
		h.Reach = 0
	}
	e, err := s.put(ctx, h.entry, encode(h))
	h.entry = e
	return h, err
}

// superseded returns the error of a window that would have to reach beyond the cut.
func (s *space) superseded(h header) error {
	if h.lacks {
		return fmt.Errorf("%w: the layouts are %q, and this process knows %q, of which one was "+
			"taken back or forgotten: it stops at %v", assigner.ErrLayoutMismatch, h.Layout,
			s.layout, millis(h.cut))
	}
	return fmt.Errorf("%w: the layouts are %q, and this process knows %q: it stops at %v",
		assigner.ErrSuperseded, h.all(), s.layout, millis(h.cut))
}
