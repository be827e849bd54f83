package main

import (
	"context"
	"encoding/json"
	"strings"

	"gorm.io/gorm"

	"github.com/uidring/uidring/cmd/uid/internal/doctor"
	"github.com/uidring/uidring/cmd/uid/internal/dsn"
	"github.com/uidring/uidring/cmd/uid/internal/workerlist"
)

type doctorCmd struct {
	dsnFlags    `embed:""`
	layoutFlags `embed:""`
	Peer        []string `placeholder:"DSN" sep:"none" help:"Another database of the same namespaces, or store of the same universe, such as another region's: fail if a worker id is in both. May be given several times."`
	Namespace   string   `placeholder:"NAME" help:"Only the leases of this namespace. Default: all."`
	Strict      bool     `help:"Fail on warnings too."`
	JSON        bool     `help:"Print one JSON object."`
}

// Run examines the database and fails if a check does. Nothing is changed, except that the embedded
// database gets its tables.
func (c *doctorCmd) Run(ctx context.Context, p *program) error {
	layout, err := c.layoutFlags.resolveToMake()
	if err != nil {
		return err
	}
	patient := doctor.Patient{Layout: layout.alloc, Eras: layout.eras, Now: p.now(), Text: p.text,
		Namespace: c.Namespace}
	found, err := c.examine(ctx, p, &patient)
	if isUsage(err) {
		return err
	}
	if err != nil { // a database that cannot be reached is a finding as well
		f := doctor.Finding{Check: "connection", Verdict: doctor.Fail, Text: p.text(err)}
		if s, _ := c.dsnFlags.resolve(p); s.Dialect != dsn.SQLite {
			f.Advice = "check address, account and firewall; --timeout bounds the wait"
		}
		found = append(found, f)
	}
	report := doctor.NewReport(patient.Place, c.Strict, found)
	if c.JSON {
		err = json.NewEncoder(p.out).Encode(report)
	} else {
		err = report.Print(p.out)
	}
	if err == nil && !report.OK {
		err = errReported
	}
	return err
}

// examine returns the doctor's findings about the database or the authority that the flags name.
func (c *doctorCmd) examine(
	ctx context.Context, p *program, patient *doctor.Patient,
) (found []doctor.Finding, err error) {
	if patient.Peers, err = c.peers(ctx, p); err != nil {
		return nil, err
	}
	if c.fromAuthority(p) {
		err = c.useAuthority(ctx, p, func(ctx context.Context, a *authority) error {
			patient.Place, patient.Condition = a.place, a.Examine
			patient.Leases = func(ctx context.Context) ([]workerlist.Lease, error) {
				return leasesOf(ctx, a)
			}
			found = patient.ExamineSlots(ctx)
			return nil
		})
		return found, err
	}
	err = c.use(ctx, p, func(ctx context.Context, db *gorm.DB, s dsn.Source) error {
		patient.Place, patient.DB = s.Place, db
		patient.Leases = func(ctx context.Context) ([]workerlist.Lease, error) {
			return workerlist.Leases(ctx, db)
		}
		found = patient.Examine(ctx)
		return nil
	})
	return found, err
}

// peers reads the databases or the authorities that --peer names.
func (c *doctorCmd) peers(ctx context.Context, p *program) (peers []doctor.Peer, err error) {
	here := c.fromAuthority(p)
	for _, name := range c.Peer {
		other := dsnFlags{DSN: name, Timeout: c.Timeout}
		there := other.fromAuthority(p)
		_, malformed := dsn.Parse(strings.TrimSpace(name))
		switch {
		case there && !here:
			return nil, usagef("--peer %s is no database, --dsn is one: want two of a kind",
				p.redactor.Redact(name))
		case here && !there:
			return nil, usagef("--peer %s is a database, --dsn is not: want two of a kind",
				p.redactor.Redact(name))
		case !there && malformed != nil:
			return nil, usagef("--peer: %w", malformed)
		case there:
			err = other.useAuthority(ctx, p, func(ctx context.Context, a *authority) error {
				peer, err := peerOf(ctx, a)
				peers = append(peers, peer)
				return err
			})
		default:
			err = other.use(ctx, p, func(ctx context.Context, db *gorm.DB, s dsn.Source) error {
				peer, err := doctor.NewPeer(ctx, db, s.Place)
				peers = append(peers, peer)
				return err
			})
		}
		if err != nil {
			return nil, err
		}
	}
	return peers, nil
}
