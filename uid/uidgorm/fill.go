package uidgorm

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/uidring/uidring/uid"
)

// batch is what one INSERT stores.
type batch struct {
	ctx  context.Context //nolint:containedctx // of the statement, for the length of one callback
	rows []row
	late bool // hooks and belongs-to associations have run
	hook bool // the model has hooks, which may set a gene

	columns    map[string]bool // what Select and Omit name, and whether it is stored
	restricted bool            // what they do not name is not stored
}

// cell is a field of a row that wants an id.
type cell struct {
	target *target
	row    row
}

// source is what one call of a generator fills from.
type source struct {
	gen  uid.Generator
	gene bool
	key  int64
}

// fill gives the rows of a Create their ids and numbers.
func (p *Plugin) fill(tx *gorm.DB, late bool) {
	stmt := tx.Statement
	if tx.Error != nil || stmt.DryRun || stmt.Schema == nil {
		return
	}
	of, err := p.planOf(stmt)
	if err == nil {
		err = of.fill(tx, late)
	}
	if err != nil {
		_ = tx.AddError(err) // which is what it returns
	}
}

// fill carries the plan out.
func (of plan) fill(tx *gorm.DB, late bool) (err error) {
	stmt, ids, up := tx.Statement, of.ids, upsertOf(tx, !late)
	if late && up == nil { // the others are filled
		ids = slices.DeleteFunc(slices.Clone(ids), func(t *target) bool { return t.gene == nil })
	}
	if len(ids)+len(of.numbers) == 0 {
		return nil
	}
	s := stmt.Schema
	b := batch{ctx: stmt.Context, late: late}
	b.hook = (s.BeforeCreate || s.BeforeSave) && !stmt.SkipHooks
	b.columns, b.restricted = stmt.SelectAndOmitColumns(true, false)
	if b.rows, err = rows(stmt); err != nil {
		return err
	}
	ids = b.stored(stmt, ids)
	if err = b.fill(ids); err != nil {
		return err
	}
	if late && up != nil {
		up.readBack(stmt, b, ids)
	}
	for _, n := range of.numbers {
		if err == nil && b.stores(n.field.DBName) {
			err = b.number(n)
		}
	}
	return err
}

// stored returns the targets whose columns are stored. An INSERT of chosen columns gets its primary
// keys all the same.
func (b batch) stored(stmt *gorm.Statement, plan []*target) []*target {
	var stored []*target
	for _, t := range plan {
		_, named := b.columns[t.field.DBName]
		key := !named && b.restricted && t.field.PrimaryKey
		if key {
			stmt.Selects = append(slices.Clip(stmt.Selects), t.field.DBName)
		}
		if key || b.stores(t.field.DBName) {
			stored = append(stored, t)
		}
	}
	return stored
}

// stores reports whether the statement stores a column, or an association.
func (b batch) stores(name string) bool {
	yes, named := b.columns[name]
	return yes || !named && !b.restricted
}

