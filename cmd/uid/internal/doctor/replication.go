package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/uidring/uidring/cmd/uid/internal/dsn"
	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/internal/sqldb"
)

// How a database that replicates loses commits that it has answered, and what to do about it. The
// warning of a promotion stays until commits wait for a replica: no server tells an account like
// the application's when it was promoted, and what happened once without a replica happens again.
const (
	promoted = "if commits of the server before it may be missing, run uid workers restored " +
		"before processes start; docs/operations.md, A restored backup, or a failover; the " +
		"warning ends when commits wait for a replica"
	forgetful = "a promotion forgets claims, and a worker id or window would be handed out " +
		"twice"
	anotherServer = "name the primary, or all servers with commas in between"
)

// replication checks what a fail-over of the database would lose, and whether the server is the one
// to write to. It returns nothing about a server that has no part in a replication.
func (p *Patient) replication(ctx context.Context) ([]Finding, error) {
	switch p.DB.Name() {
	case dsn.MySQL:
		return p.mysqlReplication(ctx)
	case dsn.Postgres:
		return p.postgresReplication(ctx)
	}
	return nil, nil
}

// member is a server of MySQL's dialect and its part in a replication, by the names of variables
// and status of MySQL 8 and later. Older names are translated.
type member map[string]string

func (m member) on(name string) bool { return m[name] == "ON" || m[name] == "1" }

// readOnly reports whether the server refuses what an application writes.
func (m member) readOnly() bool { return m.on("read_only") || m.on("super_read_only") }

func (p *Patient) mysqlReplication(ctx context.Context) (found []Finding, err error) {
	m := member{}
	for _, show := range []string{
		"SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'super_read_only', " +
			"'server_uuid', 'gtid_executed') OR Variable_name LIKE 'rpl\\_semi\\_sync\\_%' OR " +
			"Variable_name LIKE 'group\\_replication\\_%'",
		"SHOW GLOBAL STATUS LIKE 'Rpl\\_semi\\_sync\\_%'",
	} {
		rows, err := p.rows(ctx, show)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			name := strings.ReplaceAll(strings.ToLower(r["variable_name"]), "_master_", "_source_")
			m[strings.ReplaceAll(name, "slave", "replica")] = r["value"]
		}
	}
	if m["group_replication_group_name"] != "" {
		return p.groupMember(ctx, m)
	}
	source, err := p.sourceOf(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case source != "" && m.readOnly():
		return []Finding{warn("a replica of "+source+", which is read-only", anotherServer)}, nil
	case source != "":
		found = append(found, fail("a replica of "+source+" that can be written to: what is "+
			"written here is not there", "SET GLOBAL super_read_only = ON, and in its "+
			"configuration"))
	}
	sync := m.on("rpl_semi_sync_source_enabled")
	if sync {
		found = append(found, m.semiSync()...)
	}
	if m.servers() > 0 && !sync && !m.readOnly() && source == "" {
		found = append(found, warn("the server was promoted, or has the data of another one, and "+
			"waits for no replica: "+forgetful, promoted))
	}
	if found == nil && sync {
		found = []Finding{ok("a commit is on a replica before it is answered; %s acknowledge",
			human.Plural(int(m.number("rpl_semi_sync_source_clients")), "replica"))}
	}
	return found, nil
}

// semiSync finds what a source with semi-synchronous replication may lose.
func (m member) semiSync() (found []Finding) {
	wait := time.Duration(m.number("rpl_semi_sync_source_timeout")) * time.Millisecond
	const long = time.Hour
	asynchronous := m["rpl_semi_sync_source_status"] == "OFF"
	switch clients := m.number("rpl_semi_sync_source_clients"); {
	case asynchronous:
		found = append(found, fail("the source goes on without its replicas: "+forgetful,
			"bring a replica back, and raise rpl_semi_sync_source_timeout beyond any outage"))
	case clients == 0:
		found = append(found, fail("no replica acknowledges: every COMMIT waits, for up to "+
			human.Seconds(wait.Seconds()), "bring a replica back"))
	}
	if wait < long {
		found = append(found, warn("rpl_semi_sync_source_timeout is "+human.Seconds(wait.Seconds())+
			", after which the source goes on without its replicas: "+forgetful,
			"SET GLOBAL rpl_semi_sync_source_timeout beyond any outage, such as 86400000, and "+
				"in its configuration"))
	}
	if m["rpl_semi_sync_source_wait_point"] == "AFTER_COMMIT" {
		found = append(found, warn("rpl_semi_sync_source_wait_point is AFTER_COMMIT: others see a "+
			"change that no replica has", "SET GLOBAL rpl_semi_sync_source_wait_point = "+
			"AFTER_SYNC"))
	}
	if name := "rpl_semi_sync_source_wait_no_replica"; m[name] == "OFF" {
		found = append(found, warn(name+" is OFF: without replicas the source does not wait: "+
			forgetful, "SET GLOBAL "+name+" = ON, and in its configuration"))
	}
	return found
}

