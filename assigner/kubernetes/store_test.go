package kubernetes_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/kubernetes"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/claimtest"
)

const maxWorker = 1023

func ExampleNew() {
	cluster, err := kubernetes.InCluster()
	if err != nil {
		fmt.Println("not in a pod")
		return
	}
	a, err := kubernetes.New(cluster, &kubernetes.Options{Namespace: "orders"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	claim, err := a.Assign(ctx, maxWorker)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(claim.Worker())
	// Output: not in a pod
}

// patience returns a context for an Assign that should not have to wait. It ends, because an Assigner
// tries for as long as it may.
func patience(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func assign(t *testing.T, c *kubernetes.Cluster, o *kubernetes.Options) assigner.Claim {
	t.Helper()
	claim, err := open(c, o).Assign(patience(t), maxWorker)
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

// TestString: errors and Assigner say where the leases are, and under which name.
func TestString(t *testing.T) {
	t.Parallel()
	a, err := kubernetes.New(&kubernetes.Cluster{Server: "https://127.0.0.1:1/proxy", Namespace: "orders"},
		&kubernetes.Options{Namespace: "ids"})
	if err != nil {
		t.Fatal(err)
	}
	const want = "kubernetes at 127.0.0.1:1, namespace orders, leases ids-*"
	if got := a.String(); got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := a.Assign(ctx, 7); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Assign = %v, want an error with %q", err, want)
	}
}

// TestObjects: kubectl shows which process has a worker id and until when, and two names share
// nothing.
func TestObjects(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	o := &kubernetes.Options{Namespace: "orders", Lease: lease.Options{Owner: "orders-abc"}}
	c := assign(t, f.cluster(), o)
	other := assign(t, f.cluster(), &kubernetes.Options{Namespace: "users"})
	if c.Worker() != 0 || other.Worker() != 0 {
		t.Errorf("first workers of two names = %d and %d, want 0 and 0", c.Worker(), other.Worker())
	}
	for _, name := range []string{"orders-header", "orders-slot-0", "users-header", "users-slot-0"} {
		if f.objects[name] == nil {
			t.Errorf("there is no object %q", name)
		}
	}
	l := f.objects["orders-slot-0"]
	spec, _ := l["spec"].(map[string]any)
	if got := spec["holderIdentity"]; got != "orders-abc" {
		t.Errorf("holderIdentity = %v, want the owner", got)
	}
	if got, _ := spec["leaseDurationSeconds"].(float64); got < 1190 || got > 1201 {
		t.Errorf("leaseDurationSeconds = %v, want the window's 1200", got)
	}
	renewed, err := time.Parse(time.RFC3339Nano, fmt.Sprint(spec["renewTime"]))
	if d := time.Since(renewed).Abs(); err != nil || d > time.Minute {
		t.Errorf("renewTime = %v, want now", spec["renewTime"])
	}
	if got := l.label("uidring.github.io/ids"); got != "orders" {
		t.Errorf("label = %q, want orders", got)
	}
	if err := c.Release(t.Context(), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if spec, _ := f.objects["orders-slot-0"]["spec"].(map[string]any); spec["holderIdentity"] != nil {
		t.Errorf("after Release: holderIdentity = %v, want none", spec["holderIdentity"])
	}
	now, err := other.(assigner.Clock).Now(t.Context())
	if d := time.Since(now).Abs(); err != nil || d > 3*time.Second {
		t.Errorf("Now = %v, %v, want the server's time", now, err)
	}
}

// TestOverloaded: after 429 and 503 with Retry-After no request is made until that has passed, and
// then the claim is made.
func TestOverloaded(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		for _, header := range []string{"3", "date"} {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				turned := 0
				f.before = func(w http.ResponseWriter, _ *http.Request) bool {
					if turned == 2 {
						return false
					}
					turned++
					after := header
					if header == "date" {
						after = time.Now().Add(3 * time.Second).UTC().Format(http.TimeFormat)
					}
					w.Header().Set("Retry-After", after)
					status(w, code, "TooManyRequests", "please try again later")
					return true
				}
				assign(t, f.cluster(), nil)
				least := 3 * time.Second
				if header == "date" {
					least -= time.Second // a date has no fractions of a second
				}
				for i := range 2 {
					if d := f.times[i+1].Sub(f.times[i]); d < least || d > 6*time.Second {
						t.Errorf("%d, Retry-After %s: request %d came %v after the answer, want %v and "+
							"some jitter", code, header, i+2, d, least)
					}
				}
			})
		}
	}
}

// TestOverloadedTooLong: the error of a wait that ctx ends has the server's message.
func TestOverloadedTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.before = func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Retry-After", "100000000")
			status(w, http.StatusTooManyRequests, "TooManyRequests", "come back tomorrow")
			return true
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := open(f.cluster(), nil).Assign(ctx, maxWorker)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "come back tomorrow") {
			t.Errorf("error %v, want that of ctx and what the server said", err)
		}
		if n := len(f.requests); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
		// The pause of years was cut to half a minute.
		f.before = nil
		time.Sleep(40 * time.Second)
		assign(t, f.cluster(), nil)
	})
}

