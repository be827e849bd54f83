package assigner_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/dbtest"
)

// TestStatefulSetToken: a real API server's token of a service account names the pod that it is bound
// to. StatefulSet goes by it, and refuses a host name that is another, as that of a node.
func TestStatefulSetToken(t *testing.T) {
	t.Parallel()
	s := dbtest.Kubernetes(t)
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	create := func(path, body string, into any) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			"https://"+s.Addr()+"/api/v1/namespaces/default/"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+dbtest.Password)
		r.Header.Set("Content-Type", "application/json")
		resp, err := (&http.Client{Transport: transport}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusCreated || json.Unmarshal(text, into) != nil {
			t.Fatalf("%s: status %d, %v: %s", path, resp.StatusCode, err, text)
		}
	}
	var pod struct{ Metadata struct{ Name, UID string } }
	create("serviceaccounts", `{"metadata": {"name": "app"}}`, &struct{}{})
	create("pods", `{"metadata": {"name": "web-7"}, "spec": {"serviceAccountName": "app", "hostNetwork": true,
		"containers": [{"name": "app", "image": "app"}]}}`, &pod)
	var answer struct{ Status struct{ Token string } }
	create("serviceaccounts/app/token", fmt.Sprintf(`{"spec": {"boundObjectRef":
		{"kind": "Pod", "apiVersion": "v1", "name": %q, "uid": %q}}}`, pod.Metadata.Name, pod.Metadata.UID), &answer)
	token := answer.Status.Token
	create("serviceaccounts/app/token", `{"spec": {}}`, &answer)
	unbound := answer.Status.Token

	for _, tt := range []struct {
		host, token string
		worker      int64
		refused     string
	}{
		{host: "web-7", token: token, worker: 7},
		{host: "web-7.web.default.svc.cluster.local", token: token + "\n", worker: 7},
		{host: "node-3", token: token, refused: `host name "node-3" is not the name of the pod, "web-7"`},
		{host: "web-7", token: unbound, refused: "names no pod"},
	} {
		c, err := assigner.PodWithToken(tt.host, tt.token).Assign(t.Context(), 1<<10-1)
		switch {
		case tt.refused != "":
			if err == nil || !strings.Contains(err.Error(), tt.refused) || !strings.Contains(err.Error(), "env: ") {
				t.Errorf("host %q: Assign = %v, %v, want an error with %q and YAML", tt.host, c, err, tt.refused)
			}
		case err != nil || c.Worker() != tt.worker:
			t.Errorf("host %q: Assign = %v, %v, want worker %d", tt.host, c, err, tt.worker)
		default:
			assigner.Kill(c)
		}
	}
}
