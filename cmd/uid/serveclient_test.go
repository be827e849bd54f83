package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc/compat"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/uid"
)

// outageEnv is the environment variable that sets how long the outage of TestServeKilled lasts.
const outageEnv = "UIDRING_OUTAGE"

// TestServeKilled: a server is killed under load and started again later. No call of its clients
// fails, and no id occurs twice.
func TestServeKilled(t *testing.T) {
	t.Parallel()
	outage := time.Second
	if text := os.Getenv(outageEnv); text != "" {
		var err error
		if outage, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	const (
		callers = 4
		burst   = 10
		every   = 2 * time.Millisecond
		rate    = callers * burst * int(time.Second/every) // ids of each kind a second, at most
	)
	// Two ranges last for the outage and for 20 s more, enough to start a server on a busy machine.
	step := rate * int(outage/time.Second+20) / 3

	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	set, home := command(t, "segment", "set", "order", "--step", fmt.Sprint(step))
	if out, err := set.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	start := func() *exec.Cmd {
		cmd, own := command(t, "serve", "--addr", address)
		for i, v := range cmd.Env {
			cmd.Env[i] = strings.ReplaceAll(v, own, home)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	server := start()
	c, err := service.NewClient([]string{"http://" + address}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	times, err := uid.NewCached(t.Context(), c, &uid.Options{Layout: compat.Twitter()})
	if err != nil {
		t.Fatal(err)
	}
	defer times.Close()
	orders, err := segment.New(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer orders.Close()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := orders.Tag(t.Context(), "order"); err != nil {
			t.Fatal(err)
		}
		if orders.Stats().Tags[0].Ready.Len() > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no second range after 10 s")
		}
	}

	var (
		mu      sync.Mutex
		ids     [2][]int64 // of a tag, time-ordered
		longest time.Duration
		failed  atomic.Int64
		stop    = make(chan struct{})
		wg      sync.WaitGroup
	)
	for range callers {
		wg.Go(func() {
			var own [2][]int64
			var most time.Duration
			for ticker := time.NewTicker(every); ; {
				select {
				case <-stop:
					ticker.Stop()
					mu.Lock()
					defer mu.Unlock()
					ids[0], ids[1] = append(ids[0], own[0]...), append(ids[1], own[1]...)
					longest = max(longest, most)
					return
				case <-ticker.C:
				}
				for range burst {
					begin := time.Now()
					order, err := orders.Next(t.Context(), "order")
					stamp, timeErr := times.Next(t.Context())
					most = max(most, time.Since(begin))
					if err != nil || timeErr != nil {
						failed.Add(1)
						t.Errorf("a call failed: %v, %v", err, timeErr)
						return
					}
					own[0], own[1] = append(own[0], order), append(own[1], int64(stamp))
				}
			}
		})
	}
	time.Sleep(200 * time.Millisecond)
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait() // returns that it was killed
	killed := time.Now()
	if _, err := c.Fetch(t.Context(), "order", 1); err == nil {
		t.Error("a server that was killed hands out a range")
	}
	time.Sleep(outage)
	server = start()
	back, err := uid.NewCached(t.Context(), c, &uid.Options{Layout: compat.Twitter()}) // waits for the server
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	away := time.Since(killed)
	if _, err := c.Fetch(t.Context(), "order", 1); err != nil {
		t.Errorf("after the server is back: %v", err)
	}
	time.Sleep(max(200*time.Millisecond, outage/10))
	close(stop)
	wg.Wait()
	if back.Stats().Worker == times.Stats().Worker {
		t.Errorf("worker id %d was handed out twice", back.Stats().Worker)
	}
	s := orders.Stats().Tags[0]
	if s.Err != nil {
		t.Errorf("after the server is back the tag has the error %v", s.Err)
	}
	for kind, all := range ids {
		slices.Sort(all)
		if n := len(all); len(slices.Compact(all)) != n {
			t.Errorf("kind %d: of %d ids some occur twice", kind, n)
		}
	}
	t.Logf("killed for %v under load: %d ids of a tag and %d time-ordered ids, %d calls failed, none twice; "+
		"longest pair of calls %v; %d fetches arrived and %d failed",
		away.Round(time.Millisecond), len(ids[0]), len(ids[1]), failed.Load(), longest, s.Fetches, s.Failures)
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()
}
