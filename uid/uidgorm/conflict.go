package uidgorm

import (
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// The settings of a statement.
const (
	upsertKey      = "uidgorm:upsert"
	associationKey = "gorm:saved_association_map" // GORM's own, in the INSERT of an association
)

// upsert is an INSERT with ON CONFLICT. Where it meets a row that exists, the ids that its own row
// has are not stored, and no other row may refer to them.
type upsert struct {
	cells   []cell // the fields with ids, whether they were filled or set before
	nested  bool   // of an association
	nothing bool   // DO NOTHING, which MySQL's driver rewrites when it composes the INSERT
	held    bool   // of a belongs-to or a many-to-many association: other rows refer to these
	reads   bool   // RETURNING reads the stored ids back
}

// upsertOf returns the upsert of a statement, which fill begins before all associations; nil
// without ON CONFLICT.
func upsertOf(tx *gorm.DB, begin bool) *upsert {
	if _, ok := tx.Statement.Clauses["ON CONFLICT"]; !ok {
		return nil
	}
	if made, ok := tx.InstanceGet(upsertKey); ok && !begin {
		return made.(*upsert) //nolint:errcheck,forcetypeassert // nothing else is stored
	}
	if !begin {
		return nil
	}
	u := &upsert{}
	_, u.nested = tx.Get(associationKey)
	tx.InstanceSet(upsertKey, u)
	return u
}

// readBack has the columns of the ids returned, where the database can and returns one row for
// each. A map gets nothing back: GORM stores no associations of it.
func (u *upsert) readBack(stmt *gorm.Statement, b batch, plan []*target) {
	for _, t := range plan {
		for _, r := range b.rows {
			if !r.empty(b.ctx, t.field) {
				u.cells = append(u.cells, cell{t, r})
			}
		}
	}
	on := onConflict(stmt)
	u.nothing = on.DoNothing
	u.held = u.nested && (on.DoNothing || on.UpdateAll) // a has-many association updates columns
	if len(u.cells) == 0 || u.cells[0].row.fields != nil || on.DoNothing ||
		len(on.Where.Exprs) > 0 || !slices.Contains(stmt.BuildClauses, "RETURNING") {
		return
	}
	if u.nested && !u.held && len(u.referred(stmt)) == 0 {
		return // the children of a has-many association, to which nothing refers
	}
	returning, has := stmt.Clauses["RETURNING"].Expression.(clause.Returning)
	if has && (len(returning.Columns) == 0 || returning.Columns[0].Name == "*") {
		return // which returns them anyway
	}
	var columns []clause.Column // AddClause keeps those that are there
	if !has {                   // what GORM itself reads back
		for _, f := range stmt.Schema.FieldsWithDefaultDBValue {
			if f.Readable {
				columns = append(columns, clause.Column{Name: f.DBName})
			}
		}
	}
	for _, c := range u.cells {
		column := clause.Column{Name: c.target.field.DBName}
		if c.target.field.Readable && !slices.Contains(columns, column) &&
			!slices.Contains(returning.Columns, column) {
			columns = append(columns, column)
		}
	}
	u.reads = true
	if len(columns) > 0 { // none would mean all
		stmt.AddClause(clause.Returning{Columns: columns})
	}
}

// conflict refuses what would store references to ids that are not stored. It runs between the
// INSERT and those of the associations.
func (p *Plugin) conflict(tx *gorm.DB) {
	stmt := tx.Statement
	u := upsertOf(tx, false)
	if tx.Error != nil || stmt.DryRun || u == nil || len(u.cells) == 0 {
		return
	}
	nothing := u.nothing || onConflict(stmt).DoNothing // which UpdateAll without columns is
	_, returning := stmt.Clauses["RETURNING"]
	all := tx.RowsAffected == int64(reflectLen(stmt.ReflectValue))
	switch {
	case u.reads && all && !nothing:
		return
	case nothing && all && !returning && tx.Name() != "mysql":
		return // MySQL may count the rows that it has found
	}
	for _, f := range u.referred(stmt) {
		if err := u.stored(tx, f); err != nil {
			_ = tx.AddError(err) // which is what it returns
			return
		}
	}
}

// referred returns the fields with ids that other rows of this call are about to refer to: those of
// associations that are stored next, and the primary keys of a row that another one holds.
func (u *upsert) referred(stmt *gorm.Statement) (fields []*schema.Field) {
	b := batch{ctx: stmt.Context}
	b.columns, b.restricted = stmt.SelectAndOmitColumns(true, false)
	rels := slices.Concat(stmt.Schema.Relationships.HasOne, stmt.Schema.Relationships.HasMany,
		stmt.Schema.Relationships.Many2Many)
	for _, c := range u.cells {
		f := c.target.field
		if !slices.Contains(fields, f) && (u.held && f.PrimaryKey ||
			slices.ContainsFunc(rels, func(rel *schema.Relationship) bool {
				return b.stores(rel.Name) && refers(rel, f) && b.holds(rel, c.row)
			})) {
			fields = append(fields, f)
		}
	}
	return fields
}

// refers reports whether the rows of an association hold the value of f.
func refers(rel *schema.Relationship, f *schema.Field) bool {
	return slices.ContainsFunc(rel.References, func(ref *schema.Reference) bool {
		return ref.OwnPrimaryKey && ref.PrimaryKey.DBName == f.DBName
	})
}

// holds reports whether a row has rows of an association.
func (b batch) holds(rel *schema.Relationship, r row) bool {
	if r.fields != nil {
		return false
	}
	_, zero := rel.Field.ValueOf(b.ctx, r.model)
	v := reflect.Indirect(rel.Field.ReflectValueOf(b.ctx, r.model))
	return !zero && (v.Kind() != reflect.Slice || v.Len() > 0)
}

// stored returns an error unless the table has all ids that f holds.
func (u *upsert) stored(tx *gorm.DB, f *schema.Field) error {
	stmt := tx.Statement
	seen := make(map[any]bool)
	var ids []any
	for _, c := range u.cells {
		if c.target.field != f {
			continue
		}
		id := reflect.Indirect(reflect.ValueOf(c.row.get(stmt.Context, f))).Interface()
		if !seen[id] {
			seen[id], ids = true, append(ids, id)
		}
	}
	var n int64
	err := tx.Session(&gorm.Session{NewDB: true}).Table(stmt.Table).
		Where(clause.IN{Column: clause.Column{Name: f.DBName}, Values: ids}).Count(&n).Error
	if err != nil {
		return fmt.Errorf("uidgorm: looking for the stored %s of %s: %w",
			f.DBName, stmt.Table, err)
	}
	if n != int64(len(ids)) {
		return fmt.Errorf("uidgorm: %d of %d rows for %s exist already under ids of their own: "+
			"load them first, because associations refer to %s",
			int64(len(ids))-n, len(ids), stmt.Table, f.DBName)
	}
	return nil
}

// onConflict returns a statement's ON CONFLICT clause, as it stands.
func onConflict(stmt *gorm.Statement) clause.OnConflict {
	on, _ := stmt.Clauses["ON CONFLICT"].Expression.(clause.OnConflict)
	return on
}

// reflectLen returns the number of rows of what a statement stores.
func reflectLen(v reflect.Value) int {
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Array {
		return v.Len()
	}
	return 1
}