// number returns a variable as a number; one that is missing is 0.
func (m member) number(name string) int64 {
	n, _ := strconv.ParseInt(m[name], 10, 64)
	return n
}

// servers returns how many other servers have made changes that this one has.
func (m member) servers() (n int) {
	for set := range strings.SplitSeq(m["gtid_executed"], ",") {
		id, _, _ := strings.Cut(strings.TrimSpace(set), ":")
		if id != "" && !strings.EqualFold(id, m["server_uuid"]) {
			n++
		}
	}
	return n
}

// sourceOf returns the address of the server that this one replicates, or empty for none, or where
// the account may not see it.
func (p *Patient) sourceOf(ctx context.Context) (string, error) {
	for _, show := range []string{"SHOW REPLICA STATUS", "SHOW SLAVE STATUS"} {
		rows, err := p.rows(ctx, show)
		if err != nil {
			continue // an older server, or an account with fewer rights
		}
		for _, r := range rows {
			host, port := r["source_host"]+r["master_host"], r["source_port"]+r["master_port"]
			if host != "" {
				return human.Printable(host + ":" + port), nil
			}
		}
		return "", nil
	}
	return "", ctx.Err()
}

// groupMember checks a server that is configured for Group Replication.
func (p *Patient) groupMember(ctx context.Context, m member) ([]Finding, error) {
	rows, err := p.rows(ctx, "SELECT MEMBER_ID, MEMBER_HOST, MEMBER_PORT, MEMBER_STATE, "+
		"MEMBER_ROLE FROM performance_schema.replication_group_members")
	if p.failed(err, sqldb.Denied) {
		return []Finding{warn("the account may not see the members of the server's group",
			"GRANT SELECT ON performance_schema.replication_group_members")}, nil
	}
	if err != nil {
		return nil, err
	}
	own, primary, reached := "", "", 0
	for _, r := range rows {
		if r["member_id"] == m["server_uuid"] {
			own = r["member_state"]
		}
		if r["member_state"] == "ONLINE" || r["member_state"] == "RECOVERING" {
			reached++
		}
		if r["member_role"] == "PRIMARY" {
			primary = human.Printable(r["member_host"] + ":" + r["member_port"])
			if r["member_id"] == m["server_uuid"] {
				primary = ""
			}
		}
	}
	const join = "START GROUP_REPLICATION; super_read_only = ON belongs into its configuration"
	switch all := len(rows); {
	case own == "" || own == "OFFLINE" || own == "ERROR":
		if m.readOnly() {
			return []Finding{fail("the server is outside of its group, and read-only", join)}, nil
		}
		return []Finding{fail("the server is outside of its group and can be written to: "+
			"worker ids "+
			"would be handed out here and there", "SET GLOBAL super_read_only = ON now; "+
			join)}, nil
	case 2*reached <= all:
		return []Finding{fail(fmt.Sprintf("the server reaches %d of %d of its group, no majority: "+
			"every COMMIT hangs", reached, all), "bring the others back, or form a group of those "+
			"that are left as MySQL's manual says, group_replication_force_members")}, nil
	case own != "ONLINE":
		return []Finding{warn("the server is "+own+" in its group", anotherServer)}, nil
	case primary != "" && m.readOnly():
		return []Finding{warn("a secondary of its group; the primary is "+primary,
			anotherServer)}, nil
	case !m.on("group_replication_single_primary_mode"):
		return []Finding{warn("the group has several primaries: claims on them conflict, and a "+
			"member that lags shows rows that are old",
			"SELECT group_replication_switch_to_single_primary_mode()")}, nil
	case reached < all:
		return []Finding{warn(fmt.Sprintf("the primary of its group reaches %d of %d",
			reached, all),
			"bring the others back")}, nil
	default:
		return []Finding{ok("the primary of its group, with %d of %d", reached, all)}, nil
	}
}

