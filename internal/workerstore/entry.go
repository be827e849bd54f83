package workerstore

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/storekind"
	"github.com/uidring/uidring/internal/workertable"
)

// form is the form of the engine's JSON that the columns are translated from and to.
const form = 1

// The engine's names of a namespace's header, and of a row, before the worker id.
const headerName, slotPrefix = storekind.HeaderName, storekind.SlotPrefix

// The reach of a header that names none, and the upper bound of Reach in lease.Options.
const dayReach, maxReach = 24 * time.Hour, 2 * 366 * 24 * time.Hour

// slot is the row of a worker id. The token of the engine is the column NONCE.
//
//	{"v":1,"gen":7,"token":"4711","owner":"...","layout":"...","until_ms":...}
type slot struct {
	Form   int    `json:"v"`
	Token  int64  `json:"gen"` // GENERATION, the fencing token
	Nonce  int64  `json:"token,string"`
	Owner  string `json:"owner"`
	Layout string `json:"layout,omitempty"` // of the last owner, where it was asked for
	Until  int64  `json:"until_ms"`

	worker int64
}

// entry returns the row as the engine has it, read at an instant of the database's clock.
func (r slot) entry(at time.Time) lease.Entry {
	r.Form = form
	return lease.Entry{Name: slotPrefix + strconv.FormatInt(r.worker, 10), Value: encode(r),
		Version: fmt.Sprintf("%d %d %d", r.Token, r.Nonce, r.Until), At: at}
}

// settings is the row of a namespace itself. Its reach is in UNTIL_MS. The floor is that of another
// row, see everywhere, or its own: that, and what a move has left, is in OWNER, see note. Without a
// move no list of used worker ids is kept, because the Store is a lease.Numberer.
type settings struct {
	Form   int        `json:"v"`
	Nonce  int64      `json:"token,string"`
	Layout string     `json:"layout"`
	Used   [][2]int64 `json:"used"`
	Floor  int64      `json:"floor_ms,omitempty"`
	Count  int64      `json:"counted_ms,omitempty"`
	Reach  int64      `json:"reach_ms,omitempty"`
	Move   *move      `json:"move,omitempty"`

	Universe int64 `json:"universe,string,omitempty"` // GENERATION
}

// entry returns the row as the engine has it. The layout is a part of the version, because an
// operator may change it by hand.
func (h settings) entry(at time.Time) lease.Entry {
	version := fmt.Sprintf("%d %d %s", h.Nonce, h.Reach, h.Layout)
	h.Form = form
	if h.Used == nil {
		h.Used = [][2]int64{}
	}
	h.Reach = min(max(0, h.Reach), maxReach.Milliseconds()) // by hand it may be anything
	return lease.Entry{Name: headerName, Value: encode(h), Version: version, At: at}
}

// known returns the placeholders of an SQL list of the layouts that rows of the namespace can have,
// and args with these layouts appended: the first layout, the first two, and so on, because a row
// has the list that was settled when it was inserted. A row with any other list is not claimed: its
// owner stamped by layouts that the header does not know.
func (h settings) known(args ...any) (list string, all []any) {
	text := strings.NewReplacer("|", ",", "~", ",").Replace(h.Layout)
	if strings.HasPrefix(text, ",") { // the claims so far have named no layout
		list, args, text = ", ?", append(args, ""), text[1:]
	}
	for i, r := range text + "," {
		if r == ',' {
			args = append(args, text[:i])
			list += ", ?"
		}
	}
	return list[2:], args
}

// absent returns the entry of a name that has no row.
func absent(name string, now int64) lease.Entry {
	return lease.Entry{Name: name, At: time.UnixMilli(now)}
}

// encode returns v as the engine has it.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return b
}

// decode reads a value of the engine.
func decode(value []byte, v any) error {
	if err := json.Unmarshal(value, v); err != nil {
		return fmt.Errorf("%w: %w", lease.ErrRefused, err)
	}
	return nil
}

// readVersion reads the numbers that an entry's version begins with.
func readVersion(e lease.Entry, numbers ...any) error {
	if _, err := fmt.Sscan(e.Version, numbers...); err != nil {
		return fmt.Errorf("%w: %s has the version %q", lease.ErrRefused, e.Name, e.Version)
	}
	return nil
}

// workerOf returns the WORKER_ID of a name's row.
func workerOf(name string) (int64, error) {
	if name == headerName {
		return workertable.Header, nil
	}
	worker, err := strconv.ParseInt(strings.TrimPrefix(name, slotPrefix), 10, 64)
	if err != nil || !strings.HasPrefix(name, slotPrefix) {
		return 0, fmt.Errorf("%w: %q is not the name of a row", lease.ErrRefused, name)
	}
	return worker, nil
}

// fits returns an error unless a layout's text fits its column.
func fits(layout string) error {
	if n := utf8.RuneCountInString(layout); n > layoutWidth {
		return fmt.Errorf("%w: the layout's text has %d characters, want at most %d",
			lease.ErrRefused, n, layoutWidth)
	}
	return nil
}
