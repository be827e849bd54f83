package dbtest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// GroupReplication starts a group of the current MySQL, or skips the test as MySQLGroups does:
// Group Replication, in which each member accepts writes if multi is set, and otherwise one. A
// member that starts again joins by itself and is read-only until then. Each arg is passed on to
// mysqld.
func GroupReplication(tb testing.TB, multi bool, args ...string) *Group {
	tb.Helper()
	MySQLGroups(tb)
	g, err := NewGroupReplication(multi, args...)
	return testGroup(tb, mySQL{}, g, err)
}

// NewGroupReplication is GroupReplication outside of a test. The caller calls Close.
func NewGroupReplication(multi bool, args ...string) (*Group, error) {
	seeds := make([]string, groupSize)
	for i := range seeds {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		seeds[i] = fmt.Sprint("127.0.0.1:", port)
	}
	single, several := "ON", "OFF"
	if multi {
		single, several = several, single
	}
	var members []flavour
	for i := range seeds {
		members = append(members, newMember(i+1, append([]string{
			"--plugin-load-add=group_replication.so",
			"--group-replication-group-name=6d2f4d2e-0000-4000-8000-000000000001",
			"--group-replication-start-on-boot=OFF",
			"--group-replication-local-address=" + seeds[i],
			"--group-replication-group-seeds=" + strings.Join(seeds, ","),
			"--group-replication-ip-allowlist=127.0.0.1/8",
			"--group-replication-recovery-get-public-key=ON",
			"--group-replication-single-primary-mode=" + single,
			"--group-replication-enforce-update-everywhere-checks=" + several,
		}, args...)...))
	}
	return startGroup(groupReplication{}, members...)
}

const (
	onlineMembers = "SELECT COUNT(*) FROM performance_schema.replication_group_members " +
		"WHERE MEMBER_STATE = 'ONLINE'"

	ownState = "SELECT COALESCE(MAX(MEMBER_STATE), 'OFFLINE') FROM " +
		"performance_schema.replication_group_members WHERE MEMBER_ID = @@server_uuid"

	// ownRole is a member's state as it sees it, and whether it can be written to.
	ownRole = "SELECT CONCAT(MEMBER_STATE, ' ', MEMBER_ROLE, ' ', @@super_read_only) " +
		"FROM performance_schema.replication_group_members WHERE MEMBER_ID = @@server_uuid"
)

// groupReplication is the kind of group that finds its next primary by itself.
type groupReplication struct{}

func (groupReplication) form(g *Group) error {
	for i, s := range g.Servers {
		err := s.run("RESET BINARY LOGS AND GTIDS", "CHANGE REPLICATION SOURCE TO "+
			"SOURCE_USER='"+replicator+"', SOURCE_PASSWORD='"+Password+"' "+
			"FOR CHANNEL 'group_replication_recovery'")
		if err == nil && i == 0 {
			err = s.run("SET GLOBAL group_replication_bootstrap_group = ON; START " +
				"GROUP_REPLICATION; SET GLOBAL group_replication_bootstrap_group = OFF")
		} else if err == nil {
			err = s.run("START GROUP_REPLICATION")
		}
		if err != nil {
			return err
		}
	}
	for _, s := range g.Servers {
		if err := s.wait(onlineMembers, fmt.Sprint(len(g.Servers))); err != nil {
			return err
		}
	}
	return g.settle("--group-replication-start-on-boot=ON", "--super-read-only=ON")
}

func (groupReplication) promote(g *Group) (primary int, err error) {
	err = within(func() error {
		for i, s := range g.Servers {
			if s.flavour.ready(s.Addr()) != nil {
				continue // a client of a server that is stopped would wait for it
			}
			if role, err := s.TryQuery("", ownRole); err == nil && role == "ONLINE PRIMARY 0" {
				primary = i
				return nil
			}
		}
		return errors.New("dbtest: the group has no primary")
	})
	return primary, err
}

// whole has members that the group has expelled join again, as an operator would: by themselves
// they try again after minutes.
func (k groupReplication) whole(g *Group) (int, error) {
	err := within(func() error {
		all := true
		for _, s := range g.Servers {
			state, err := s.TryQuery("", ownState)
			if err != nil || state == "ERROR" || state == "OFFLINE" {
				_ = s.run("STOP GROUP_REPLICATION; START GROUP_REPLICATION") // or in the next round
			}
			n, err := s.TryQuery("", onlineMembers)
			all = all && err == nil && n == fmt.Sprint(len(g.Servers))
		}
		if !all {
			time.Sleep(time.Second)
			return errors.New("dbtest: the group is not whole")
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return k.promote(g)
}

func (groupReplication) rejoin(g *Group, server int) error {
	s := g.Servers[server]
	if err := s.Start(); err != nil {
		return err
	}
	return s.wait(ownState, "ONLINE")
}
