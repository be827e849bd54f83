package kubernetes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/kubernetes"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/winlog"
)

// TestServer runs all tests that need a real API server, because it takes a while to start. The last
// parts stop it.
func TestServer(t *testing.T) {
	t.Parallel()
	s := &apiServer{APIServer: dbtest.Kubernetes(t), dir: t.TempDir()}
	t.Run("conformance", func(t *testing.T) { testServerConformance(t, s) })
	t.Run("compare and set", func(t *testing.T) { testCompareAndSet(t, s) })
	t.Run("manifests", func(t *testing.T) { testManifests(t, s) })
	t.Run("serve", func(t *testing.T) { testServeManifests(t, s) })
	t.Run("accounts", func(t *testing.T) { testAccounts(t, s) })
	t.Run("killed", func(t *testing.T) { testKilled(t, s) })
	t.Run("paused", func(t *testing.T) { testPaused(t, s) })
	t.Run("restored", func(t *testing.T) { testRestored(t, s) })
}

// apiServer is a real server and what its tests share.
type apiServer struct {
	*dbtest.APIServer

	dir   string
	names atomic.Int64 // how often name was called
}

// name returns an Options.Namespace that no other check uses.
func (s *apiServer) name() string { return fmt.Sprintf("t%d", s.names.Add(1)) }

// cluster returns the server's Cluster, as a pod has it.
func (s *apiServer) cluster(tb testing.TB, token string) *kubernetes.Cluster {
	tb.Helper()
	authority, err := os.ReadFile(s.CA())
	if err != nil {
		tb.Fatal(err)
	}
	return inCluster(tb, s.Addr(), token, string(authority))
}

