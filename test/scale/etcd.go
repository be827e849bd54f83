package main

import (
	"bufio"
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/uidring/uidring/internal/dbtest"
)

// etcdServer is a source of worker ids that an etcd of one member keeps. It writes every change to
// the disk.
type etcdServer struct{ *dbtest.Server }

func newEtcd() (etcdServer, error) {
	srv, err := dbtest.NewEtcd()
	return etcdServer{srv}, err
}

func (s etcdServer) job(kind string) job { return job{Kind: kind, DSN: s.DSN(database)} }

// do calls f with a client.
func (s etcdServer) do(f func(context.Context, *clientv3.Client) error) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Addr()},
		Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return f(ctx, client)
}

func (s etcdServer) reset() error {
	return s.do(func(ctx context.Context, client *clientv3.Client) error {
		_, err := client.Delete(ctx, "/"+database+"/", clientv3.WithPrefix())
		return err
	})
}

func (s etcdServer) pass() error {
	return s.do(func(ctx context.Context, client *clientv3.Client) error {
		all, err := client.Get(ctx, "/"+database+"/slot-", clientv3.WithPrefix())
		if err != nil {
			return err
		}
		for _, kv := range all.Kvs {
			value, err := earlier(kv.Value)
			if err != nil {
				return err
			}
			if _, err := client.Put(ctx, string(kv.Key), string(value)); err != nil {
				return err
			}
		}
		return nil
	})
}

// handled matches etcd's counter of answered requests of one kind.
var handled = regexp.MustCompile(
	`^grpc_server_handled_total{.*grpc_method="(Range|Txn)".*} (\S+)$`)

// counters reads how many requests the server has answered.
func (s etcdServer) counters() (map[string]int64, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet,
		"http://"+s.Addr()+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	m := map[string]int64{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		found := handled.FindStringSubmatch(strings.TrimSpace(lines.Text()))
		if found == nil {
			continue
		}
		n, err := strconv.ParseFloat(found[2], 64)
		if err != nil {
			return nil, err
		}
		m["requests"] += int64(n)
	}
	return m, lines.Err()
}
