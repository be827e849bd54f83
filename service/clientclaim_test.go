package service_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc/compat"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/uid"
)

// swapped is a handler that a test replaces while it serves.
type swapped struct{ h atomic.Pointer[http.Handler] }

func (s *swapped) set(h http.Handler) { s.h.Store(&h) }

func (s *swapped) ServeHTTP(w http.ResponseWriter, r *http.Request) { (*s.h.Load()).ServeHTTP(w, r) }

// down closes every connection without an answer.
var down = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })

// TestClaimServers: a claim is lost when the server that made it has forgotten it, but not while that
// server is away and much of the window is left.
func TestClaimServers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		length time.Duration
		fate   func(m *claimtest.Memory) http.Handler // what replaces the server that made the claim
		lost   bool
	}{
		{"goes on", time.Hour, nil, false},
		{"restarted", time.Hour, func(m *claimtest.Memory) http.Handler {
			return serve(t, &counters{}, m)
		}, true},
		{"away", time.Hour, func(*claimtest.Memory) http.Handler { return down }, false},
		{"away for long", time.Minute, func(*claimtest.Memory) http.Handler { return down }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &claimtest.Memory{Length: tt.length}
			home, other := &swapped{}, &swapped{}
			home.set(serve(t, &counters{}, m))
			other.set(down)
			c := client(t, nil, listen(t, home), listen(t, other))
			claim, err := c.BindLayout(layout).Assign(t.Context(), 7)
			if err != nil {
				t.Fatal(err)
			}
			if tt.fate != nil {
				home.set(tt.fate(m))
			}
			other.set(serve(t, &counters{}, m))
			_, until := claim.Window()
			got, err := claim.Extend(t.Context(), until.Add(time.Hour))
			if errors.Is(err, assigner.ErrClaimLost) != tt.lost || (err == nil) != (tt.fate == nil) {
				t.Errorf("Extend = %v, %v, want a lost claim: %v", got, err, tt.lost)
			}
			if _, after := claim.Window(); err != nil && !after.Equal(until) {
				t.Errorf("after a failed Extend the window ends at %v, want %v", after, until)
			}
			next, err := c.BindLayout(layout).Assign(t.Context(), 7)
			if err != nil || next.Worker() == claim.Worker() {
				t.Errorf("Assign = %v, %v, want another worker id than %d", next, err, claim.Worker())
			}
		})
	}
}

// TestClientUnbound: a claim that is not bound to a layout is refused at once.
func TestClientUnbound(t *testing.T) {
	t.Parallel()
	c := client(t, nil, listen(t, serve(t, &counters{}, &claimtest.Memory{})))
	claim, err := c.Assign(t.Context(), 7)
	if err == nil || !strings.Contains(err.Error(), "layout is missing") {
		t.Errorf("Assign without a layout = %v, %v, want an error with the field's name", claim, err)
	}
}

// TestBeyondReach: the refusal of a window that would end too far beyond the authority's clock arrives
// as what it is, with its words, and does not end the claim.
func TestBeyondReach(t *testing.T) {
	t.Parallel()
	m := &claimtest.Memory{TellTime: true}
	c := client(t, nil, listen(t, serve(t, &counters{}, m)))
	claim, err := c.BindLayout(layout).Assign(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	m.Fail(fmt.Errorf("%w: it is noon there", assigner.ErrBeyondReach), claimtest.OpExtend)
	_, until := claim.Window()
	far := time.Date(2999, time.January, 1, 0, 0, 0, 0, time.UTC)
	if _, err := claim.Extend(t.Context(), far); !errors.Is(err, assigner.ErrBeyondReach) ||
		errors.Is(err, assigner.ErrClaimLost) || !strings.Contains(err.Error(), "it is noon there") {
		t.Errorf("Extend to %v = %v, want ErrBeyondReach", far, err)
	}
	m.Fail(nil, claimtest.OpExtend)
	if _, err := claim.Extend(t.Context(), until.Add(time.Minute)); err != nil {
		t.Errorf("Extend after a refusal = %v", err)
	}
}

// TestSpan: the length of a new window arrives. A claim without one has a Span of 0.
func TestSpan(t *testing.T) {
	t.Parallel()
	for want, a := range map[time.Duration]assigner.Assigner{
		0:                claimtest.Static(1),
		time.Millisecond: &claimtest.Memory{TellTime: true, Span: time.Millisecond},
		20 * time.Minute: &claimtest.Memory{Span: 20 * time.Minute},
	} {
		c := client(t, nil, listen(t, serve(t, &counters{}, a)))
		claim, err := c.BindLayout(layout).Assign(t.Context(), 7)
		if err != nil {
			t.Fatal(err)
		}
		w, ok := claim.(assigner.Windowed)
		if !ok || w.Span() != want {
			t.Errorf("the claim is Windowed: %v, want a span of %v", ok, want)
		}
	}
}

// called is an authority whose claims say what their universe of ids is called.
type called struct {
	assigner.Assigner
	name *atomic.Value
}

func (a called) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	c, err := a.Assigner.Assign(ctx, maxWorker)
	return calledClaim{c, a.name}, err
}

