package service_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/service"
)

// TestLiar: a server that hands out the same ids again and again cannot turn off the comparison of
// ranges, whatever it says of its counter. No id is handed out twice.
func TestLiar(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"plain":          `{"from":"1","to":"1001","stride":1,"step":1000,"origin":0,"cyclic":false}`,
		"cyclic":         `{"from":"1","to":"1001","stride":1,"step":1000,"origin":0,"cyclic":true}`,
		"growing origin": `{"from":"1","to":"1001","stride":1,"step":1000,"origin":%d,"cyclic":false}`,
		"growing origin and step": `{"from":"1","to":"1001","stride":%d,"step":1000,"origin":%[1]d,` +
			`"cyclic":false}`,
		"growing origin, cyclic": `{"from":"1","to":"1001","stride":1,"step":1000,"origin":%d,"cyclic":true}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			liar := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body := text
				if n := asked.Add(1); strings.Contains(text, "%") {
					body = fmt.Sprintf(text, n)
				}
				answer(200, body).ServeHTTP(w, r)
			}))
			g, err := segment.New(t.Context(), client(t, nil, liar), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			seen, twice := map[int64]bool{}, 0
			for range 6_000 {
				var id int64
				if id, err = g.Next(ctx, "order"); err != nil {
					break
				}
				if seen[id] {
					twice++
				}
				seen[id] = true
			}
			if twice > 0 || err == nil {
				t.Errorf("%d of %d ids were repeated, and the last error is %v", twice, len(seen)+twice, err)
			}
			switch temporary := errors.Is(err, context.DeadlineExceeded); {
			case strings.Contains(name, "cyclic"):
				if !temporary || !strings.Contains(err.Error(), "cyclic is true") {
					t.Errorf("the error is %v, want one that says cyclic", err)
				}
			case !errors.Is(err, segment.ErrBadRange) && !errors.Is(err, segment.ErrRangeWentBack):
				t.Errorf("the error is %v, want one that names the ranges", err)
			}
		})
	}
}

// TestCyclic: a counter that begins again is served to a client that asks for it. Another client
// passes over that server.
func TestCyclic(t *testing.T) {
	t.Parallel()
	const text = `{"from":"0","to":"10","stride":1,"step":10,"origin":0,"cyclic":true}`
	cyclic := listen(t, answer(200, text))
	c := client(t, &service.ClientOptions{Cyclic: true}, cyclic)
	for range 3 {
		r, err := c.Fetch(t.Context(), "order", 1)
		if want := (segment.Range{To: 10, Stride: 1, Step: 10, Cyclic: true}); r != want || err != nil {
			t.Errorf("Fetch = %+v, %v, want %+v", r, err, want)
		}
	}
	c = client(t, nil, cyclic, listen(t, serve(t, &counters{}, nil)))
	if r, err := c.Fetch(t.Context(), "order", 1); err != nil || r.Cyclic {
		t.Errorf("Fetch = %+v, %v, want a range of the other server", r, err)
	}
}

// TestClaimFarAhead: a claim that begins far ahead of the local clock is not taken, because its ids
// would be of that time.
func TestClaimFarAhead(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	for name, tt := range map[string]struct {
		from  time.Duration // from now
		span  time.Duration
		taken bool
	}{
		"past":                  {-10 * year, 0, true},
		"now":                   {0, 0, true},
		"a day":                 {24 * time.Hour, 0, true},
		"two days":              {48 * time.Hour, 20 * time.Minute, false},
		"2060":                  {34 * year, time.Hour, false},
		"three windows of days": {6 * 24 * time.Hour, 48 * time.Hour, true},
		"five windows of days":  {10 * 24 * time.Hour, 48 * time.Hour, false},
		"the longest span":      {3 * year, 366 * 24 * time.Hour, true},
		"2060, and a long span": {34 * year, 366 * 24 * time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := time.Now().Add(tt.from).UTC()
			liar := listen(t, answer(200, fmt.Sprintf(`{"claim":"k","worker":3,"from":%q,"until":%q,`+
				`"tells_time":true,"span_ms":%d}`, from.Format(time.RFC3339Nano),
				from.Add(time.Hour).Format(time.RFC3339Nano), tt.span.Milliseconds())))
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if !tt.taken {
				ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
			}
			claim, err := client(t, nil, liar).BindLayout(layout).Assign(ctx, 7)
			if (err == nil) != tt.taken {
				t.Fatalf("Assign = %v, %v, want a claim: %v", claim, err, tt.taken)
			}
			if err == nil {
				return
			}
			for _, part := range []string{"the window begins at " + from.String(), "want at most ",
				"the local clock's", "one of the clocks is wrong"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error is %v, want %q in it", err, part)
				}
			}
		})
	}
}
