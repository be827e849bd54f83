package doctor

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/sqlgorm"
)

// server finds out which product the database is, and reports what is known about that.
func (p *Patient) server(ctx context.Context) ([]Finding, error) {
	db, err := sqlgorm.Open("doctor", p.DB, nil)
	if err != nil {
		return nil, err
	}
	var product sqldb.Product
	err = db.Do(ctx, func(c *sqldb.Conn) (err error) {
		product, err = c.Product(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	switch product {
	case sqldb.MySQL, sqldb.MariaDB, sqldb.Postgres, sqldb.SQLite:
		return []Finding{ok("%s", product)}, nil
	case sqldb.Dolt, sqldb.Doltgres:
		return []Finding{fail(
			fmt.Sprintf("%s is known to lose one of two changes at the same time", product),
			"use another database: worker ids and windows would be handed out twice")}, nil
	}
	var more []Finding
	switch product {
	case sqldb.TiDB:
		more, err = p.autoIDCache(ctx)
	case sqldb.OceanBase:
		more, err = p.cacheSize(ctx)
	case sqldb.Vitess:
		more = []Finding{warn("AUTO_INCREMENT counts in each shard for itself",
			"keep WORKER_NODE and WORKER_LEASE in a keyspace that is not sharded")}
	}
	untested := warn(fmt.Sprintf("%s, not tested with this library", product),
		"docs/workers.md says what a server must keep, and what the tests run on")
	return append([]Finding{untested}, more...), err
}

// autoIDCache checks how TiDB makes the keys of WORKER_NODE. Either each of its servers has a cache
// of keys, which a restart skips, or one service makes them all, which in some versions repeats
// keys.
func (p *Patient) autoIDCache(ctx context.Context) ([]Finding, error) {
	var version, name, create string
	if err := p.query(ctx, []any{&version}, "SELECT VERSION()"); err != nil {
		return nil, err
	}
	if err := p.query(ctx, []any{&name, &create}, "SHOW CREATE TABLE WORKER_NODE"); err != nil {
		return nil, err
	}
	return tidbKeys(version, create), nil
}

var (
	tidbVersion = regexp.MustCompile(`TiDB-v(\d+)\.(\d+)`)
	idCache     = regexp.MustCompile(`AUTO_ID_CACHE\s*=?\s*(\d+)`)
)

// tidbKeys judges the keys of a table by the server's VERSION() and by SHOW CREATE TABLE.
func tidbKeys(version, create string) []Finding {
	cache := "30000"
	if m := idCache.FindStringSubmatch(create); m != nil {
		cache = m[1]
	}
	if cache != "1" {
		return []Finding{warn("every server of TiDB skips up to "+cache+" keys at a restart",
			"lease worker ids: that uses them again")}
	}
	// An unknown version counts as one that repeats keys.
	release := 605
	if m := tidbVersion.FindStringSubmatch(version); m != nil {
		major, _ := strconv.Atoi(m[1])
		minor, _ := strconv.Atoi(m[2])
		release = 100*major + minor
	}
	if release < 605 || release > 801 {
		return nil
	}
	return []Finding{fail("AUTO_ID_CACHE is 1, with which TiDB 6.5 to 8.1 may hand out a key twice",
		"upgrade TiDB, or create WORKER_NODE without AUTO_ID_CACHE")}
}

// cacheSize checks how many keys a change of OceanBase's leader skips.
func (p *Patient) cacheSize(ctx context.Context) ([]Finding, error) {
	var name, size string
	err := p.query(ctx, []any{&name, &size},
		"SHOW GLOBAL VARIABLES LIKE 'auto_increment_cache_size'")
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(size) == "1" {
		return nil, nil
	}
	return []Finding{warn("OceanBase skips up to "+human.Printable(size)+
		" keys when its leader changes ("+name+")",
		"lease worker ids, or SET GLOBAL "+name+" = 1")}, nil
}