// fill fills the targets: those without a gene together, then the others one after the other,
// because the id of one may hold the gene of the next.
func (b batch) fill(plan []*target) error {
	var plain []cell
	for _, t := range plan {
		cells, err := b.empty(t)
		if err != nil {
			return err
		}
		if t.gene == nil {
			plain = append(plain, cells...)
		}
	}
	if err := b.fillCells(plain); err != nil {
		return err
	}
	for _, t := range plan {
		if t.gene == nil {
			continue
		}
		cells, err := b.empty(t)
		if err == nil {
			err = b.fillCells(cells)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// empty returns the rows in which the field of t is not set. One that cannot be set is an error.
func (b batch) empty(t *target) ([]cell, error) {
	cells := make([]cell, 0, len(b.rows))
	for _, r := range b.rows {
		if !r.empty(b.ctx, t.field) {
			continue
		}
		if r.fields == nil && !r.model.CanAddr() {
			return nil, fmt.Errorf("uidgorm: %s of %s cannot be set in a %v that is passed by "+
				"value, want a pointer: %w", t.field.Name, t.field.Schema.Table, r.model.Type(),
				gorm.ErrInvalidValue)
		}
		cells = append(cells, cell{t, r})
	}
	return cells, nil
}

// fillCells takes the ids of all cells, one call per source, and then sets them.
func (b batch) fillCells(cells []cell) error {
	groups := make(map[source][]cell)
	var order []source // ids go to the rows in their order
	for _, c := range cells {
		s := source{gen: c.target.gen}
		if c.target.gene != nil {
			key, known, err := b.key(c)
			if err != nil {
				return err
			}
			if !known {
				continue
			}
			s.gene, s.key = true, key
		}
		if groups[s] == nil {
			order = append(order, s)
		}
		groups[s] = append(groups[s], c)
	}
	for _, s := range order {
		if err := b.fillFrom(s, groups[s]); err != nil {
			return err
		}
	}
	return nil
}

// fillFrom fills cells with one call of their generator.
func (b batch) fillFrom(s source, cells []cell) (err error) {
	f := cells[0].target.field
	ids := make([]uid.ID, len(cells))
	if s.gene {
		_, err = s.gen.FillGene(b.ctx, s.key, ids)
	} else {
		_, err = s.gen.Fill(b.ctx, ids)
	}
	if err != nil {
		return fmt.Errorf("uidgorm: filling %s of %d rows of %s: %w", f.DBName, len(cells),
			f.Schema.Table, err)
	}
	for i, c := range cells {
		if err := c.row.set(b.ctx, c.target.field, c.target.value(ids[i])); err != nil {
			return fmt.Errorf("uidgorm: setting %s: %w", c.target.field.Name, err)
		}
	}
	return nil
}

// key returns the gene that a cell's id gets. It is not known yet if a hook may still set it, or an
// association that the row has.
func (b batch) key(c cell) (key int64, known bool, err error) {
	t := c.target
	key, set, err := numeral(c.row.get(b.ctx, t.gene))
	switch {
	case err != nil:
		return 0, false, fmt.Errorf("uidgorm: %s of %s, whose gene %s wants: %w", t.gene.Name,
			t.gene.Schema.Table, t.field.Name, err)
	case key == 0 && !b.late && b.maySet(c):
		return 0, false, nil
	case !set || key == 0 && t.must:
		return 0, false, fmt.Errorf("uidgorm: %s of %s is not set, and %s wants its gene",
			t.gene.Name, t.gene.Schema.Table, t.field.Name)
	}
	return key & t.mask, true, nil // rows with the same gene share a call
}

// maySet reports whether a hook or an association may yet set the gene of a cell. GORM creates no
// association of a map, and none of a join table.
func (b batch) maySet(c cell) bool {
	stored := c.target.field.Schema.Relationships.BelongsTo
	return b.hook || slices.ContainsFunc(c.target.rels, func(rel *schema.Relationship) bool {
		if c.row.fields != nil || !slices.Contains(stored, rel) || !b.stores(rel.Name) {
			return false
		}
		_, zero := rel.Field.ValueOf(b.ctx, c.row.model)
		return !zero
	})
}

// rows returns what stmt stores. What has no room for an id is an error: a nil map, which GORM
// stores as a row of zeros, a nil pointer, and what is no row of the model, such as a pointer to a
// pointer, whose hooks and associations GORM leaves out.
func rows(stmt *gorm.Statement) (all []row, err error) {
	maps := func(maps ...map[string]any) ([]row, error) {
		for i, m := range maps {
			if m == nil {
				return nil, fmt.Errorf("uidgorm: row %d for %s is a nil map, want one that can "+
					"hold an id",
					i, stmt.Schema.Table)
			}
			all = append(all, row{fields: m})
		}
		return all, nil
	}
	add := func(v reflect.Value) error {
		switch m := reflect.Indirect(v); {
		case !m.IsValid():
			return fmt.Errorf("uidgorm: row %d for %s is a nil pointer: %w",
				len(all), stmt.Schema.Table, gorm.ErrInvalidData)
		case m.Type() != stmt.Schema.ModelType:
			return fmt.Errorf("uidgorm: row %d for %s is a %v, want a %v or a pointer to one: %w",
				len(all), stmt.Schema.Table, v.Type(), stmt.Schema.ModelType, gorm.ErrInvalidData)
		default:
			all = append(all, row{model: m})
			return nil
		}
	}
	switch dest := stmt.Dest.(type) {
	case map[string]any:
		return maps(dest)
	case *map[string]any:
		return maps(*dest)
	case []map[string]any:
		return maps(dest...)
	case *[]map[string]any:
		return maps(*dest...)
	default:
		v := stmt.ReflectValue
		if v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
			err = add(v)
			break
		}
		for i := 0; i < v.Len() && err == nil; i++ {
			err = add(v.Index(i))
		}
	}
	return all, err
}

// row is a struct or a map that one row is made from.
type row struct {
	model  reflect.Value
	fields map[string]any // not nil: instead of model
}

// get returns the value of a field, nil if a map does not have it.
func (r row) get(ctx context.Context, f *schema.Field) any {
	if r.fields != nil {
		return r.fields[r.name(f)]
	}
	v, _ := f.ValueOf(ctx, r.model)
	return v
}

// empty reports whether a field has no id: it is zero, points to zero, or stores zero, as a valid
// sql.NullInt64 of 0 does.
func (r row) empty(ctx context.Context, f *schema.Field) bool {
	v := reflect.ValueOf(r.get(ctx, f))
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if !v.IsValid() || v.IsZero() {
		return true
	}
	stored, err := unwrap(v)
	return err == nil && (stored == nil || reflect.ValueOf(stored).IsZero())
}

// set sets a field. Where a pointer is shared with a row that has its id already, the row gets a
// pointer of its own.
func (r row) set(ctx context.Context, f *schema.Field, value any) error {
	if r.fields == nil {
		if !r.empty(ctx, f) {
			if err := f.Set(ctx, r.model, nil); err != nil {
				return err
			}
		}
		return f.Set(ctx, r.model, value)
	}
	if id, ok := value.(int64); ok {
		value = uid.ID(id)
	}
	r.fields[r.name(f)] = value
	return nil
}

// name returns the key under which the map has the field: GORM takes a column's name or a field's.
func (r row) name(f *schema.Field) string {
	for name := range r.fields {
		if f.Schema.LookUpField(name) == f {
			return name
		}
	}
	return f.DBName
}
