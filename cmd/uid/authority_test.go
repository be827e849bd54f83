package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
)

// leaseServer is a Kubernetes API server that has only Lease objects, in memory.
type leaseServer struct {
	mu      sync.Mutex
	objects map[string]map[string]any
	changes int
}

func (s *leaseServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	const leases = "/apis/coordination.k8s.io/v1/namespaces/team/leases"
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, leases), "/")
	var body map[string]any
	if r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.changes++
		meta, _ := body["metadata"].(map[string]any)
		name, _ = meta["name"].(string)
		meta["uid"], meta["resourceVersion"] = "u", fmt.Sprint(s.changes)
		s.objects[name] = body
	}
	switch {
	case !strings.HasPrefix(r.URL.Path, leases) || r.Header.Get("Authorization") != "Bearer "+leaseToken:
		w.WriteHeader(http.StatusForbidden)
	case name == "":
		items := []any{}
		for _, o := range s.objects {
			items = append(items, o)
		}
		json.NewEncoder(w).Encode(map[string]any{"items": items})
	case s.objects[name] == nil:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind":"Status"}`)
	default:
		json.NewEncoder(w).Encode(s.objects[name])
	}
}

const leaseToken = "token-never-shown"

// newLeaseServer starts a leaseServer and returns its address for --dsn.
func newLeaseServer(t *testing.T) (address string) {
	t.Helper()
	s := httptest.NewTLSServer(&leaseServer{objects: map[string]map[string]any{}})
	t.Cleanup(s.Close)
	path := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`{"current-context":"c","clusters":[{"name":"c","cluster":{"server":%q,
			"insecure-skip-tls-verify":true}}],
		"contexts":[{"name":"c","context":{"cluster":"c","user":"u","namespace":"team"}}],
		"users":[{"name":"u","user":{"token":%q}}]}`, s.URL, leaseToken)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "kubernetes:orders?kubeconfig=" + path
}

// TestAuthority: gen, workers, doctor and serve take the address of an authority that is not a
// database, and refuse flags that are only for databases.
func TestAuthority(t *testing.T) {
	t.Parallel()
	address := newLeaseServer(t)
	b := newBench(t)
	r := b.check(t, exitOK, "", "", "gen", "--dsn", address, "-n", "3", "--format", "json")
	if n := strings.Count(r.stdout, "\n"); n != 3 {
		t.Errorf("gen -n 3 printed %d lines:\n%s", n, r.stdout)
	}
	b.env["UID_DSN"] = address
	r = b.check(t, exitOK, "slots: 1 row", "", "workers")
	if !strings.Contains(r.stdout, "28-22-13") {
		t.Errorf("workers does not show the layout:\n%s", r.stdout)
	}
	b.check(t, exitOK, `"worker":0`, "", "workers", "--json")
	b.check(t, exitOK, "lists 1 worker id in", "", "doctor")
	restored := []string{"workers", "restored", "--highest", "9", "--reach", "1h", "--layout", "default"}
	b.check(t, exitOK, "nothing is changed\nheader: worker ids up to 9 ", "", append(restored, "--dry-run")...)
	// Worker 0 is free again where the second in which it made ids has passed.
	slots := 2
	r = b.check(t, exitOK, "", "", "gen", "--format", "json")
	switch {
	case strings.Contains(r.stdout, `"worker":0,`):
		slots = 1
	case !strings.Contains(r.stdout, `"worker":1,`):
		t.Errorf("after --dry-run: %s, want worker 0 or 1", r.stdout)
	}
	b.check(t, exitOK, fmt.Sprintf(`{"dry_run":true,"used":%d,"slots":%d}`, slots, slots), "",
		append(restored, "--dry-run", "--json")...)
	b.check(t, exitOK, "done\nheader: worker ids up to 9 ", "", restored...)
	r = b.check(t, exitOK, "", "", "gen", "--format", "json")
	if !strings.Contains(r.stdout, `"worker":10,`) {
		t.Errorf("after restored --highest 9: %s, want worker 10", r.stdout)
	}
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"reap is for databases", []string{"workers", "reap"}},
		{"--namespace is for databases", []string{"workers", "--namespace", "x"}},
		{"--namespace and --assigner are for databases", []string{"gen", "--namespace", "x"}},
		{"--namespace and --assigner are for databases", []string{"gen", "--assigner", "disposable"}},
		{"x.db is a database, --dsn is not", []string{"doctor", "--peer", "x.db"}},
		{"kubernetes:x is no database, --dsn is one", []string{"doctor", "--dsn", "x.db", "--peer", "kubernetes:x"}},
		{"--empty is for etcd, ZooKeeper and Kubernetes",
			[]string{"workers", "restored", "--dsn", "x.db", "--empty", "--highest", "1", "--reach", "1h"}},
		{"--layout is missing", restored[:len(restored)-2]},
		{"--layout is missing", []string{"workers", "take-back"}},
		{"say --only snowflake", []string{"serve"}},
		{"this needs a database", []string{"segment", "list"}},
		{"no such file", []string{"gen", "--dsn", "kubernetes:x?kubeconfig=/no/such/file"}},
	} {
		b.check(t, exitUsage, "", tt.want, tt.args...)
	}
	wrong := strings.Replace(address, "orders", "elsewhere/orders", 1)
	r = b.check(t, exitFailure, "", "403", "gen", "--dsn", wrong)
	if strings.Contains(r.stderr, leaseToken) {
		t.Errorf("the token is shown: %s", r.stderr)
	}
	b.check(t, exitFailure, "fail", "", "doctor", "--dsn", wrong)
}

