package dbtest_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/dbtest"
)

// askEtcd calls etcd's HTTP interface.
func askEtcd(t *testing.T, s *dbtest.Server, call, body string, answer any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		"http://"+s.Addr()+"/v3/kv/"+call, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v", call, resp.StatusCode, err)
	}
}

// TestEtcd: what was written survives a kill, and a backup brings back what was there, as often as
// it is restored.
func TestEtcd(t *testing.T) {
	t.Parallel()
	s := dbtest.Etcd(t)
	key := base64.StdEncoding.EncodeToString([]byte(s.Prefix()))
	put := func(value string) {
		t.Helper()
		askEtcd(t, s, "put", fmt.Sprintf(`{"key":%q,"value":%q}`, key,
			base64.StdEncoding.EncodeToString([]byte(value))), &struct{}{})
	}
	want := func(value string) {
		t.Helper()
		var answer struct{ KVs []struct{ Value []byte } }
		askEtcd(t, s, "range", fmt.Sprintf(`{"key":%q}`, key), &answer)
		if len(answer.KVs) != 1 || string(answer.KVs[0].Value) != value {
			t.Errorf("the key holds %q, want %q", answer.KVs, value)
		}
	}
	put("old")
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	want("old")
	restore, err := s.Backup()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		put("new")
		want("new")
		if err := restore(); err != nil {
			t.Fatal(err)
		}
		want("old")
	}
}
