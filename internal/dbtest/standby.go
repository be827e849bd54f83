package dbtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Standbys starts a PostgreSQL and two standbys by streaming, or skips the test. The first of them
// that is connected is synchronous, the other is not.
func Standbys(tb testing.TB) *Group {
	tb.Helper()
	long(tb, postgres{})
	g, err := NewStandbys()
	return testGroup(tb, postgres{}, g, err)
}

// NewStandbys is Standbys outside of a test. The caller calls Close.
func NewStandbys() (*Group, error) {
	f := newPostgres([]string{
		"-csynchronous_standby_names=FIRST 1 (*)", "-cwal_level=replica",
		"-chot_standby=on", "-cwal_keep_size=64MB", "-cwal_receiver_timeout=5s",
		"-cwal_retrieve_retry_interval=100ms",
	})
	return startGroup(streaming{f}, f)
}

// standby differs from postgres in how it is installed: its data are those of a primary.
type standby struct {
	postgres
	primary *Server
}

func (s standby) install(dir string) error {
	if err := giveAway(dir); err != nil {
		return err
	}
	return s.follow(s.primary, dir)
}

// follow makes a standby of a server that is down, and whose folder is dir.
func (p postgres) follow(primary *Server, dir string) error {
	program, err := p.find("pg_basebackup")
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	if err := os.RemoveAll(data); err != nil {
		return err
	}
	conn := fmt.Sprintf("host=127.0.0.1 port=%d user=%s password=%s application_name=%s",
		primary.port, User, Password, filepath.Base(dir))
	cmd := exec.Command(program, "--pgdata="+data, "--dbname="+conn, "--write-recovery-conf",
		"--checkpoint=fast", "--no-sync", "--wal-method=stream")
	cmd.Dir = dir
	if err := unprivileged(cmd); err != nil {
		return err
	}
	return run(cmd)
}

// streaming is the kind of group in which somebody promotes a standby.
type streaming struct{ postgres }

// form starts the standbys of a primary.
func (k streaming) form(g *Group) error {
	for len(g.Servers) < groupSize {
		s, err := start(standby{k.postgres, g.Primary()})
		if err != nil {
			return err
		}
		g.Servers = append(g.Servers, s)
	}
	return g.Whole()
}

// promote promotes the standby that has received the most: a COMMIT that was answered is on one of
// them.
func (streaming) promote(g *Group) (int, error) {
	best, most := -1, ""
	for i, s := range g.Servers {
		if i == g.primary {
			continue
		}
		// Without a line break, a byte of 0 to the left makes texts compare as positions do.
		got, err := s.TryQuery("", "SELECT LPAD(SPLIT_PART(pg_last_wal_receive_lsn()::text, "+
			"'/', 1), 8, '0') || LPAD(SPLIT_PART(pg_last_wal_receive_lsn()::text, '/', 2), 8, "+
			"'0')")
		if err != nil {
			return 0, err
		}
		if best < 0 || got > most {
			best, most = i, got
		}
	}
	next := g.Servers[best]
	err := next.run("SELECT pg_promote()")
	if err == nil {
		err = next.wait("SELECT pg_is_in_recovery()", "f")
	}
	for i, s := range g.Servers {
		if err != nil || i == g.primary || i == best {
			continue
		}
		var conn string
		conn, err = s.TryQuery("", "SELECT setting FROM pg_settings WHERE name = "+
			"'primary_conninfo'")
		conn = strings.ReplaceAll(conn, fmt.Sprint("port=", g.Primary().port),
			fmt.Sprint("port=", next.port))
		conn = strings.ReplaceAll(conn, fmt.Sprint("port='", g.Primary().port),
			fmt.Sprint("port='", next.port))
		if err == nil {
			err = s.run("ALTER SYSTEM SET primary_conninfo = '"+strings.ReplaceAll(conn, "'",
				"''")+"'",
				"SELECT pg_reload_conf()")
		}
	}
	if err == nil {
		err = next.wait(streams, "1")
	}
	return best, err
}

// rejoin makes a copy of the primary's data: the server may have changes that nobody else has.
func (k streaming) rejoin(g *Group, server int) error {
	s := g.Servers[server]
	_ = s.Stop() // one that does not stop soon was killed
	if err := k.follow(g.Primary(), s.dir); err != nil {
		return err
	}
	if err := s.Start(); err != nil {
		return err
	}
	_, err := k.whole(g)
	return err
}

func (streaming) whole(g *Group) (int, error) {
	return g.primary, g.Primary().wait(streams, fmt.Sprint(groupSize-1))
}

const streams = "SELECT COUNT(*) FROM pg_stat_replication WHERE state = 'streaming'"