// TestRefusalHoldsNothingBack: a refusal with Retry-After holds no later request back.
func TestRefusalHoldsNothingBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.before = func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Retry-After", "20")
			status(w, http.StatusForbidden, "Forbidden", "no")
			return true
		}
		begin := time.Now()
		a := open(f.cluster(), nil)
		for range 2 {
			_, err := a.Assign(patience(t), maxWorker)
			if d := time.Since(begin); !errors.Is(err, lease.ErrRefused) || d != 0 {
				t.Errorf("Assign: %v after %v, want ErrRefused at once", err, d)
			}
		}
	})
}

// TestRefused: a refusal that another try does not change ends Assign at once, with a message for
// the operator.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		w    func(w http.ResponseWriter)
		want string
	}{
		{"forbidden", func(w http.ResponseWriter) {
			status(w, http.StatusForbidden, "Forbidden", `leases is forbidden: User "system:x" cannot list`)
		}, "get, list, create and update"},
		{"no account", func(w http.ResponseWriter) {
			status(w, http.StatusUnauthorized, "", "")
		}, "401"},
		{"another server", func(w http.ResponseWriter) { http.Error(w, "not here", http.StatusNotFound) }, "404"},
		{"invalid", func(w http.ResponseWriter) {
			status(w, http.StatusUnprocessableEntity, "Invalid", strings.Repeat("x", 1000))
		}, "xxx..."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.before = func(w http.ResponseWriter, _ *http.Request) bool { tt.w(w); return true }
			begin := time.Now()
			_, err := open(f.cluster(), nil).Assign(patience(t), maxWorker)
			if !errors.Is(err, lease.ErrRefused) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want ErrRefused with %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "the account needs") != (tt.name == "forbidden") {
				t.Errorf("error %v, want the rights where they lack", err)
			}
			if len(f.requests) != 1 || time.Since(begin) > 5*time.Second {
				t.Errorf("%d requests in %v, want 1 at once", len(f.requests), time.Since(begin))
			}
		})
	}
}

// TestForeignObject: an object that has the name of one of the store's, and not its label, is left
// alone.
func TestForeignObject(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.objects = map[string]object{"orders-header": {"kind": "Lease",
		"metadata": map[string]any{"name": "orders-header", "uid": "u", "resourceVersion": "1"}}}
	_, err := open(f.cluster(), &kubernetes.Options{Namespace: "orders"}).Assign(patience(t), maxWorker)
	if !errors.Is(err, lease.ErrRefused) || !strings.Contains(err.Error(), "uidring.github.io/ids=orders") {
		t.Errorf("error %v, want ErrRefused that names the label", err)
	}
	if f.changes != 0 {
		t.Errorf("%d changes, want none", f.changes)
	}
}

