package uid_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// everyField is a Stats whose fields all have values, and differ.
func everyField() uid.Stats {
	at := time.Date(2026, time.March, 4, 6, 6, 7, 800_000_000, time.FixedZone("", 3600))
	return uid.Stats{Layout: bitsalloc.Layout{TimeBits: 40, WorkerBits: 10, SeqBits: 13,
		Tick: time.Second, Epoch: bubbleEpoch},
		Expires: at.AddDate(9, 0, 0), Worker: 7, Authority: "a registry", Universe: "4711", WindowFrom: at,
		WindowUntil: at.Add(time.Hour), IDsUntil: at.Add(2 * time.Hour),
		LastExtended: at.Add(3 * time.Hour), FailingSince: at.Add(4 * time.Hour),
		ExtendErr: errDown, Claims: 11, ClaimsLost: 12, Extends: 13, ExtendFailures: 14,
		Position: at.Add(5 * time.Hour), Lead: 1500 * time.Millisecond, Lag: 2 * time.Minute,
		Issued: 15, Tail: 16, Cursor: 17, Len: 18, Cap: 19, RunLength: 20, Lanes: 21,
		RunsTaken: 22, RunsStale: 23, PadderRuns: 24, Pads: 25, Waits: 26, Waited: 27,
		RejectsEmpty: 28, RejectsLead: 29, RejectsClaim: 30, RejectsExhausted: 31,
		RejectsRollback: 32, RejectsPut: 33, ClockHeld: time.Hour, Err: uid.ErrLead}
}

// TestStatsEveryField has every figure in the JSON form under its key, in the order of Stats, and
// the same ones in the slog form. Zero figures are left out, but for the worker id.
func TestStatsEveryField(t *testing.T) {
	t.Parallel()
	s := everyField()
	for i, v := 0, reflect.ValueOf(s); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("the test gives Stats.%s no value", v.Type().Field(i).Name)
		}
	}
	for _, tc := range []struct {
		s    uid.Stats
		want string
	}{
		{s, `{"status":"down","worker":7,"authority":"a registry","universe":"4711",` +
			`"layout":"40-10-13-0/1s@1999-12-31T00:00:00Z","expires":"2035-03-04T05:06:07.8Z",` +
			`"window_from":"2026-03-04T05:06:07.8Z","window_until":"2026-03-04T06:06:07.8Z",` +
			`"ids_until":"2026-03-04T07:06:07.8Z","last_extended":"2026-03-04T08:06:07.8Z",` +
			`"failing_since":"2026-03-04T09:06:07.8Z","extend_error":"no route to host",` +
			`"claims":11,"claims_lost":12,"extends":13,"extend_failures":14,` +
			`"position":"2026-03-04T10:06:07.8Z","lead":"1.5s","lag":"2m0s","issued":15,` +
			`"tail":16,"cursor":17,"len":18,"cap":19,"run_length":20,"lanes":21,` +
			`"runs_taken":22,"runs_stale":23,"padder_runs":24,"pads":25,"waits":26,` +
			`"waited":"27ns","rejects_empty":28,"rejects_lead":29,"rejects_claim":30,` +
			`"rejects_exhausted":31,"rejects_rollback":32,"rejects_put":33,"clock_held":"1h0m0s",` +
			`"error":"uid: too far ahead of the clock"}`},
		{uid.Stats{}, `{"status":"up","worker":0,"layout":"` + uid.Stats{}.Layout.String() + `"}`},
	} {
		b, err := json.Marshal(tc.s)
		if string(b) != tc.want || err != nil {
			t.Errorf("the JSON form is\n%s, %v, want\n%s", b, err, tc.want)
		}
		var fields map[string]any
		if err := json.Unmarshal(b, &fields); err != nil {
			t.Fatal(err)
		}
		group := tc.s.LogValue().Group()
		for _, a := range group {
			if got, want := a.Value.String(), fmt.Sprint(fields[a.Key]); got != want {
				t.Errorf("the slog form of %s is %s, want %s", a.Key, got, want)
			}
		}
		if len(group) != len(fields) {
			t.Errorf("the slog form has %d figures, the JSON form %d", len(group), len(fields))
		}
	}
}

// TestStatsLine reads the line for a person: why the generator is not up, and its window, if there
// is something to say of the two.
func TestStatsLine(t *testing.T) {
	t.Parallel()
	l := bitsalloc.Layout{TimeBits: 40, WorkerBits: 10, SeqBits: 13, Epoch: bubbleEpoch}
	until := time.Date(2026, time.March, 4, 6, 6, 7, 0, time.FixedZone("", 3600))
	for _, tc := range []struct {
		s    uid.Stats
		want string
	}{
		{uid.Stats{Layout: l, Worker: 7, Lead: time.Second},
			"worker 7 of 40-10-13-0/1s@1999-12-31T00:00:00Z, up, lead 1s, lag 0s"},
		{uid.Stats{Layout: l, WindowUntil: until, Err: errors.New("no luck"), Lag: time.Minute},
			"worker 0 of 40-10-13-0/1s@1999-12-31T00:00:00Z, down (no luck), " +
				"window until 2026-03-04T05:06:07Z, lead 0s, lag 1m0s"},
	} {
		if got := tc.s.String(); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

// TestStatsOfGenerator has a generator's text be that of its Stats.
func TestStatsOfGenerator(t *testing.T) {
	eachKind(t, uid.Both{}, nil, func(t *testing.T, g uid.Generator, _ *place,
		_ *uid.TestClock) {
		mustNext(t, g)
		synctest.Wait()
		s := g.Stats()
		if got := fmt.Sprint(g); got != s.String() {
			t.Errorf("a generator's text is %q, want %q", got, s)
		}
	})
}
