package dbtest

import (
	"fmt"
	"testing"
)

// SemiSync starts a source of the current MySQL and two replicas, or skips the test as MySQLGroups
// does. A COMMIT waits for one of the replicas, for an hour: AFTER_SYNC. Each server is read-only
// when it starts.
func SemiSync(tb testing.TB) *Group {
	tb.Helper()
	MySQLGroups(tb)
	g, err := NewSemiSync()
	return testGroup(tb, mySQL{}, g, err)
}

// NewSemiSync is SemiSync outside of a test. Each arg is passed on to mysqld. The caller calls
// Close.
func NewSemiSync(args ...string) (*Group, error) {
	var members []flavour
	for i := range groupSize {
		members = append(members, newMember(i+1, append([]string{
			"--plugin-load-add=semisync_source.so", "--plugin-load-add=semisync_replica.so",
			"--rpl-semi-sync-replica-enabled=ON", "--rpl-semi-sync-source-timeout=3600000",
		}, args...)...))
	}
	return startGroup(semiSync{}, members...)
}

// follow makes a server, which is read-only from now on, a replica of another one, and returns when
// it acknowledges what it gets. What it applies must not wait for replicas of its own.
func follow(s, source *Server) error {
	host, port := "127.0.0.1", source.port
	err := s.run("SET GLOBAL super_read_only = ON; " +
		"SET GLOBAL rpl_semi_sync_source_enabled = OFF; STOP REPLICA; RESET REPLICA ALL; " +
		fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST='%s', SOURCE_PORT=%d, ", host, port) +
		"SOURCE_USER='" + replicator + "', SOURCE_PASSWORD='" + Password + "', " +
		"SOURCE_AUTO_POSITION=1, SOURCE_CONNECT_RETRY=1, GET_SOURCE_PUBLIC_KEY=1; START REPLICA")
	if err != nil {
		return err
	}
	return s.wait(replicaStatus, "ON")
}

const replicaStatus = "SELECT VARIABLE_VALUE FROM performance_schema.global_status " +
	"WHERE VARIABLE_NAME = 'Rpl_semi_sync_replica_status'"

// semiSync is the kind of group in which somebody promotes a replica.
type semiSync struct{}

// form makes replicas of all servers but the first.
func (semiSync) form(g *Group) error {
	for _, s := range g.Servers {
		if err := s.run("RESET BINARY LOGS AND GTIDS"); err != nil {
			return err
		}
	}
	for _, s := range g.Servers[1:] {
		if err := follow(s, g.Servers[0]); err != nil {
			return err
		}
	}
	err := g.Servers[0].run("SET GLOBAL rpl_semi_sync_source_enabled = ON")
	if err == nil {
		err = g.settle("--super-read-only=ON")
	}
	return err
}

// promote promotes the replica that has received the most, when it has applied it: a COMMIT that
// was answered is on one of them.
func (semiSync) promote(g *Group) (int, error) {
	best := -1
	var most string
	for i, s := range g.Servers {
		if i == g.primary {
			continue
		}
		// What it has received is applied.
		err := s.run("STOP REPLICA IO_THREAD")
		if err == nil {
			err = s.wait("SELECT GTID_SUBSET(COALESCE(MAX(RECEIVED_TRANSACTION_SET), ''), "+
				"@@gtid_executed) FROM performance_schema.replication_connection_status", "1")
		}
		var has, ahead string
		if err == nil {
			has, err = s.TryQuery("", "SELECT REPLACE(@@gtid_executed, '\\n', '')")
		}
		if err == nil && best >= 0 {
			ahead, err = s.TryQuery("", "SELECT NOT GTID_SUBSET('"+has+"', '"+most+"')")
		}
		if err != nil {
			return 0, err
		}
		if best < 0 || ahead == "1" {
			best, most = i, has
		}
	}
	next := g.Servers[best]
	err := next.run("STOP REPLICA; RESET REPLICA ALL; SET GLOBAL rpl_semi_sync_source_enabled " +
		"= ON; SET GLOBAL super_read_only = OFF; SET GLOBAL read_only = OFF")
	for i, s := range g.Servers {
		if err == nil && i != g.primary && i != best {
			err = follow(s, next)
		}
	}
	return best, err
}

func (semiSync) whole(g *Group) (int, error) {
	for i, s := range g.Servers {
		if i == g.primary {
			continue
		}
		if err := s.wait(replicaStatus, "ON"); err != nil {
			return 0, err
		}
	}
	return g.primary, nil
}

// rejoin makes a copy of the primary's data: the server may have changes that nobody else has.
func (semiSync) rejoin(g *Group, server int) error {
	s, source := g.Servers[server], g.Primary()
	if err := s.Start(); err != nil {
		return err
	}
	err := s.run("SET GLOBAL super_read_only = OFF; SET GLOBAL clone_valid_donor_list = '" +
		source.Addr() + "'")
	if err != nil {
		return err
	}
	// It ends the server, which nobody supervises, with an error.
	_ = s.run(fmt.Sprintf("CLONE INSTANCE FROM '%s'@'127.0.0.1':%d IDENTIFIED BY '%s'", replicator,
		source.port, Password))
	_ = s.Stop() // one that does not stop soon was killed
	if err := s.Start(); err != nil {
		return err
	}
	return follow(s, source)
}