// TestAuthorityServe serves ids of an authority.
func TestAuthorityServe(t *testing.T) {
	t.Parallel()
	s := newBench(t).serve(t, "--dsn", newLeaseServer(t), "--only", "snowflake")
	if id := s.ok(t, "/api/snowflake/get/x"); len(id) < 10 {
		t.Errorf("an id is %q", id)
	}
}

// TestAuthorityEtcd: the same commands on an etcd.
func TestAuthorityEtcd(t *testing.T) {
	t.Parallel()
	srv := dbtest.Etcd(t)
	b := newBench(t)
	b.env["UID_DSN"] = srv.DSN("ids")
	b.check(t, exitOK, "slots: no rows", "", "workers")
	if r := b.check(t, exitOK, "", "", "gen"); len(r.stdout) < 10 {
		t.Errorf("gen printed %q, want an id", r.stdout)
	}
	b.check(t, exitOK, "slots: 1 row", "", "workers")
	b.check(t, exitOK, "lists 1 worker id in", "", "doctor")
	b.check(t, exitUsage, "", "want etcd://user:password@host:237", "gen", "--dsn", "etcd:///ids")
	r := b.check(t, exitFailure, "", srv.Addr(), "gen", "--timeout", "200ms", "--dsn",
		strings.Replace(srv.DSN("other"), "//", "//me:"+dbtest.Password+"@", 1)+"?tls=true")
	if strings.Contains(r.stderr, dbtest.Password) {
		t.Errorf("the password is in %q", r.stderr)
	}
}

// TestAuthorityZooKeeper: the same commands on a ZooKeeper, restored as well.
func TestAuthorityZooKeeper(t *testing.T) {
	t.Parallel()
	srv := dbtest.ZooKeeper(t)
	b := newBench(t)
	b.env["UID_DSN"] = srv.DSN("ids/orders")
	b.check(t, exitOK, "slots: no rows", "", "workers")
	if r := b.check(t, exitOK, "", "", "gen"); len(r.stdout) < 10 {
		t.Errorf("gen printed %q, want an id", r.stdout)
	}
	b.check(t, exitOK, "slots: 1 row", "", "workers")
	b.check(t, exitOK, "a header, 1 worker id given out, and 1 slot", "", "doctor")
	b.check(t, exitOK, "done\nheader: worker ids up to 9 ", "",
		"workers", "restored", "--highest", "9", "--reach", "1h", "--layout", "default")
	if r := b.check(t, exitOK, "", "", "gen", "--format", "json"); !strings.Contains(r.stdout, `"worker":10,`) {
		t.Errorf("after restored --highest 9: %s, want worker 10", r.stdout)
	}
	b.check(t, exitUsage, "", "want zookeeper://user:password@host:218", "gen", "--dsn", "zookeeper:///ids")
	r := b.check(t, exitFailure, "", srv.Addr(), "gen", "--timeout", "200ms", "--dsn",
		strings.Replace(srv.DSN("other"), "//", "//me:"+dbtest.Password+"@", 1)+"?tls=true")
	if strings.Contains(r.stderr, dbtest.Password) {
		t.Errorf("the password is in %q", r.stderr)
	}
}

// etcdCall calls the JSON gateway of an etcd.
func etcdCall(t *testing.T, srv *dbtest.Server, path, key, value string) {
	t.Helper()
	encode := base64.StdEncoding.EncodeToString
	body := fmt.Sprintf(`{"key":%q,"value":%q}`, encode([]byte(key)), encode([]byte(value)))
	if value == "" {
		body = fmt.Sprintf(`{"key":%q}`, encode([]byte(key)))
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+srv.Addr()+"/v3/kv/"+path,
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %s", path, key, res.Status, text)
	}
}

