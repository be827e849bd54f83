package service_test

import (
	"errors"
	"image"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/uid"
)

// moving is a source whose lead and lag go up and down, and which fails for a while, once a call.
type moving struct {
	uid.Generator

	mu sync.Mutex
	n  int
}

func (m *moving) Stats() uid.Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n++
	now, l := time.Now(), bitsalloc.Layout{}
	a, err := bitsalloc.New(l)
	if err != nil {
		panic(err)
	}
	s := uid.Stats{Layout: a.Layout(), Expires: a.Expires(), Worker: 4711, Claims: 2, ClaimsLost: 1,
		Extends: 96, ExtendFailures: 4,
		WindowUntil: now.Add(8 * time.Minute), IDsUntil: now.Add(8 * time.Minute),
		LastExtended: now.Add(-12 * time.Minute),
		Len:          49_152, Cap: 65_536, RunLength: 512, Lanes: 8, RunsTaken: 123_456, RunsStale: 789, Pads: 3,
		Issued: int64(m.n) * 40_000, Waits: 12, Waited: 340 * time.Millisecond, RejectsClaim: 3}
	if m.n%50 < 20 {
		s.Lead = time.Duration(m.n%50) * time.Second / 4
	} else {
		s.Lag = time.Duration(m.n%7) * 200 * time.Millisecond
	}
	if m.n%40 < 12 {
		s.ExtendErr = errors.New("dial tcp 10.0.0.7:3306: connect: no route to host")
		s.FailingSince = now.Add(-time.Minute)
	}
	return s
}

// TestGeneratorsPageInBrowser renders the page in a real browser, light, dark and on a phone, and looks for
// what a reader sees.
func TestGeneratorsPageInBrowser(t *testing.T) {
	t.Parallel()
	page := service.NewPage(map[string]uid.Generator{"orders": &moving{}, "payments": fixed{stats: uid.Stats{
		Layout: compat.Twitter(), Worker: 12, Err: uid.ErrClaimExpired, RejectsClaim: 17,
	}}})
	defer page.Close()
	page.AddSegments("numbers", tags{Tags: []segment.TagStats{
		{Tag: "invoices", Left: 1_834, Step: 2_000, Fetches: 96, LastFetch: time.Now().Add(-time.Minute)},
		{Tag: "parcels", Left: 12, Step: 1_000, Fetches: 4_711, Failures: 3, Waits: 2,
			LastFetch: time.Now().Add(-time.Hour), Err: errNoRoute},
	}})
	page.Look(200)
	server := httptest.NewServer(page)
	defer server.Close()
	for name, c := range map[string]struct {
		size    image.Point
		dark    bool
		colours map[string]rgb
	}{
		"light": {image.Point{X: 1300, Y: 2200}, false, map[string]rgb{
			"ground": {0xf5, 0xf7, 0xf8}, "lead": {0x2f, 0x6f, 0xbd}, "lag": {0xa8, 0x57, 0x0a},
			"degraded": {0x9a, 0x62, 0}, "down": {0xb3, 0x26, 0x1e}}},
		"dark": {image.Point{X: 1300, Y: 1400}, true, map[string]rgb{
			"ground": {0x17, 0x1b, 0x20}, "lead": {0x6a, 0xa5, 0xea}, "lag": {0xe0, 0xa0, 0x5a},
			"down": {0xf2, 0x8b, 0x82}}},
		"phone": {image.Point{X: 390, Y: 2600}, false, map[string]rgb{
			"ground": {0xf5, 0xf7, 0xf8}, "lead": {0x2f, 0x6f, 0xbd}, "lag": {0xa8, 0x57, 0x0a},
			"down": {0xb3, 0x26, 0x1e}}},
	} {
		t.Run(name, func(t *testing.T) {
			pixels := pixels(t, server.URL, c.size, c.dark)
			for what, rgb := range c.colours {
				least := 40
				if what == "lag" { // a line across the chart
					least = 400
				}
				if pixels[rgb] < least {
					t.Errorf("%d pixels have the colour of %s, want %d or more", pixels[rgb], what, least)
				}
			}
		})
	}
}
