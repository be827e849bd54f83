package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner/etcd"
	"github.com/uidring/uidring/assigner/kubernetes"
	"github.com/uidring/uidring/assigner/kubernetes/kubeconfig"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/zookeeper"
	"github.com/uidring/uidring/cmd/uid/internal/doctor"
	"github.com/uidring/uidring/cmd/uid/internal/dsn"
	"github.com/uidring/uidring/cmd/uid/internal/hosturl"
	"github.com/uidring/uidring/cmd/uid/internal/workerlist"
	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/uid"
)

// authority is a store of slots that worker ids come from instead of a database.
type authority struct {
	*lease.Assigner

	place string
}

// opener opens the authority at an address.
type opener func(address string, o lease.Options) (*lease.Assigner, error)

// openerOf returns the opener for an address, nil if the address names a database.
func openerOf(address string) opener {
	switch {
	case strings.HasPrefix(address, "kubernetes:"):
		return openKubernetes
	case strings.HasPrefix(address, "etcd://"):
		return openEtcd
	case strings.HasPrefix(address, "zookeeper://"):
		return openZooKeeper
	}
	return nil
}

func openKubernetes(address string, o lease.Options) (*lease.Assigner, error) {
	return kubeconfig.Open(address, &kubernetes.Options{Lease: o})
}

func openEtcd(address string, o lease.Options) (*lease.Assigner, error) {
	u, err := hosturl.Parse("etcd", "2379", address)
	if err != nil {
		return nil, err
	}
	scheme := "http://"
	if u.TLS != nil {
		scheme = "https://"
	}
	c := clientv3.Config{Username: u.User, Password: u.Password, TLS: u.TLS}
	for _, host := range u.Hosts {
		c.Endpoints = append(c.Endpoints, scheme+host)
	}
	return etcd.Open(c, &etcd.Options{Namespace: u.Path, Lease: o})
}

func openZooKeeper(address string, o lease.Options) (*lease.Assigner, error) {
	u, err := hosturl.Parse("zookeeper", "2181", address)
	if err != nil {
		return nil, err
	}
	opts := &zookeeper.Options{Namespace: u.Path, Lease: o}
	if u.User != "" {
		opts.Digest = u.User + ":" + u.Password
	}
	if u.TLS != nil {
		opts.Dial = (&tls.Dialer{Config: u.TLS}).DialContext
	}
	return zookeeper.Open(u.Hosts, opts)
}

// fromAuthority reports whether the flags name an authority and not a database.
func (f *dsnFlags) fromAuthority(p *program) bool {
	address, _ := f.address(p)
	return openerOf(address) != nil
}

// useAuthority opens the authority that the flags name, calls do and closes it again.
func (f *dsnFlags) useAuthority(
	ctx context.Context, p *program, do func(context.Context, *authority) error,
) error {
	within, cancel := context.WithTimeout(ctx, f.Timeout)
	defer cancel()
	a, err := f.openAuthority(p, lease.Options{})
	if err != nil {
		return err
	}
	bar := p.progress("waiting for "+a.place, 0)
	defer bar.End()
	err = do(within, a)
	if err != nil {
		err = f.explain(within, dsn.Source{Place: a.place}, err)
	}
	return errors.Join(err, a.Close())
}

func (f *dsnFlags) openAuthority(p *program, o lease.Options) (*authority, error) {
	address, origin := f.address(p)
	a, err := openerOf(address)(address, o)
	if err != nil {
		return nil, usagef("%s: %w", origin, err)
	}
	return &authority{a, p.redactor.Redact(address)}, nil
}

// authorityGenerator takes a worker id from the authority that the flags name and returns a
// generator. Closing the generator gives the worker id back and closes the authority.
func (f *dsnFlags) authorityGenerator(
	ctx context.Context, p *program, flags *assignerFlags, o claimOptions,
	make func(ctx context.Context, a *authority) (uid.Generator, error),
) (*ownedGenerator, error) {
	if flags.Namespace != "" || flags.Assigner != "leased" {
		return nil, usagef("--namespace and --assigner are for databases; the address in --dsn " +
			"names the universe of ids")
	}
	start, cancel := context.WithTimeout(ctx, f.Timeout)
	defer cancel()
	a, err := f.openAuthority(p, lease.Options{Window: o.window, Logger: o.logger})
	if err != nil {
		return nil, err
	}
	bar := p.progress("taking a worker id from "+a.place, 0)
	defer bar.End()
	g, err := make(start, a)
	if err != nil {
		return nil, errors.Join(f.explain(start, dsn.Source{Place: a.place}, err), a.Close())
	}
	return &ownedGenerator{g, a.Close, p}, nil
}

