package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/uidring/uidring/internal/dbtest"
)

// ensemble is a source of worker ids that a ZooKeeper of one server keeps. It writes every change
// to the disk. Each fleet has a namespace of its
// own.
type ensemble struct {
	*dbtest.Server
	fleets int // number of the fleet's namespace
}

func newZooKeeper() (*ensemble, error) {
	srv, err := dbtest.NewZooKeeper("-Dzookeeper.forceSync=yes")
	return &ensemble{Server: srv}, err
}

func (e *ensemble) job(kind string) job {
	return job{Kind: kind, DSN: e.DSN(e.namespace())}
}

func (e *ensemble) namespace() string { return fmt.Sprint("fleet", e.fleets) }

func (e *ensemble) reset() error {
	e.fleets++
	return nil
}

// counters reads how many requests the server has received.
func (e *ensemble) counters() (map[string]int64, error) {
	text, err := dbtest.ZooKeeperCounters(e.Addr())
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(text, "zk_packets_received\t")
	var n int64
	if _, err := fmt.Sscan(rest, &n); err != nil {
		return nil, fmt.Errorf("no packets in %q: %w", text, err)
	}
	return map[string]int64{"requests": n}, nil
}

// pass moves the ends of all windows back by an hour.
func (e *ensemble) pass() error {
	c, _, err := zk.Connect([]string{e.Addr()}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		return err
	}
	defer c.Close()
	root := "/" + e.namespace()
	names, _, err := c.Children(root)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "slot-") {
			continue
		}
		data, stat, err := c.Get(root + "/" + name)
		if err != nil {
			return err
		}
		if data, err = earlier(data); err != nil {
			return err
		}
		if _, err := c.Set(root+"/"+name, data, stat.Version); err != nil {
			return err
		}
	}
	return nil
}