// TestAuthorityFaults: the doctor fails, and workers as well, where an etcd has garbage in a slot or
// has lost its header, and for two prefixes that hand out the same worker ids. A restored etcd is
// repaired only where there is something, or when told so.
func TestAuthorityFaults(t *testing.T) {
	t.Parallel()
	srv := dbtest.Etcd(t)
	b := newBench(t)
	b.now = time.Now()
	b.env["UID_DSN"] = srv.DSN("ids")
	b.check(t, exitOK, "no worker id was ever claimed here", "", "doctor")
	restored := func(code int, want, problem string, args ...string) {
		t.Helper()
		b.check(t, code, want, problem, append([]string{"workers", "restored", "--highest", "5", "--reach", "0s",
			"--layout", "default"}, args...)...)
	}
	for _, dry := range [][]string{nil, {"--dry-run"}} { // a mistyped prefix
		restored(exitFailure, "", "has no entry: is the address right?", append(dry, "--dsn", srv.DSN("idz"))...)
	}
	b.check(t, exitOK, "no worker id was ever claimed here", "", "doctor", "--dsn", srv.DSN("idz"))
	b.check(t, exitOK, "", "", "gen")
	b.check(t, exitOK, "a header, 1 worker id given out, and 1 slot", "", "doctor")

	b.check(t, exitOK, "", "", "gen", "--dsn", srv.DSN("peer"))
	b.check(t, exitFailure, "worker 0 of the universe is in", "", "doctor", "--peer", srv.DSN("peer"))
	restored(exitOK, "done\nheader: worker ids up to 5", "", "--dsn", srv.DSN("other"), "--empty")
	b.check(t, exitOK, "", "", "gen", "--dsn", srv.DSN("other"))
	b.check(t, exitOK, "no two of 2 stores", "", "doctor", "--peer", srv.DSN("other"))

	// The entries of a peer are examined, too.
	b.check(t, exitOK, srv.DSN("other")+": a header, 7 worker ids given out, and 1 slot", "", "doctor",
		"--peer", srv.DSN("other"))
	etcdCall(t, srv, "put", "/other/slot-3", "garbage")
	b.check(t, exitFailure, srv.DSN("other")+": lease: a slot cannot be read: slot-3", "", "doctor", "--peer",
		srv.DSN("other"))
	etcdCall(t, srv, "deleterange", "/other/slot-3", "")
	etcdCall(t, srv, "deleterange", "/other/header", "")
	b.check(t, exitFailure, srv.DSN("other")+": lease: the header is missing", "", "doctor", "--peer",
		srv.DSN("other"))

	// Starts that crashed between note and slot leave worker ids that are never given out again.
	few := []string{"--dsn", srv.DSN("few"), "--layout", "47-3-13"}
	b.check(t, exitOK, "", "", append([]string{"gen"}, few...)...)
	etcdCall(t, srv, "put", "/few/used-1", "{}")
	b.check(t, exitOK, "a header, 2 worker ids given out, and 1 slot\n", "", append([]string{"doctor"}, few...)...)
	etcdCall(t, srv, "put", "/few/used-2", "{}")
	for _, layout := range []string{"47-3-13", "default"} {
		b.check(t, exitOK, "of the layout's 8 worker ids 2 have no slot and are not given out again\n", "", "doctor",
			"--dsn", srv.DSN("few"), "--layout", layout)
	}
	b.check(t, exitFailure, "find the cause; a layout with more WorkerBits", "",
		append([]string{"doctor", "--strict"}, few...)...)

	eras := []string{"--dsn", srv.DSN("eras"), "--layout"}
	b.check(t, exitOK, "", "", append([]string{"gen"}, append(eras, "default,36-14-13@2033-01-01T00:00:00Z")...)...)
	b.check(t, exitOK, "2033-01-01", "", "workers", "--dsn", srv.DSN("eras"))
	for range 2 {
		b.check(t, exitOK, "done: the layouts are 28-22-13-0/1s@2026-01-01T00:00:00Z\n", "",
			append([]string{"workers", "take-back"}, append(eras, "default")...)...)
	}

	etcdCall(t, srv, "put", "/ids/slot-3", "garbage")
	b.check(t, exitFailure, "a slot cannot be read: slot-3: invalid character", "", "doctor")
	b.check(t, exitFailure, "slots: 1 row", "slot-3: invalid character", "workers")
	etcdCall(t, srv, "deleterange", "/ids/slot-3", "")
	b.check(t, exitOK, "", "", "doctor")

	etcdCall(t, srv, "deleterange", "/ids/header", "")
	b.check(t, exitFailure, "the header is missing, slots: 1", "", "doctor")
	b.check(t, exitFailure, "", "the header is missing", "workers")
	restored(exitOK, "nothing is changed\nheader: worker ids up to 5 that", "", "--dry-run")
	b.check(t, exitFailure, "the header is missing", "", "doctor")
	restored(exitOK, "slots: 1 slot without an owner", "")
	b.check(t, exitOK, "a header, 6 worker ids given out, and 1 slot", "", "doctor")
	etcdCall(t, srv, "put", "/ids/header", "garbage")
	b.check(t, exitFailure, "the header: invalid character", "", "doctor")
}
