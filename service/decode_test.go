package service_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
	"github.com/uidring/uidring/service"
)

// TestDecode: the answer has Leaf's names and forms, for Leaf's layout and for others.
func TestDecode(t *testing.T) {
	t.Parallel()
	leaf := newHandler(t, &service.HandlerOptions{Snowflake: &snowflake{}, Location: time.FixedZone("CST", 8*3600)})
	made := func(layout bitsalloc.Layout) (http.Handler, string) {
		a, err := bitsalloc.New(layout)
		if err != nil {
			t.Fatal(err)
		}
		id, err := a.Compose(a.TickAt(time.Date(2026, 11, 21, 1, 2, 3, 456e6, time.UTC)), 39, 448)
		if err != nil {
			t.Fatal(err)
		}
		h := newHandler(t, &service.HandlerOptions{Snowflake: &snowflake{}, Location: time.UTC, Layout: &layout})
		return h, fmt.Sprint(id)
	}
	epoch, ownID := made(compat.Snowflake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	seconds, secondsID := made(bitsalloc.Layout{})
	gene, geneID := made(compat.ShardGene())
	short, shortID := made(bitsalloc.Layout{TimeBits: 30, WorkerBits: 10, SeqBits: 10})
	for _, tt := range []struct {
		h    http.Handler
		id   string
		want map[string]string
	}{
		{leaf, "8384512", map[string]string{
			"timestamp": "1288834974658(2010-11-04 09:42:54.658)", "workerId": "1023", "sequenceId": "0",
		}},
		{leaf, "0", map[string]string{
			"timestamp": "1288834974657(2010-11-04 09:42:54.657)", "workerId": "0", "sequenceId": "0",
		}},
		{epoch, ownID, map[string]string{
			"timestamp": "1795222923456(2026-11-21 01:02:03.456)", "workerId": "39", "sequenceId": "448",
		}},
		{seconds, secondsID, map[string]string{
			"timestamp": "1795222923000(2026-11-21 01:02:03.000)", "workerId": "39", "sequenceId": "448",
		}},
		{short, shortID, map[string]string{
			"timestamp": "1795222923000(2026-11-21 01:02:03.000)", "workerId": "39", "sequenceId": "448",
		}},
		{gene, geneID, map[string]string{
			"timestamp": "1795222923456(2026-11-21 01:02:03.456)", "workerId": "39", "sequenceId": "448",
			"gene": "0",
		}},
	} {
		w := get(tt.h, "/decodeSnowflakeId?snowflakeId="+tt.id)
		var got map[string]string
		err := json.Unmarshal(w.Body.Bytes(), &got)
		if err != nil || w.Code != 200 || fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("decode %s = %d %s, %v, want %v", tt.id, w.Code, w.Body, err, tt.want)
		}
	}
	for _, id := range []string{"", "x", "-1", "9223372036854775808", "1.5", "<script>"} {
		w := get(leaf, "/decodeSnowflakeId?snowflakeId="+id)
		if w.Code != 400 || !strings.Contains(w.Body.String(), "errorMsg") || strings.Contains(w.Body.String(), "<") {
			t.Errorf("decode %q = %d %s, want 400 with an errorMsg", id, w.Code, w.Body)
		}
	}
	w := get(short, "/decodeSnowflakeId?snowflakeId=1125899906842624")
	if w.Code != 400 || !strings.Contains(w.Body.String(), "0 to 1125899906842623") {
		t.Errorf("an id above the layout's 50 bits = %d %s, want 400 with the bound", w.Code, w.Body)
	}
}