func (p *Patient) postgresReplication(ctx context.Context) (found []Finding, err error) {
	var standby bool
	var names, commit string
	var standbys, syncing, wanted int64
	// An account that may not see a standby's state counts it as one that commits wait for.
	err = p.query(ctx, []any{&standby, &names, &commit, &standbys, &syncing, &wanted}, "SELECT "+
		"pg_is_in_recovery(), current_setting('synchronous_standby_names'), "+
		"current_setting('synchronous_commit'), COUNT(pid), "+
		"COUNT(pid) FILTER (WHERE COALESCE(sync_state, 'sync') IN ('sync', 'quorum')), "+
		"COALESCE(SUBSTRING(current_setting('synchronous_standby_names') "+
		`FROM '^\D*(\d+)\s*\('), '1')::int FROM pg_stat_replication`)
	if err != nil {
		return nil, err
	}
	if standby {
		return p.standby(ctx)
	}
	var timeline string
	err = p.query(ctx, []any{&timeline}, "SELECT SUBSTR(pg_walfile_name(pg_current_wal_lsn()), "+
		"1, 8)")
	if err != nil {
		return nil, err
	}
	number, _ := strconv.ParseInt(timeline, 16, 64)
	switch sync := names != ""; {
	case sync && syncing < wanted && commit != "local" && commit != "off":
		found = append(found, fail(fmt.Sprintf("every COMMIT waits for %s, and of %d that are "+
			"connected it counts %d", human.Plural(int(wanted), "standby"), standbys, syncing),
			"bring a standby back, or change synchronous_standby_names"))
	case !sync && standbys > 0:
		found = append(found, warn(fmt.Sprintf("the server waits for none of its %s: %s",
			human.Plural(int(standbys), "standby"), forgetful),
			"set synchronous_standby_names, or run uid workers restored after a promotion"))
	case !sync && number > 1:
		found = append(found, warn(fmt.Sprintf("the server was promoted or restored, it is at "+
			"timeline %d, and waits for no standby", number), promoted))
	}
	if names != "" {
		found = append(found, p.laxCommits(ctx, commit)...)
	}
	if found == nil && names != "" && commit != "off" {
		found = []Finding{ok("a commit is on a standby before it is answered; %d connected",
			standbys)}
	}
	return found, nil
}

// laxCommits finds sessions whose commits do not wait for the standby, or not for its disk. With
// synchronous_commit off they do not even wait for the server's own, which is another check.
func (p *Patient) laxCommits(ctx context.Context, commit string) (found []Finding) {
	const advice = "ALTER ROLE or ALTER DATABASE ... SET synchronous_commit = on"
	if commit == "local" {
		found = append(found, fail("synchronous_commit is local: a commit does not wait for the "+
			"standby: "+forgetful, advice))
	}
	if commit == "remote_write" {
		found = append(found, warn("synchronous_commit is remote_write: a crash of the standby's "+
			"machine and a promotion forget claims", advice))
	}
	for _, value := range []string{"local", "remote_write"} {
		var roles int64
		err := p.query(ctx, []any{&roles}, "SELECT COUNT(*) FROM pg_db_role_setting AS s CROSS "+
			"JOIN UNNEST(s.setconfig) AS c WHERE s.setdatabase IN (0, (SELECT oid FROM "+
			"pg_database WHERE datname = CURRENT_DATABASE())) AND LOWER(c) = "+
			"'synchronous_commit="+value+"'")
		if err == nil && roles > 0 && commit != value {
			found = append(found, warn(fmt.Sprintf("synchronous_commit is %s for %s, by ALTER "+
				"ROLE or "+
				"ALTER DATABASE", value, human.Plural(int(roles), "role or database")), advice))
		}
	}
	return found
}

// standby reports which server a standby follows, if the account may see it.
func (p *Patient) standby(ctx context.Context) ([]Finding, error) {
	var primary string
	err := p.query(ctx, []any{&primary}, "SELECT COALESCE((SELECT sender_host || ':' || "+
		"sender_port FROM pg_stat_wal_receiver LIMIT 1), '')")
	if err != nil {
		return nil, err
	}
	text := "a standby, which is read-only; the primary is " + human.Printable(primary)
	if primary == "" {
		text = "a standby, which is read-only; the account may not see of which server, or it " +
			"has none"
	}
	return []Finding{warn(text, anotherServer)}, nil
}

// rows returns the rows of a query as texts, by the lower-case names of the columns.
func (p *Patient) rows(ctx context.Context, query string) (all []map[string]string, err error) {
	rows, err := p.DB.WithContext(ctx).Raw(query).Rows()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values, dest := make([]*string, len(names)), make([]any, len(names))
		for i := range values {
			dest[i] = &values[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		row := map[string]string{}
		for i, name := range names {
			if values[i] != nil {
				row[strings.ToLower(name)] = *values[i]
			}
		}
		all = append(all, row)
	}
	return all, rows.Err()
}
