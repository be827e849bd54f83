package main

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestServePool: 500 clients that ask for a tag each leave connections of the database to others. The
// ids are taken one by one, so that every request needs the database.
func TestServePool(t *testing.T) {
	t.Parallel()
	const clients = 500
	s := servers.Postgres(t)
	db := s.CreateDB(t)
	b := newBench(t)
	b.cache = ""
	b.env["UID_DSN"] = s.DSN(db)
	b.check(t, exitOK, "", "", "segment", "init")
	s.Query(t, db, fmt.Sprintf(
		"INSERT INTO leaf_alloc (biz_tag, step) SELECT 'tag' || n, 1 FROM generate_series(0, %d) AS n", clients-1))
	server := b.serve(t, "--only", "segment", "--listed", "--max-step", "1", "--wait", "30s")

	var wg sync.WaitGroup
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	for i := range clients {
		wg.Go(func() {
			for range 3 {
				resp, err := client.Get(fmt.Sprintf("%s/api/segment/get/tag%d", server.base, i))
				if err != nil {
					t.Error(err)
					return
				}
				body, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					t.Errorf("tag%d: %d %s", i, resp.StatusCode, body)
				}
			}
		})
	}
	// Nobody gets a range while the table is locked, so that every client waits. The connection that
	// locks it is one of its own, which a crowded server refuses.
	text := s.Query(t, db, "BEGIN; LOCK TABLE leaf_alloc; SELECT pg_sleep(2); SELECT 'has ' || count(*) FROM "+
		"pg_stat_activity WHERE datname = '"+db+"' AND pid <> pg_backend_pid(); COMMIT")
	wg.Wait()
	_, count, _ := strings.Cut(text, "has ")
	n, err := strconv.Atoi(strings.Fields(count + " ")[0])
	if err != nil || n != maxConns {
		t.Errorf("uid serve has %d connections (%v), want all %d that it may have", n, err, maxConns)
	}
}
