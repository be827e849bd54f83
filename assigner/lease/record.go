package lease

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/uidring/uidring/internal/storekind"
)

// recordVersion is the form of the JSON texts. An entry of another form is left alone.
const recordVersion = 1

// maxMillis is the greatest time that is stored, and the greatest fencing token. A greater number
// in an entry is a mistake.
const maxMillis = 1 << 53

// row is a slot. There is one kind of change: a Put compares with the entry that was read, and
// writes fencing token + 1, a random token of its own and the rest.
//
//	gen:       g ──► g+1 ──► g+2 ──► ...       by claim, extension, release
//	until_ms:  ───── only the owner of gen g moves it, and a new owner begins there
type row struct {
	Version      int    `json:"v"`
	FencingToken int64  `json:"gen"`   // the fencing token
	Token        string `json:"token"` // random, which tells whose change it was
	Owner        string `json:"owner"` // empty: given back
	Layout       string `json:"layout,omitempty"`
	Until        int64  `json:"until_ms"`           // end of the reserved window, Unix milliseconds
	Universe     string `json:"universe,omitempty"` // of the header at the last claim: see listed
	Changes      int64  `json:"changes,omitempty"`  // likewise

	worker int64
	entry  Entry // as it was read or written; without a Version there is none
}

// newToken returns 63 random bits in decimal, which every store can hold. Each write gets its own,
// so that even of two copies of one process, which hold the same claim, neither mistakes the
// other's write for its own. They are the system's random bits, because a copy has the same
// generator.
func newToken() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return strconv.FormatUint(binary.LittleEndian.Uint64(b[:])>>1, 10)
}

// encode returns v as it is stored.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return b
}

// next returns the row that follows r: the next fencing token, a new random token, and the given
// owner, layout and end.
func (r row) next(owner, layout string, until int64) row {
	r.Version = recordVersion
	r.FencingToken++
	r.Token, r.Owner, r.Layout, r.Until = newToken(), owner, layout, until
	return r
}

// is reports whether r is what o was when it was written. The token stands for the whole change.
// The end and whether there is an owner are compared for slots that were changed by hand. The
// owner's text is not, because a store may keep it in a narrower character set.
func (r row) is(o row) bool {
	return r.changedBy(o) && r.Until == o.Until && (r.Owner == "") == (o.Owner == "")
}

// changedBy reports whether the last change of r is that of o.
func (r row) changedBy(o row) bool {
	return r.worker == o.worker && r.FencingToken == o.FencingToken && r.Token == o.Token
}

// behind reports whether r, as it was found, cannot have come after known, a row that was there:
// fencing tokens grow, each is written once, and no owner leaves an end that is earlier than the
// one it found.
func (r row) behind(known row) bool {
	return r.FencingToken < known.FencingToken || r.FencingToken == known.FencingToken &&
		r.Token != known.Token || r.Until < known.Until
}

// exists reports whether the store has an entry of r.
func (r row) exists() bool { return r.entry.Version != "" }

// note says that a worker id was given out. It is made before the slot, and never changed. It stays
// when the slot is deleted by hand: nobody can tell then up to when ids were stamped with the
// worker id, so it is not given out again.
type note struct {
	Version int    `json:"v"`
	Token   string `json:"token"` // random, which tells whose note it is
}

// noteName returns the name of a worker id's note.
func noteName(worker int64) string { return notePrefix + strconv.FormatInt(worker, 10) }

// slotName returns the name of a worker id's slot.
func slotName(worker int64) string { return slotPrefix + strconv.FormatInt(worker, 10) }

// slotWorker returns the worker id of a slot's name.
func slotWorker(name string) (worker int64, ok bool) {
	return storekind.WorkerOf(name, slotPrefix)
}

// parseRow reads a slot. A slot that does not exist is a row with fencing token 0.
func parseRow(e Entry) (row, error) {
	worker, _ := slotWorker(e.Name)
	r := row{worker: worker, entry: e}
	if e.Version == "" {
		return r, nil
	}
	r.FencingToken = -1 // unless the text has one
	err := json.Unmarshal(e.Value, &r)
	switch {
	case err != nil:
		err = fmt.Errorf("%s: %w", e.Name, err)
	case r.Version != recordVersion:
		err = fmt.Errorf("%s has version %d, want %d", e.Name, r.Version, recordVersion)
	case r.FencingToken < 0 || r.FencingToken > maxMillis:
		err = fmt.Errorf("%s has gen %d, want 0 to %d",
			e.Name, r.FencingToken, int64(maxMillis))
	case r.Until < 0 || r.Until > maxMillis:
		err = fmt.Errorf("%s has until_ms %d, want 0 to %d",
			e.Name, r.Until, int64(maxMillis))
	}
	return r, err
}

// millis returns the instant of a Unix millisecond, and the zero time for 0, which stands for the
// beginning of time.
func millis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// lastYear is the last year that a window may end in. Its milliseconds are far below maxMillis.
const lastYear = 9999

// ceilMillis returns the first Unix millisecond at or after t, from 0 on. It rounds up, so that a
// window in the store is never shorter than the one that was asked for.
func ceilMillis(t time.Time) int64 {
	if t.Before(time.UnixMilli(0)) {
		return 0 // far enough back, milliseconds would wrap around
	}
	ms := t.UnixMilli()
	if t.After(time.UnixMilli(ms)) {
		ms++
	}
	return ms
}
