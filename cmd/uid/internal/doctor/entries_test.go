package doctor

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cmd/uid/internal/workerlist"
)

// TestLostWorkerIDs: worker ids that were given out and have no slot are a warning where they are more
// than a fifth of the layout's.
func TestLostWorkerIDs(t *testing.T) {
	t.Parallel()
	p := &Patient{Text: error.Error}
	for _, tt := range []struct {
		used  int64
		slots int
		room  int64
		want  Verdict
		text  string
	}{
		{1, 1, 4, OK, "a header, 1 worker id given out, and 1 slot"},
		{4, 0, 4, Warn, "a header, 4 worker ids given out, and 0 slots; of the layout's 4 worker ids 4 have no slot " +
			"and are not given out again"},
		{2, 1, 4, Warn, "worker ids 1 have no slot"},
		{104, 100, 1024, OK, "a header, 104 worker ids given out, and 100 slots"},
		{304, 100, 1024, OK, "100 slots"},
		{305, 100, 1024, Warn, "of the layout's 1,024 worker ids 205 have no slot"},
		{5001, 1, 1 << 22, OK, "1 slot"},
		{0, 1000, 1024, OK, "1000 slots"}, // of a version that made no notes
	} {
		found := p.judge(lease.Condition{Header: true, Slots: tt.slots, Used: tt.used}, tt.room)
		if len(found) != 1 || found[0].Verdict != tt.want || !strings.HasSuffix(found[0].Text, tt.text) &&
			!strings.Contains(found[0].Text, tt.text) || found[0].Advice == "" == (tt.want == Warn) {
			t.Errorf("%d of %d used, %d slots: %+v, want %s: %s", tt.used, tt.room, tt.slots, found, tt.want, tt.text)
		}
	}
	c := lease.Condition{Header: true, Used: 4, Faults: []error{errors.New("a fault")}}
	if found := p.judge(c, 4); len(found) != 1 || found[0].Verdict != Fail {
		t.Errorf("with a fault: %+v, want it alone", found)
	}
}

// TestRoom: the layouts of the slots say how many worker ids there are, by the era that has the fewest,
// and without one those that are to be deployed.
func TestRoom(t *testing.T) {
	t.Parallel()
	eras, err := bitsalloc.ParseEras("28-22-13,36-14-13@2033-01-01T00:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	for list, want := range map[string]int64{
		"": 1 << 14, "what?": 1 << 14, "28-22-13": 1 << 22, "47-3-13": 8,
		"28-22-13,36-14-13@2033-01-01T00:00:00Z": 1 << 14, "36-14-13,28-22-13@2033-01-01T00:00:00Z": 1 << 14,
	} {
		p := &Patient{Eras: eras, Leases: func(context.Context) ([]workerlist.Lease, error) {
			return []workerlist.Lease{{}, {Slot: lease.Slot{Layout: list}}}, nil
		}}
		if got, err := p.room(t.Context()); err != nil || got != want {
			t.Errorf("slots of %q: room for %d, %v, want %d", list, got, err, want)
		}
	}
	lost := errors.New("lost")
	p := &Patient{Eras: eras, Leases: func(context.Context) ([]workerlist.Lease, error) { return nil, lost }}
	if _, err := p.room(t.Context()); !errors.Is(err, lost) {
		t.Errorf("room without an answer = %v, want %v", err, lost)
	}
}