// TestAnswers: after an answer that is not the API server's the outcome is read back.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"html":         "<html>log in</html>",
		"empty":        "",
		"another type": `[]`,
		"other lease":  `{"metadata":{"name":"uidring-slot-0","labels":{"uidring.github.io/ids":"uidring"}}}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t)
			lies := 1
			f.before = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodGet || lies == 0 {
					return false
				}
				lies--
				f.before = nil
				f.mu.Unlock() // carried out, and answered with something else
				f.ServeHTTP(httptest.NewRecorder(), r)
				f.mu.Lock()
				w.Write([]byte(text))
				return true
			}
			assign(t, f.cluster(), nil)
			if lies != 0 {
				t.Errorf("%s: no change got the wrong answer, want one", name)
			}
		})
	}
}

// TestDeleted: an owner whose object was deleted stops at its window's end, and its worker id is not
// given out again.
func TestDeleted(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := assign(t, f.cluster(), nil)
	f.set(func(f *fake) { delete(f.objects, "uidring-slot-0") })
	other := assign(t, f.cluster(), nil)
	if other.Worker() == c.Worker() {
		t.Errorf("the object of worker id %d was deleted, and another owner got the worker id", c.Worker())
	}
	_, until := c.Window()
	_, err := c.Extend(t.Context(), until.Add(time.Minute))
	if !errors.Is(err, assigner.ErrWentBack) {
		t.Errorf("Extend of a deleted slot: error %v, want ErrWentBack", err)
	}
}

// TestUpdateNeverCreates: a claim whose object was deleted and made again meanwhile, with the same
// resourceVersion, makes no object anew.
func TestUpdateNeverCreates(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := assign(t, f.cluster(), nil)
	f.set(func(f *fake) {
		f.objects["uidring-slot-0"]["metadata"].(map[string]any)["uid"] = "another"
	})
	_, until := c.Window()
	before := f.changes
	f.before = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			t.Errorf("%s %s: a claim must not make an object anew", r.Method, r.URL.Path)
		}
		return false
	}
	// The claim reads the object, whose token is its own, and goes on with the new one.
	if _, err := c.Extend(t.Context(), until.Add(time.Minute)); err != nil && !errors.Is(err, assigner.ErrClaimLost) {
		t.Errorf("Extend: %v, want no error, or ErrClaimLost", err)
	}
	if f.changes == before {
		t.Log("Extend changed nothing")
	}
}

// TestRequests bounds how many requests a start and an extension make. They say what they are and want,
// and ask for no compression.
func TestRequests(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.before = func(_ http.ResponseWriter, r *http.Request) bool {
		want := map[string]string{"Accept-Encoding": "identity", "Accept": "application/json",
			"User-Agent": "uidring", "Content-Type": ""}
		if r.Method != http.MethodGet {
			want["Content-Type"] = "application/json"
		}
		if r.Method == http.MethodGet && r.ContentLength != 0 {
			t.Errorf("%s %s has a body", r.Method, r.URL.Path)
		}
		for name, value := range want {
			if got := r.Header.Get(name); got != value {
				t.Errorf("%s %s: %s is %q, want %q", r.Method, r.URL.Path, name, got, value)
			}
		}
		return false
	}
	assign(t, f.cluster(), nil)
	f.requests = nil
	c := assign(t, f.cluster(), nil)
	if n := len(f.requests); n > 5 {
		t.Errorf("a start makes %d requests, want at most 5: %q", n, f.requests)
	}
	f.requests = nil
	_, until := c.Window()
	if _, err := c.Extend(t.Context(), until.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if n := len(f.requests); n > 3 {
		t.Errorf("an extension makes %d requests, want at most 3: %q", n, f.requests)
	}
	if n := count(f.requests, "PUT "+leasesPath+"/uidring-slot-1"); n != 1 {
		t.Errorf("an extension makes %d changes, want 1: %q", n, f.requests)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	good := func() *kubernetes.Cluster { return newFake(t).cluster() }
	for _, tt := range []struct {
		name   string
		o      kubernetes.Options
		change func(c *kubernetes.Cluster)
		want   string
	}{
		{"name", kubernetes.Options{Namespace: "Orders"}, nil, `Options.Namespace is "Orders"`},
		{"long name", kubernetes.Options{Namespace: strings.Repeat("x", 41)}, nil, "1 to 40"},
		{"hyphen", kubernetes.Options{Namespace: "-x"}, nil, "Options.Namespace"},
		{"last hyphen", kubernetes.Options{Namespace: "x-"}, nil, "Options.Namespace"},
		{"window", kubernetes.Options{Lease: lease.Options{Window: 1}}, nil, "Window"},
		{"server", kubernetes.Options{}, func(c *kubernetes.Cluster) { c.Server = "host:6443" }, "Cluster.Server"},
		{"password", kubernetes.Options{},
			func(c *kubernetes.Cluster) { c.Server = "https://u:hunter2@host" }, "Cluster.Server"},
		{"no URL", kubernetes.Options{}, func(c *kubernetes.Cluster) { c.Server = "http://[::1" }, "Cluster.Server"},
		{"scheme", kubernetes.Options{}, func(c *kubernetes.Cluster) { c.Server = "ftp://host" }, "Cluster.Server"},
		{"no host", kubernetes.Options{}, func(c *kubernetes.Cluster) { c.Server = "https:///x" }, "Cluster.Server"},
		{"query", kubernetes.Options{}, func(c *kubernetes.Cluster) { c.Server += "?a=b" }, "Cluster.Server"},
		{"fragment", kubernetes.Options{}, func(c *kubernetes.Cluster) { c.Server += "#a" }, "Cluster.Server"},
		{"namespace", kubernetes.Options{}, func(c *kubernetes.Cluster) { c.Namespace = "a/b" }, "Cluster.Namespace"},
		{"no namespace", kubernetes.Options{}, func(c *kubernetes.Cluster) { c.Namespace = "" }, "Cluster.Namespace"},
		{"long namespace", kubernetes.Options{},
			func(c *kubernetes.Cluster) { c.Namespace = strings.Repeat("x", 64) }, "Cluster.Namespace"},
	} {
		c := good()
		if tt.change != nil {
			tt.change(c)
		}
		_, err := kubernetes.New(c, &tt.o)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.want)
		}
	}
	if _, err := kubernetes.New(nil, nil); err == nil {
		t.Error("New(nil, nil): no error")
	}
	longest := good()
	longest.Server, longest.Namespace = "https://host", strings.Repeat("x", 63)
	if _, err := kubernetes.New(longest, &kubernetes.Options{Namespace: strings.Repeat("9", 40)}); err != nil {
		t.Errorf("names of the greatest length: %v", err)
	}
}

// TestSlots: an operator sees which process has which worker id.
func TestSlots(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	a, err := kubernetes.New(f.cluster(), &kubernetes.Options{Lease: lease.Options{Owner: "me"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := a.Assign(patience(t), maxWorker); err != nil {
			t.Fatal(err)
		}
	}
	list, err := a.Slots(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("Slots = %v, %v, want 2", list, err)
	}
	if !slices.ContainsFunc(list, func(s lease.Slot) bool { return s.Worker == 1 && s.Owner == "me" }) {
		t.Errorf("Slots = %v, want worker 1 of %q", list, "me")
	}
}

// TestStore: what the store says of entries that are not there, of objects of another form, and of
// answers that have another object than was asked for.
func TestStore(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := kubernetes.NewStore(f.cluster(), "orders")
	none, err := s.Get(t.Context(), "slot-7")
	if err != nil || none.Name != "slot-7" || none.Version != "" {
		t.Errorf("Get of none = %+v, %v, want its name and no version", none, err)
	}
	e, err := s.Put(t.Context(), none, []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), none, []byte(`{}`)); !errors.Is(err, lease.ErrConflict) ||
		!strings.Contains(err.Error(), "creating lease orders-slot-7 in namespace team") {
		t.Errorf("another Put of none: %v, want ErrConflict that says what was tried", err)
	}
	f.objects["other"] = object{"kind": "Lease", "metadata": map[string]any{"name": "other",
		"labels": map[string]any{"uidring.github.io/ids": "orders"}}}
	if all, err := s.List(t.Context()); err != nil || len(all) != 1 || all[0].Version != e.Version {
		t.Errorf("List = %+v, %v, want the one slot", all, err)
	}
	for what, text := range map[string]string{
		"name": `{"metadata":{"name":"orders-slot-8","labels":{"uidring.github.io/ids":"orders"},` +
			`"annotations":{"uidring.github.io/slot":"{}"}}}`,
		"value": `{"metadata":{"name":"orders-slot-7","labels":{"uidring.github.io/ids":"orders"},` +
			`"annotations":{"uidring.github.io/slot":"[]"}}}`,
	} {
		f.before = func(w http.ResponseWriter, _ *http.Request) bool { w.Write([]byte(text)); return true }
		if got, err := s.Put(t.Context(), e, []byte(`{}`)); err == nil || errors.Is(err, lease.ErrRefused) {
			t.Errorf("Put whose answer has another %s = %+v, %v, want an error to try again", what, got, err)
		}
	}
	for _, code := range []int{http.StatusForbidden, http.StatusServiceUnavailable} {
		f.before = func(w http.ResponseWriter, _ *http.Request) bool { status(w, code, "", "no"); return true }
		_, err := s.Put(t.Context(), e, []byte(`{}`))
		if errors.Is(err, lease.ErrConflict) || errors.Is(err, lease.ErrRefused) != (code == http.StatusForbidden) {
			t.Errorf("Put that is answered by %d: %v, want no ErrConflict, and ErrRefused for 403", code, err)
		}
	}
	f.before = func(w http.ResponseWriter, r *http.Request) bool { http.NotFound(w, r); return true }
	if e, err := s.Get(t.Context(), "slot-7"); !errors.Is(err, lease.ErrRefused) {
		t.Errorf("Get from a proxy that knows no leases = %+v, %v, want ErrRefused and not that there is none", e, err)
	}
	bad := kubernetes.NewStore(&kubernetes.Cluster{Server: "http://[::1", Namespace: "team"}, "orders")
	if _, err := bad.Get(t.Context(), "header"); err == nil || !strings.Contains(err.Error(), "reading lease") {
		t.Errorf("Get at an address that is no URL: %v, want an error", err)
	}
	if got, want := fmt.Sprint(bad), "kubernetes at , namespace team, leases orders-*"; got != want {
		t.Errorf("the place is %q, want %q", got, want)
	}
}

// TestNow: a second long the time of an answer goes on by the local clock, and then the server is
// asked. A server that tells no time is an error, and one that refuses is, although it tells it.
func TestNow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.offset = time.Hour
		s := kubernetes.NewStore(f.cluster(), "orders")
		for i, want := range []int{1, 1, 2, 2} {
			now, err := s.Now(t.Context())
			if d := time.Until(now); err != nil || d != time.Hour || len(f.requests) != want {
				t.Errorf("time %d: %v ahead, %v, %d requests, want %v and %d", i, d, err, len(f.requests),
					time.Hour, want)
			}
			time.Sleep([]time.Duration{time.Second, time.Second, time.Second - 1, 0}[i])
		}
		f.before = func(w http.ResponseWriter, _ *http.Request) bool { w.Header().Del("Date"); return false }
		if now, err := kubernetes.NewStore(f.cluster(), "orders").Now(t.Context()); err == nil {
			t.Errorf("Now without a Date = %v, want an error", now)
		}
		f.before = func(w http.ResponseWriter, _ *http.Request) bool {
			status(w, http.StatusForbidden, "Forbidden", "no")
			return true
		}
		if now, err := kubernetes.NewStore(f.cluster(), "orders").Now(t.Context()); !errors.Is(err, lease.ErrRefused) {
			t.Errorf("Now without rights = %v, %v, want ErrRefused", now, err)
		}
	})
}

// TestNotes: List leaves the notes out, and Notes has their worker ids alone.
func TestNotes(t *testing.T) {
	t.Parallel()
	claimtest.Notes(patience(t), t, kubernetes.NewStore(newFake(t).cluster(), "uidring"))
}