// ofAuthority is Run for an authority.
func (c *workersCmd) ofAuthority(ctx context.Context, p *program, zone *time.Location) error {
	switch {
	case c.Action == "reap":
		return usagef("reap is for databases; worker ids whose windows have passed are free " +
			"without it")
	case c.Namespace != "":
		return usagef("--namespace is for databases; the address in --dsn names the universe " +
			"of ids")
	}
	layout := ""
	if c.Action == "restored" || c.Action == "take-back" {
		if c.Layout == "" {
			return usagef("--layout is missing, want the list of eras that the newest process " +
				"has: the store may have forgotten the last ones")
		}
		n, err := c.resolveToMake()
		if err != nil {
			return err
		}
		layout = n.eras.String()
	}
	return c.useAuthority(ctx, p, func(ctx context.Context, a *authority) error {
		condition, err := a.Examine(ctx)
		if err != nil {
			return err
		}
		switch c.Action {
		case "restored":
			return c.restoreAuthority(ctx, p, a, condition, layout)
		case "take-back":
			return p.takeBack(ctx, a.Assigner, layout)
		}
		leases, err := leasesOf(ctx, a)
		switch {
		case err != nil:
			return err
		case c.JSON:
			err = json.NewEncoder(p.out).Encode(workersJSON{
				Nodes: []nodeJSON{}, Leases: leasesJSON(leases),
			})
		default:
			err = p.printLeases("slots", leases, zone)
		}
		for _, fault := range condition.Faults {
			p.complain(fault)
		}
		if err == nil && condition.Faults != nil {
			err = errReported
		}
		return err
	})
}

// restoreAuthority makes an authority in that condition safe for claims after it went back, or says
// what it would do.
func (c *workersCmd) restoreAuthority(
	ctx context.Context, p *program, a *authority, condition lease.Condition,
	layout string,
) error {
	empty := !condition.Header && condition.Slots == 0 && condition.Faults == nil
	if empty && !c.Empty {
		return fmt.Errorf("%s has no entry: is the address right? --empty makes a header there "+
			"all the same", a.place)
	}
	head := "done"
	if c.DryRun {
		head = "a dry run: nothing is changed"
	} else if err := a.Restore(ctx, c.Highest, *c.Reach, layout); err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(p.out).Encode(restoredSlotsJSON{
			c.DryRun, condition.Used, condition.Slots,
		})
	}
	_, err := fmt.Fprintf(p.out, "%s\nheader: worker ids up to %d that have no slot are not given "+
		"out again; %s had been before\nslots: %s without an owner, unused for %v or longer\n"+
		"%s\n",
		head, c.Highest, human.Plural(int(condition.Used), "worker id"),
		human.Plural(condition.Slots, "slot"), *c.Reach, movedSince)
	return err
}

// restoredSlotsJSON is what restored --json prints for an authority.
type restoredSlotsJSON struct {
	DryRun bool  `json:"dry_run"`
	Used   int64 `json:"used"` // worker ids that had been given out
	Slots  int   `json:"slots"`
}

// leasesOf returns the slots of an authority as the rows of a database.
func leasesOf(ctx context.Context, a *authority) ([]workerlist.Lease, error) {
	all, err := a.Slots(ctx)
	leases := make([]workerlist.Lease, 0, len(all))
	for _, s := range all {
		leases = append(leases, workerlist.Lease{Slot: s})
	}
	return leases, err
}

// peerOf reads the worker ids of an authority for the doctor.
func peerOf(ctx context.Context, a *authority) (doctor.Peer, error) {
	leases, err := leasesOf(ctx, a)
	if err != nil {
		return doctor.Peer{}, err
	}
	condition, err := a.Examine(ctx)
	return doctor.NewSlotsPeer(leases, a.place, condition), err
}
