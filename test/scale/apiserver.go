package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner/kubernetes"
	"github.com/uidring/uidring/assigner/kubernetes/kubeconfig"
	"github.com/uidring/uidring/internal/dbtest"
)

// apiServer is a source of worker ids that Lease objects keep. Each fleet has a Namespace of its
// own.
type apiServer struct {
	*dbtest.APIServer

	config  string // path of a kubeconfig
	names   int    // number of the fleet's name
	cluster *kubernetes.Cluster
}

// leases is the path of the collection that all fleets have objects in.
const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"

// newAPIServer starts an API server and its etcd, which writes every change to the disk.
func newAPIServer() (*apiServer, error) {
	srv, err := dbtest.NewKubernetes()
	if err != nil {
		return nil, err
	}
	s := &apiServer{APIServer: srv}
	if s.config, err = srv.WriteKubeconfig(srv.Addr()); err == nil {
		s.cluster, err = kubeconfig.Load(s.config, "")
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *apiServer) name() string { return "scale" + strconv.Itoa(s.names) }

// reset begins another universe of ids, and deletes the objects of the last one: a list with a
// label reads those without it as well.
func (s *apiServer) reset() error {
	s.names++
	_, err := s.request(http.MethodDelete, leases, nil)
	return err
}

func (s *apiServer) job(kind string) job {
	return job{Kind: kind, DSN: "kubernetes:" + s.name() + "?kubeconfig=" + s.config}
}

// counters reads how many requests for leases the server has answered.
func (s *apiServer) counters() (map[string]int64, error) {
	text, err := s.request(http.MethodGet, "/metrics", nil)
	if err != nil {
		return nil, err
	}
	m := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "apiserver_request_total{") ||
			!strings.Contains(line, `resource="leases"`) {
			continue
		}
		_, value, _ := strings.Cut(line, "} ")
		n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil {
			return nil, err
		}
		m["requests"] += int64(n)
		if strings.Contains(line, `code="409"`) {
			m["conflicts"] += int64(n)
		}
	}
	return m, nil
}

// pass moves the ends of all windows back by an hour.
func (s *apiServer) pass() error {
	selector := "?labelSelector=uidring.github.io%2Fids%3D" + s.name()
	text, err := s.request(http.MethodGet, leases+selector, nil)
	if err != nil {
		return err
	}
	var list struct {
		Items []map[string]any `json:"items"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	const annotation = "uidring.github.io/slot"
	for _, o := range list.Items {
		meta, _ := o["metadata"].(map[string]any)
		annotations, _ := meta["annotations"].(map[string]any)
		value, _ := annotations[annotation].(string)
		if !strings.Contains(value, `"until_ms"`) {
			continue
		}
		earlier, err := earlier([]byte(value))
		if err != nil {
			return err
		}
		annotations[annotation] = string(earlier)
		name, _ := meta["name"].(string)
		body, err := json.Marshal(o)
		if err != nil {
			return err
		}
		if _, err := s.request(http.MethodPut, leases+"/"+name, body); err != nil {
			return err
		}
	}
	return nil
}

// earlier returns a slot's value with the end of its window an hour earlier.
func earlier(value []byte) ([]byte, error) {
	var slot map[string]json.RawMessage
	if err := json.Unmarshal(value, &slot); err != nil {
		return nil, err
	}
	until, err := strconv.ParseInt(string(slot["until_ms"]), 10, 64)
	if err != nil {
		return nil, err
	}
	slot["until_ms"] = json.RawMessage(strconv.FormatInt(until-time.Hour.Milliseconds(), 10))
	return json.Marshal(slot)
}

// request makes a request as the administrator and returns the answer's body.
func (s *apiServer) request(method, path string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(context.Background(), method, s.cluster.Server+path,
		bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := s.cluster.Client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: status %d: %s", method, path, resp.StatusCode, text)
	}
	return text, err
}
