package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/sqlgorm"
)

// keyed are the tables that have a key on which uniqueness rests, and its columns.
var keyed = []struct {
	table   string
	columns []string
}{
	{"WORKER_NODE", []string{"ID"}}, {"WORKER_LEASE", []string{"NAMESPACE", "WORKER_ID"}},
	{"leaf_alloc", []string{"biz_tag"}}, {"t_sequence", []string{"pk_seq_name"}},
	{"ticket", []string{"stub"}}, {"number_name", []string{"name"}},
	{"number_gapless", []string{"tag"}}, {"segment_moved", []string{"tag"}},
}

// keys finds the tables that a restore or a CREATE TABLE ... AS SELECT has left without their key.
// It passes over those that are missing.
func (p *Patient) keys(ctx context.Context) ([]Finding, error) {
	db, err := sqlgorm.Open("doctor", p.DB, nil)
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, t := range keyed {
		err := db.RequireKey(ctx, t.table, t.columns...)
		e, ok := errors.AsType[*sqldb.KeyError](err)
		if !ok && err != nil {
			return found, err
		}
		if !ok {
			continue
		}
		var equal int64
		list := strings.Join(t.columns, ", ")
		if err := p.query(ctx, []any{&equal}, "SELECT COUNT(*) FROM (SELECT "+list+" FROM "+t.table+
			" GROUP BY "+list+" HAVING COUNT(*) > 1) AS equal_rows"); err != nil {
			return found, err
		}
		found = append(found, fail(fmt.Sprintf("%s; it has several rows for %s", e.Lacks(),
			human.Plural(int(equal), "key")), "stop what uses it, keep the row of each key whose "+
			"counter or end is the highest, then: "+e.Repair))
	}
	if found == nil {
		found = []Finding{ok("no two rows can have one worker id or tag")}
	}
	return found, nil
}
