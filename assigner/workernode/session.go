package workernode

import (
	"context"
	"database/sql"
	"strings"
)

// checkSession refuses a database whose sessions make a change look made that is taken back later: without autocommit the worker id
// goes with the connection, and a session that reads uncommitted changes finds its own lost change before the database has
// it for good. Settings come with the connection string or the server, so one session speaks for the pool's others.
func (d *database) checkSession(ctx context.Context) error {
	if d.dialect.settings == "" {
		return nil
	}
	settings := map[string]string{}
	err := d.each(ctx, func(r *sql.Rows) error {
		var name, value string
		err := r.Scan(&name, &value)
		settings[name] = value
		return err
	}, d.dialect.settings)
	if err != nil {
		return err
	}
	if v := settings["autocommit"]; v == "OFF" || v == "0" {
		return final("workernode: %s: the session's autocommit is %s, want ON", d.place, v)
	}
	for _, name := range []string{"transaction_isolation", "tx_isolation"} { // MySQL's name, and MariaDB's before 11.1
		if v := settings[name]; strings.EqualFold(v, "READ-UNCOMMITTED") {
			return final("workernode: %s: the session's %s is %s, want READ-COMMITTED or higher", d.place, name, v)
		}
	}
	return nil
}
