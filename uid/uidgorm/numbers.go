package uidgorm

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm/schema"

	"github.com/uidring/uidring/number"
)

// numbered is a text field that gets numbers: a column, and those of its keys.
type numbered struct {
	target

	of   *number.Number
	keys []*schema.Field // in the order of the format
}

// newNumbers reads the tags of numbers.
func (p *Plugin) newNumbers(s *schema.Schema) (all []*numbered, err error) {
	for _, f := range s.Fields {
		tag, tagged := f.Tag.Lookup("number")
		if !tagged {
			continue
		}
		n, err := p.newNumbered(s, f, tag)
		if err != nil {
			return nil, fmt.Errorf("uidgorm: %s.%s: %w", s.Name, f.Name, err)
		}
		all = append(all, n)
	}
	return all, nil
}

// newNumbered reads a tag: the name, and key=FIELD for each key of its format.
func (p *Plugin) newNumbered(s *schema.Schema, f *schema.Field, tag string) (*numbered, error) {
	parts := strings.Split(tag, ",")
	n := &numbered{target: target{field: f}, of: p.opts.Numbers[strings.TrimSpace(parts[0])]}
	if n.of == nil {
		return nil, fmt.Errorf("the tag %q names a number %q, which Options.Numbers does not have",
			tag, strings.TrimSpace(parts[0]))
	}
	for _, part := range parts[1:] {
		name, ok := strings.CutPrefix(strings.TrimSpace(part), "key=")
		if !ok {
			return nil, fmt.Errorf("the tag %q has %q, want key=FIELD", tag, part)
		}
		key := sibling(s, f, name)
		if key == nil {
			return nil, fmt.Errorf("the tag %q names a field %q, which %s does not have", tag, name,
				s.Name)
		}
		n.keys = append(n.keys, key)
	}
	if want := n.of.Keys(); len(want) != len(n.keys) {
		return nil, fmt.Errorf("the tag %q has %d keys, want %d: %s", tag, len(n.keys), len(want),
			strings.Join(want, ", "))
	}
	ctx, model := context.Background(), reflect.New(s.ModelType).Elem()
	err := f.Set(ctx, model, tag)
	if got, _ := f.ValueOf(ctx, model); err != nil || text(got) != tag || !f.Creatable {
		return nil, fmt.Errorf("a %v cannot hold a number, want a text that an INSERT stores",
			f.FieldType)
	}
	return n, nil
}

// number fills a field of the rows that have no number, with one Fill for each key. It runs before
// BEGIN for the rows whose keys are set, and again before the INSERT for the others, whose keys a
// hook or an association has set meanwhile.
func (b batch) number(n *numbered) error {
	cells, err := b.empty(&n.target)
	if err != nil {
		return err
	}
	groups := make(map[string][]cell)
	keys := make(map[string][]string)
	var order []string // numbers go to the rows in their order
	for _, c := range cells {
		key, missing, err := n.keysOf(b.ctx, c.row)
		switch {
		case err != nil:
			return err
		case missing != nil && !b.late:
			continue
		case missing != nil:
			return fmt.Errorf("uidgorm: %s of %s is not set, and %s wants it as a key",
				missing.Name, missing.Schema.Table, n.field.Name)
		}
		of := strings.Join(key, "@") // which no key has
		if groups[of] == nil {
			order, keys[of] = append(order, of), key
		}
		groups[of] = append(groups[of], c)
	}
	for _, of := range order {
		texts := make([]string, len(groups[of]))
		if _, err := n.of.Fill(b.ctx, texts, keys[of]...); err != nil {
			return fmt.Errorf("uidgorm: filling %s of %d rows of %s: %w", n.field.DBName,
				len(texts), n.field.Schema.Table, err)
		}
		for i, c := range groups[of] {
			if err := c.row.set(b.ctx, n.field, texts[i]); err != nil {
				return fmt.Errorf("uidgorm: setting %s: %w", n.field.Name, err)
			}
		}
	}
	return nil
}

// keysOf returns the keys of a row's number, or the field of the first one that is not set.
func (n *numbered) keysOf(
	ctx context.Context, r row,
) (key []string, missing *schema.Field, err error) {
	for _, f := range n.keys {
		value := r.get(ctx, f)
		part := text(value)
		if part == "" && !r.empty(ctx, f) {
			i, _, err := numeral(value)
			if err != nil {
				return nil, nil, fmt.Errorf("uidgorm: %s of %s, which %s wants as a key: %w",
					f.Name, f.Schema.Table, n.field.Name, err)
			}
			part = strconv.FormatInt(i, 10)
		}
		if part == "" {
			return nil, f, nil
		}
		key = append(key, part)
	}
	return slices.Clip(key), nil, nil
}