// calledClaim is a claim of one.
type calledClaim struct {
	assigner.Claim
	name *atomic.Value
}

func (c calledClaim) Universe() string { return c.name.Load().(string) }

// TestUniverse: the name of the universe arrives with a claim, and with an extension, because one that an
// earlier version has dropped is drawn again. A name that is too long for a label is refused.
func TestUniverse(t *testing.T) {
	t.Parallel()
	var name atomic.Value
	name.Store("4711")
	c := client(t, nil, listen(t, serve(t, &counters{}, called{&claimtest.Memory{}, &name})))
	claim, err := c.BindLayout(layout).Assign(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	named := claim.(assigner.Named)
	_, until := claim.Window()
	for i, tt := range []struct {
		name, want string
		ok         bool
	}{{"4711", "4711", true}, {"4712", "4712", true}, {strings.Repeat("5", 65), "4712", false}} {
		name.Store(tt.name)
		_, err := claim.Extend(t.Context(), until.Add(time.Duration(i+1)*time.Minute))
		if got := named.Universe(); got != tt.want || (err == nil) != tt.ok {
			t.Errorf("after an extension of %.8q the universe is called %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := c.BindLayout(layout).Assign(ctx, 7); err == nil {
		t.Error("Assign takes a name of 65 bytes, want an error")
	}
}

// TestClockAhead: a generator whose clock is ahead of the authority's extends by a whole window. By its
// own clock nothing is left of the window.
func TestClockAhead(t *testing.T) {
	t.Parallel()
	const window = 20 * time.Minute
	m := &claimtest.Memory{Length: window, Span: window}
	m.Step(2*time.Second - window) // the window ends in 2 s by this machine's clock
	c := client(t, nil, listen(t, serve(t, &counters{}, m)))
	g, err := uid.NewDefault(t.Context(), c, &uid.DefaultOptions{Layout: compat.Twitter()})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for deadline := time.Now().Add(20 * time.Second); len(m.Calls(claimtest.OpExtend)) == 0; {
		if time.Now().After(deadline) {
			t.Fatal("no extension within 20 s")
		}
		time.Sleep(time.Millisecond)
	}
	call := m.Calls(claimtest.OpExtend)[0]
	if asked := call.Asked.Sub(call.At); asked < window-time.Second {
		t.Errorf("asked for %v beyond now, want %v", asked, window)
	}
}

// TestNotAnswers: an answer to a request about a claim that makes no sense changes nothing, and another
// address of the server is asked.
func TestNotAnswers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{}`, `{"worker":1,"until":"2999-01-01T00:00:00Z"}`} {
		home, other := &swapped{}, &swapped{}
		h := serve(t, &counters{}, &claimtest.Memory{TellTime: true})
		home.set(h)
		other.set(down)
		c := client(t, nil, listen(t, home), listen(t, other))
		claim, err := c.BindLayout(layout).Assign(t.Context(), 7)
		if err != nil {
			t.Fatal(err)
		}
		home.set(answer(200, text))
		if now, err := claim.(assigner.Clock).Now(t.Context()); err == nil {
			t.Errorf("Now with the answer %s = %v, want an error", text, now)
		}
		_, until := claim.Window()
		later := until.Add(time.Minute)
		if got, err := claim.Extend(t.Context(), later); err == nil || errors.Is(err, assigner.ErrClaimLost) {
			t.Errorf("Extend with the answer %s = %v, %v, want a temporary error", text, got, err)
		}
		if _, after := claim.Window(); !after.Equal(until) {
			t.Errorf("the window ends at %v, want %v", after, until)
		}
		other.set(h)
		if got, err := claim.Extend(t.Context(), later); err != nil || !got.Equal(later) {
			t.Errorf("Extend at the other address = %v, %v, want %v", got, err, later)
		}
	}
}

// TestAnswersApart: nothing of an answer that was passed over is left in the claim.
func TestAnswersApart(t *testing.T) {
	t.Parallel()
	bad := listen(t, answer(200, claimText(-1, "2026-01-02T00:00:00Z", "2999-01-02T00:00:00Z")))
	good := listen(t, answer(200, spanText(0)))
	for range 20 { // the first is sent to either server
		claim, err := client(t, nil, bad, good).BindLayout(layout).Assign(t.Context(), 7)
		if err != nil {
			t.Fatal(err)
		}
		_, clock := claim.(assigner.Clock)
		if from, until := claim.Window(); !from.IsZero() || !until.IsZero() || clock {
			t.Fatalf("the window is [%v, %v) with a clock: %v, want no bounds and no clock", from, until, clock)
		}
	}
}

// TestOtherAddress: a claim is found at its server's other address, although a server in between does not
// know it.
func TestOtherAddress(t *testing.T) {
	t.Parallel()
	m := &claimtest.Memory{Length: time.Minute}
	h := serve(t, &counters{}, m)
	home, between, other := &swapped{}, &swapped{}, &swapped{}
	home.set(h)
	between.set(down)
	other.set(down)
	c := client(t, nil, listen(t, home), listen(t, between), listen(t, other))
	claim, err := c.BindLayout(layout).Assign(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	_, until := claim.Window()
	home.set(down)
	between.set(serve(t, &counters{}, m))
	other.set(h)
	later := until.Add(time.Minute)
	if got, err := claim.Extend(t.Context(), later); err != nil || !got.Equal(later) {
		t.Errorf("Extend = %v, %v, want %v", got, err, later)
	}
	home.set(serve(t, &counters{}, m)) // it was restarted, which is final
	if got, err := claim.Extend(t.Context(), later.Add(time.Hour)); !errors.Is(err, assigner.ErrClaimLost) {
		t.Errorf("Extend at a server that was restarted = %v, %v, want a lost claim", got, err)
	}
}

// lossy loses the answers to the next lose requests.
type lossy struct{ lose atomic.Int64 }

func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && l.lose.Add(-1) >= 0 {
		response.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return response, err
}

// TestLostAnswers: a claim whose answer was lost is made again, on another worker id. An extension
// and a release whose answers were lost can be repeated.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	m := &claimtest.Memory{}
	transport := &lossy{}
	c := client(t, &service.ClientOptions{Transport: transport}, listen(t, serve(t, &counters{}, m)))
	transport.lose.Store(3)
	claim, err := c.BindLayout(layout).Assign(t.Context(), 7)
	if err != nil || claim.Worker() != 3 {
		t.Fatalf("Assign = %v, %v, want worker id 3", claim, err)
	}
	_, until := claim.Window()
	transport.lose.Store(1)
	if _, err := claim.Extend(t.Context(), until.Add(time.Hour)); err == nil || errors.Is(err, assigner.ErrClaimLost) {
		t.Errorf("Extend whose answer is lost = %v, want a temporary error", err)
	}
	if got, err := claim.Extend(t.Context(), until.Add(time.Hour)); err != nil || !got.Equal(until.Add(time.Hour)) {
		t.Errorf("Extend again = %v, %v, want an hour more", got, err)
	}
	transport.lose.Store(1)
	if err := claim.Release(t.Context(), until); err == nil {
		t.Error("Release whose answer is lost = nil, want an error")
	}
	if err := claim.Release(t.Context(), until); err != nil {
		t.Errorf("Release again = %v", err)
	}
	if err := m.Windows().Overlap(); err != nil {
		t.Error(err)
	}
}

// TestGenerator: segment.Generator works on a Client.
func TestGenerator(t *testing.T) {
	t.Parallel()
	c := client(t, nil, listen(t, serve(t, &counters{}, &claimtest.Memory{})))
	g, err := segment.New(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	last := int64(-1)
	for range 1000 {
		id, err := g.Next(t.Context(), "order")
		if err != nil || id <= last {
			t.Fatalf("Next = %d, %v after %d", id, err, last)
		}
		last = id
	}
	if _, err := g.Next(t.Context(), "nobody"); !errors.Is(err, segment.ErrUnknownTag) {
		t.Errorf("Next of an unknown tag = %v, want ErrUnknownTag", err)
	}
}