// request makes a request as the administrator and returns the answer's status code and body.
func (s *apiServer) request(t *testing.T, method, path, kind, body string) (code int, text []byte) {
	t.Helper()
	c := s.cluster(t, dbtest.Password)
	r, err := http.NewRequestWithContext(t.Context(), method, c.Server+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	resp, err := c.Client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, text
}

func testServerConformance(t *testing.T, s *apiServer) {
	assignertest.Run(t, assignertest.Factory{
		Authority: func(tb testing.TB) func() assigner.Assigner {
			c, name := s.cluster(tb, dbtest.Password), s.name()
			return func() assigner.Assigner { return open(c, &kubernetes.Options{Namespace: name}) }
		},
		Ranges: func(tb testing.TB) func(first, last int64) assigner.Assigner {
			c, name := s.cluster(tb, dbtest.Password), s.name()
			return func(first, last int64) assigner.Assigner {
				return open(c, &kubernetes.Options{Namespace: name,
					Lease: lease.Options{First: first, Last: last}})
			}
		},
	})
}

// testCompareAndSet checks on the server itself what uniqueness rests on: an update changes the object
// that was read, or nothing.
func testCompareAndSet(t *testing.T, s *apiServer) {
	c := s.cluster(t, dbtest.Password)
	name := s.name()
	store := kubernetes.NewStore(c, name)
	put := func(old lease.Entry, value string, want error) lease.Entry {
		t.Helper()
		e, err := store.Put(t.Context(), old, []byte(value))
		if !errors.Is(err, want) {
			t.Fatalf("Put(%q) over version %q: error %v, want %v", value, old.Version, err, want)
		}
		return e
	}
	none := lease.Entry{Name: "slot-0"}
	if e, err := store.Get(t.Context(), "slot-0"); err != nil || e.Version != "" {
		t.Fatalf("Get of nothing = %v, %v, want no version and no error", e, err)
	}
	first := put(none, `{"n":1}`, nil)
	put(none, `{"n":2}`, lease.ErrConflict)
	second := put(first, `{"n":2}`, nil)
	put(first, `{"n":3}`, lease.ErrConflict)
	e, err := store.Get(t.Context(), "slot-0")
	if err != nil || string(e.Value) != `{"n":2}` || e.Version != second.Version {
		t.Errorf("Get = %q at %q, %v, want what the second Put has stored, at %q", e.Value, e.Version, err,
			second.Version)
	}
	path := "/apis/coordination.k8s.io/v1/namespaces/default/leases/" + name + "-slot-0"
	if code, text := s.request(t, http.MethodDelete, path, "", ""); code != http.StatusOK {
		t.Fatalf("deleting: %d %s", code, text)
	}
	put(second, `{"n":3}`, lease.ErrConflict) // without the UID the API server would make the object anew
	third := put(none, `{"n":4}`, nil)
	put(second, `{"n":5}`, lease.ErrConflict)
	// A restored etcd may use versions again. The UID still tells the objects apart.
	uid, _, _ := strings.Cut(second.Version, "/")
	_, version, _ := strings.Cut(third.Version, "/")
	put(lease.Entry{Name: "slot-0", Version: uid + "/" + version}, `{"n":6}`, lease.ErrConflict)
	if now, err := store.Now(t.Context()); err != nil || time.Since(now).Abs() > 5*time.Second {
		t.Errorf("Now = %v, %v, want the server's time", now, err)
	}
}

// testServeManifests: the API server takes the manifests of uid serve, with every field.
func testServeManifests(t *testing.T, s *apiServer) {
	text, err := os.ReadFile("../../cmd/uid/deploy/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]string{
		"Service":             "/api/v1/namespaces/default/services",
		"StatefulSet":         "/apis/apps/v1/namespaces/default/statefulsets",
		"PodDisruptionBudget": "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
		"NetworkPolicy":       "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
	}
	docs := strings.Split(string(text), "\n---\n")
	for _, doc := range docs {
		_, kind, _ := strings.Cut(doc, "\nkind: ")
		kind, _, _ = strings.Cut(kind, "\n")
		code, answer := s.request(t, http.MethodPost, paths[kind]+"?dryRun=All&fieldValidation=Strict",
			"application/yaml", doc)
		if code != http.StatusCreated {
			t.Errorf("%s: %d %s", kind, code, answer)
		}
	}
	if len(docs) != 5 {
		t.Errorf("%d objects, want 5", len(docs))
	}
}

// testAccounts: the manifests of examples/kubernetes give an account the rights that it needs, and no
// others. An account without rights gets an error that says which it needs. A renewed token is read
// from its file.
func testAccounts(t *testing.T, s *apiServer) {
	stranger := open(s.cluster(t, dbtest.StrangerToken), nil)
	_, err := stranger.Assign(t.Context(), maxWorker)
	if !errors.Is(err, lease.ErrRefused) || !strings.Contains(err.Error(), "get, list, create and update") ||
		!strings.Contains(err.Error(), "stranger") || strings.Contains(err.Error(), dbtest.StrangerToken) {
		t.Errorf("an account without rights: error %v, want ErrRefused with the account, the rights and no "+
			"token", err)
	}

	manifests, err := os.ReadFile("../../examples/kubernetes/workerids.yaml")
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]string{
		"ServiceAccount": "/api/v1/namespaces/default/serviceaccounts",
		"Role":           "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
		"RoleBinding":    "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
	}
	applied := 0
	for doc := range strings.SplitSeq(string(manifests), "\n---\n") {
		for kind, path := range paths {
			if !strings.Contains("\n"+doc, "\nkind: "+kind+"\n") {
				continue
			}
			applied++
			code, text := s.request(t, http.MethodPost, path, "application/yaml", doc)
			if code != http.StatusCreated {
				t.Fatalf("%s: %d %s", kind, code, text)
			}
		}
	}
	if applied != 3 {
		t.Fatalf("%d objects of the manifests, want a service account, its role and its binding", applied)
	}
	c := s.cluster(t, s.token(t))
	a := open(c, &kubernetes.Options{Namespace: "events"})
	var claim assigner.Claim
	for try := 0; ; try++ { // the API server takes a moment until a new role counts
		if claim, err = a.Assign(t.Context(), maxWorker); err == nil {
			break
		}
		if !errors.Is(err, lease.ErrRefused) || try == 100 {
			t.Fatalf("Assign with the manifests' account: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	extend(t, claim, nil)
	for what, path := range map[string]string{
		http.MethodDelete: "/leases/events-slot-0", http.MethodGet: "/leases?watch=true"} {
		r, err := http.NewRequestWithContext(t.Context(), what,
			c.Server+"/apis/coordination.k8s.io/v1/namespaces/default"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s %s with the manifests' account: status %d, want 403", what, path, resp.StatusCode)
		}
	}

	// Tokens of a service account end when it is deleted.
	account := paths["ServiceAccount"]
	if code, text := s.request(t, http.MethodDelete, account+"/events", "", ""); code != http.StatusOK {
		t.Fatalf("deleting the account: %d %s", code, text)
	}
	wantRefused(t, claim)
	body := `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"events"}}`
	if code, text := s.request(t, http.MethodPost, account, "application/json", body); code != http.StatusCreated {
		t.Fatalf("making the account again: %d %s", code, text)
	}
	if err := os.WriteFile(c.TokenFile(), []byte(s.token(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	extend(t, claim, nil)
	if err := claim.Release(t.Context(), time.Now()); err != nil {
		t.Error(err)
	}
}

// wantRefused waits until an extension is refused. That takes some seconds, because the API server
// caches whether a token is valid.
func wantRefused(t *testing.T, c assigner.Claim) {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < 30*time.Second; {
		_, until := c.Window()
		_, err := c.Extend(t.Context(), until.Add(time.Second))
		if errors.Is(err, lease.ErrRefused) && !errors.Is(err, assigner.ErrClaimLost) {
			return
		}
		if err != nil {
			t.Fatalf("Extend with a token of a deleted account: error %v, want ErrRefused", err)
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Error("a token of a deleted account is still valid after 30 s")
}

// token asks for a token of the service account events.
func (s *apiServer) token(t *testing.T) string {
	t.Helper()
	code, text := s.request(t, http.MethodPost,
		"/api/v1/namespaces/default/serviceaccounts/events/token", "application/json",
		`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"expirationSeconds":600}}`)
	var answer struct{ Status struct{ Token string } }
	err := json.NewDecoder(bytes.NewReader(text)).Decode(&answer)
	if code != http.StatusCreated || err != nil || answer.Status.Token == "" {
		t.Fatalf("asking for a token: %d, %v", code, err)
	}
	return answer.Status.Token
}

// extend extends a claim by a minute and checks the error: want, or none if want is nil.
func extend(t *testing.T, c assigner.Claim, want error) {
	t.Helper()
	_, until := c.Window()
	if _, err := c.Extend(t.Context(), until.Add(time.Minute)); !errors.Is(err, want) {
		t.Errorf("Extend: error %v, want %v", err, want)
	}
}

// away checks that a claim keeps its window while the server is away, and is not lost.
func away(t *testing.T, c assigner.Claim) {
	t.Helper()
	_, before := c.Window()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, err := c.Extend(ctx, before.Add(time.Minute)); err == nil || errors.Is(err, assigner.ErrClaimLost) {
		t.Errorf("Extend while the server is away: error %v, want one that is not ErrClaimLost", err)
	}
	if _, until := c.Window(); !until.Equal(before) {
		t.Errorf("the window ends at %v, want %v as before", until, before)
	}
}

func testKilled(t *testing.T, s *apiServer) {
	o := &kubernetes.Options{Namespace: s.name()}
	c := assign(t, s.cluster(t, dbtest.Password), o)
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	away(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := open(s.cluster(t, dbtest.Password), o).Assign(ctx, maxWorker)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Assign while the server is down: error %v, want ctx's and the reason", err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	extend(t, c, nil)
}

func testPaused(t *testing.T, s *apiServer) {
	c := assign(t, s.cluster(t, dbtest.Password), &kubernetes.Options{Namespace: s.name()})
	for name, p := range map[string]*dbtest.Server{"API server": s.Server, "etcd": s.Etcd} {
		if err := p.Pause(); err != nil {
			t.Fatal(name, err)
		}
		away(t, c)
		if err := p.Resume(); err != nil {
			t.Fatal(name, err)
		}
		longer(t, c)
	}
}

// longer extends a claim by a minute, and tries again while the server comes back.
func longer(t *testing.T, c assigner.Claim) {
	t.Helper()
	for begin := time.Now(); ; {
		_, until := c.Window()
		_, err := c.Extend(t.Context(), until.Add(time.Minute))
		if err == nil {
			return
		}
		if errors.Is(err, assigner.ErrClaimLost) || time.Since(begin) > 30*time.Second {
			t.Fatalf("Extend after the server was away: %v", err)
		}
	}
}

// testRestored: an etcd that is restored from a backup has forgotten changes. Owners that run find
// out, and no two of their windows overlap.
func testRestored(t *testing.T, s *apiServer) {
	name := s.name()
	var log winlog.Log
	open := func() assigner.Assigner {
		return winlog.Watch(open(s.cluster(t, dbtest.Password), &kubernetes.Options{Namespace: name}),
			log.Put)
	}
	a, b := open(), open()
	claim := func(a assigner.Assigner) assigner.Claim {
		t.Helper()
		c, err := a.Assign(t.Context(), maxWorker)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	kept := claim(a)
	restore, err := s.Etcd.Backup()
	if err != nil {
		t.Fatal(err)
	}
	longer(t, kept)
	forgotten := claim(b)
	if err := restore(); err != nil {
		t.Fatal(err)
	}
	s.again(t) // its watch cache has the state before the restore
	for _, c := range []assigner.Claim{kept, forgotten} {
		_, until := c.Window()
		_, err := c.Extend(t.Context(), until.Add(time.Minute))
		if !errors.Is(err, assigner.ErrWentBack) || !errors.Is(err, assigner.ErrClaimLost) {
			t.Errorf("worker %d after a restore: error %v, want ErrWentBack and ErrClaimLost", c.Worker(), err)
		}
	}
	// The same processes claim again. Their windows begin after all that may have been forgotten.
	for _, a := range []assigner.Assigner{a, b} {
		c := claim(a)
		if from, _ := c.Window(); from.Before(time.Now().Add(10 * time.Minute)) {
			t.Errorf("after a restore a window begins at %v, want a whole Window from now", from)
		}
	}
	if err := log.Overlap(); err != nil {
		t.Error(err)
	}
}

// again restarts the API server.
func (s *apiServer) again(t *testing.T) {
	t.Helper()
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
}
