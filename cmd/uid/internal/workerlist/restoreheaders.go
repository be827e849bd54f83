package workerlist

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/storekind"
	"github.com/uidring/uidring/internal/workertable"
)

// shown is what the tables show of a namespace's layouts.
type shown struct {
	header  bool
	moved   bool   // the header has the text of a move, and stays as it is
	stored  string // the header's text
	reach   int64  // the header's, in milliseconds; 0: there is none
	layouts string // the longest list that the header or a row has, without announced layouts
}

// showsLayouts reads what WORKER_LEASE shows of each namespace. The GROUP BY leaves one row for
// each list that a namespace has ever had.
func showsLayouts(ctx context.Context, q *sqldb.Conn) (map[string]shown, error) {
	all := map[string]shown{}
	err := q.Each(ctx, func(r *sql.Rows) error {
		var namespace, layout string
		var lowest int64
		var reach sql.NullInt64
		if err := r.Scan(&namespace, &layout, &lowest, &reach); err != nil {
			return err
		}
		s := all[namespace]
		if lowest == workertable.Header {
			s.header, s.stored, s.moved = true, layout, storekind.InMove(layout)
			s.reach = cmp.Or(reach.Int64, dayReach.Milliseconds())
		}
		if storekind.InMove(layout) {
			all[namespace] = s
			return nil
		}
		// A list that is longer begins with those that are shorter.
		layout = strings.ReplaceAll(layout, "~", ",") // it was settled, and is being taken back
		if settled, _, _ := strings.Cut(layout, "|"); len(settled) > len(s.layouts) {
			s.layouts = settled
		}
		all[namespace] = s
		return nil
	}, `SELECT NAMESPACE, LAYOUT, MIN(WORKER_ID),
			MAX(CASE WHEN WORKER_ID = -1 THEN UNTIL_MS END) FROM WORKER_LEASE
		WHERE NAMESPACE <> ? AND WORKER_ID >= -1 GROUP BY NAMESPACE, LAYOUT`, workertable.Everywhere)
	return all, err
}

// addHeaders appends a statement for each header that is missing or has not the layouts that it is
// to have. A backup may be older than the last era of a namespace, and a process that does not know
// the era could then claim first and stamp beyond its start. No table shows that, so a namespace
// whose claims have layouts is refused unless the caller names them.
func (p *RestorePlan) addHeaders(d sqldb.Dialect, all map[string]shown, layouts map[string]string,
	reach int64, conflict string) error {
	var missing []string
	for namespace := range layouts {
		if _, ok := all[namespace]; !ok && namespace != "" {
			all[namespace] = shown{} // the backup is older than the namespace
		}
	}
	p.Namespaces = slices.Sorted(maps.Keys(all))
	for _, namespace := range p.Namespaces {
		s := all[namespace]
		to, ok := layouts[namespace]
		if !ok && s.layouts != "" {
			to, ok = layouts[""]
		}
		switch {
		case s.moved:
			continue
		case s.layouts == "" && !ok && s.header:
			to = s.stored // its claims name no layout
		case s.layouts != "" && !ok:
			missing = append(missing, fmt.Sprintf("%q", namespace+"="+s.layouts))
			continue
		}
		if s.layouts != "" || s.header && ok {
			cut, _, err := assigner.CompareLayouts(s.layouts, to)
			if err == nil && !cut.IsZero() {
				err = fmt.Errorf("%w: the list %q lacks layouts", assigner.ErrLayoutMismatch, to)
			}
			if err != nil {
				return fmt.Errorf("workernode: namespace %q shows the layouts %q: %w",
					namespace, s.layouts, err)
			}
		}
		// A namespace whose reach is shorter would grant nothing from the floor on. One that is
		// forgotten is a day at the least.
		far := max(reach, cmp.Or(s.reach, dayReach.Milliseconds()))
		if s.header && s.stored == to && far == s.reach {
			continue
		}
		if text := namespace + to; strings.ContainsAny(text, `'\?{}`) {
			return fmt.Errorf("workernode: namespace %q or its layouts %q have a character that "+
				"a statement would have to escape; write its row with the worker id %d by hand",
				namespace, to, workertable.Header)
		}
		// A move may have sealed the header since.
		p.add(d, headerRow(namespace, strconv.FormatInt(far, 10), to)+conflict+fmt.Sprintf(",\n"+
			"  LAYOUT = CASE WHEN WORKER_LEASE.LAYOUT LIKE 'mov%%' THEN WORKER_LEASE.LAYOUT "+
			"ELSE '%s' END", to))
	}
	if missing != nil {
		return fmt.Errorf("workernode: the tables show the layouts %s, and not whether an era was "+
			"added after the backup: name the lists that the processes know, by --layout or "+
			"--layout-of of \"uid workers restored\"", strings.Join(missing, ", "))
	}
	return nil
}
