// Package sql holds the DDL of every table that uidring keeps in a database: one file per table,
// and one more per dialect that needs another text. Every statement is a CREATE TABLE or CREATE
// INDEX IF NOT EXISTS; nothing drops or alters a table.
package sql

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

// files are <table>.sql, which is MySQL's and MariaDB's and that of every dialect without a file of
// its own, and <table>.<dialect>.sql.
//
//go:embed *.sql
var files embed.FS

// dialects returns the names of GORM's dialectors. "mysql" is MariaDB as well.
func dialects() []string { return []string{"mysql", "postgres", "sqlite"} }

// Tables returns the names of the tables, sorted.
func Tables() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		// Embedded by the compiler, so it cannot fail.
		panic("sql: reading the embedded files: " + err.Error())
	}
	var tables []string
	for _, e := range entries {
		table, _, _ := strings.Cut(e.Name(), ".")
		tables = append(tables, table)
	}
	slices.Sort(tables)
	return slices.Compact(tables)
}

// DDL returns the statements that make a table and its indexes if they are missing, with comments,
// each ending in a semicolon. The error names the dialects or the tables that there are.
func DDL(dialect, table string) (string, error) {
	if !slices.Contains(dialects(), dialect) {
		return "", fmt.Errorf("sql: dialect is %q, want one of %s",
			dialect, strings.Join(dialects(), ", "))
	}
	if !slices.Contains(Tables(), table) {
		return "", fmt.Errorf("sql: table is %q, want one of %s",
			table, strings.Join(Tables(), ", "))
	}
	b, err := files.ReadFile(table + "." + dialect + ".sql")
	if err != nil {
		b, err = files.ReadFile(table + ".sql")
	}
	if err != nil {
		return "", fmt.Errorf("sql: table %s has no DDL for %s", table, dialect)
	}
	return string(b), nil
}
