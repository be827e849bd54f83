package uidgorm

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm/schema"

	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/typed"
)

// The parts of a tag, apart from a generator's name.
const (
	partBase32  = "base32"
	partGene    = "gene="
	partScatter = "scatter"
)

var (
	idType    = reflect.TypeFor[uid.ID]()
	typedPath = reflect.TypeFor[typed.ID[interface{ Prefix() string }]]().PkgPath()
)

// isID reports whether a type is uid.ID or a typed.ID, whatever its parameter.
func isID(t reflect.Type) bool {
	return t == idType || t.PkgPath() == typedPath && strings.HasPrefix(t.Name(), "ID[")
}

// target is a field that gets ids.
type target struct {
	field *schema.Field
	gen   uid.Generator
	text  bool          // the id in Base32
	apart bool          // the id scattered
	gene  *schema.Field // whose gene the id ends in; nil: none
	mask  int64         // the bits of a gene
	must  bool          // a gene of 0 is a field that was not set

	// rels are the belongs-to associations that may set gene, or the gene that gene has.
	rels []*schema.Relationship
}

// newPlan reads the tags of a schema. gen fills what no tag names a generator for.
func (p *Plugin) newPlan(s *schema.Schema, gen uid.Generator) (of plan) {
	if of.ids, of.err = p.newTargets(s, gen); of.err == nil {
		of.numbers, of.err = p.newNumbers(s)
	}
	return of
}

// newTargets reads the tags of ids. A target comes after the one that fills its gene.
func (p *Plugin) newTargets(s *schema.Schema, gen uid.Generator) ([]*target, error) {
	if err := unseen(s); err != nil {
		return nil, err
	}
	var all []*target
	for _, f := range s.Fields {
		tag, tagged, err := tagOf(s, f)
		if err != nil {
			return nil, err
		}
		foreign := len(owners(s, f)) > 0
		switch {
		case tag == "-":
			continue
		case s.FieldsByDBName[f.DBName] != f:
			if tagged && f.DBName == "" {
				return nil, fmt.Errorf("uidgorm: %s.%s has a uid tag and is no column",
					s.Name, f.Name)
			}
			continue
		case !tagged && (!f.PrimaryKey || !madeOfID(f.IndirectFieldType) || foreign):
			continue
		case foreign && s.ModelType.Name() == "":
			continue // of a join table that GORM makes up from both models' keys, tags included
		case !tagged && !ownKey(s, f):
			return nil, fmt.Errorf("uidgorm: %s.%s is one key of several, want the tag uid:\"-\" "+
				"if it is the key of another table, or uid:\"\" to fill it", s.Name, f.Name)
		}
		if !f.Creatable {
			return nil, fmt.Errorf("uidgorm: %s.%s is read-only, so that no INSERT stores its id, "+
				"want no gorm:\"->\" and no gorm:\"<-:update\", or the tag uid:\"-\"",
				s.Name, f.Name)
		}
		t, err := p.newTarget(s, f, tag, gen)
		if err != nil {
			return nil, fmt.Errorf("uidgorm: %s.%s: %w", s.Name, f.Name, err)
		}
		all = append(all, t)
	}
	return sorted(s, all)
}

// newTarget reads one tag.
func (p *Plugin) newTarget(
	s *schema.Schema, f *schema.Field, tag string, gen uid.Generator,
) (*target, error) {
	t := &target{field: f, gen: gen}
	for part := range strings.SplitSeq(tag, ",") {
		part = strings.TrimSpace(part)
		name, isGene := strings.CutPrefix(part, partGene)
		switch {
		case part == "":
		case part == partBase32:
			t.text = true
		case part == partScatter:
			t.apart = true
		case isGene:
			if t.gene = sibling(s, f, name); t.gene == nil {
				return t, fmt.Errorf("the tag %q names a field %q, which %s does not have",
					tag, name, s.Name)
			}
			if !numeric(t.gene.IndirectFieldType) {
				return t, fmt.Errorf("the tag %q names a field %q that is a %v, want an integer",
					tag, name, t.gene.FieldType)
			}
			t.rels = owners(s, t.gene)
			t.must = len(t.rels) > 0 || isID(t.gene.IndirectFieldType)
		default:
			if t.gen = p.opts.Named[part]; t.gen == nil {
				return t, fmt.Errorf("the tag %q names a generator %q, which Options.Named "+
					"does not have",
					tag, part)
			}
		}
	}
	if t.apart && (t.text || t.gene != nil) {
		return t, fmt.Errorf("the tag %q scatters an id whose order or gene it wants: want one of "+
			"scatter, base32 and gene", tag)
	}
	bits := t.gen.Stats().Layout.GeneBits
	if t.gene != nil && bits == 0 {
		return t, fmt.Errorf("the tag %q wants a gene: %w", tag, uid.ErrNoGene)
	}
	t.mask = 1<<bits - 1
	return t, t.fits(s)
}

// fits reports whether the field can hold an id, by setting one in a model of its own.
func (t *target) fits(s *schema.Schema) error {
	const probe = uid.ID(math.MaxInt64 - 1)
	ctx, model := context.Background(), reflect.New(s.ModelType).Elem()
	err := t.field.Set(ctx, model, t.value(probe))
	got, _ := t.field.ValueOf(ctx, model)
	var same bool
	if t.text {
		same = text(got) == uid.Base32.Text(probe)
	} else {
		n, set, numErr := numeral(got)
		same = set && numErr == nil && n == t.value(probe)
	}
	if err != nil || !same {
		return fmt.Errorf("a %v cannot hold an id, want a 64-bit integer, or a text with base32",
			t.field.FieldType)
	}
	return nil
}

// value returns what GORM sets the field to.
func (t *target) value(id uid.ID) any {
	switch {
	case t.text:
		return uid.Base32.Text(id)
	case t.apart:
		return int64(id.Scatter())
	}
	return int64(id)
}

// ownKey reports whether a primary key is surely the model's own: there is no other, GORM takes it
// for the main one because of its name, or all others are foreign keys.
func ownKey(s *schema.Schema, f *schema.Field) bool {
	return f == s.PrioritizedPrimaryField ||
		!slices.ContainsFunc(s.PrimaryFields, func(other *schema.Field) bool {
			return other != f && len(owners(s, other)) == 0
		})
}

// owners returns the belongs-to associations whose foreign key f is. The relations of a join table
// that SetupJoinTable was given have fields of another schema, of the same columns.
func owners(s *schema.Schema, f *schema.Field) (rels []*schema.Relationship) {
	for _, rel := range s.Relationships.Relations {
		if rel.Type != schema.BelongsTo {
			continue
		}
		for _, ref := range rel.References {
			if ref.ForeignKey.DBName == f.DBName && !ref.OwnPrimaryKey {
				rels = append(rels, rel)
			}
		}
	}
	return rels
}

// sibling returns the column of that name, the one in f's own embedded struct first.
func sibling(s *schema.Schema, f *schema.Field, name string) *schema.Field {
	path := f.BindNames[:len(f.BindNames)-1]
	for _, other := range s.Fields {
		if other.Name == name && slices.Equal(other.BindNames[:len(other.BindNames)-1], path) {
			return other
		}
	}
	return s.LookUpField(name)
}

// sorted orders targets so that a gene is there before it is asked for. Genes that wait for each
// other are an error.
func sorted(s *schema.Schema, all []*target) ([]*target, error) {
	var order []*target
	for len(all) > 0 {
		ready := slices.IndexFunc(all, func(t *target) bool {
			return !slices.ContainsFunc(all, func(other *target) bool {
				return other.field == t.gene
			})
		})
		if ready < 0 {
			return nil, fmt.Errorf("uidgorm: %s.%s wants the gene of %s, which wants its own",
				s.Name, all[0].field.Name, all[0].gene.Name)
		}
		t := all[ready]
		for i := range order {
			if order[i].field == t.gene {
				t.rels = append(t.rels, order[i].rels...)
			}
		}
		order = append(order, t)
		all = slices.Delete(all, ready, ready+1)
	}
	return order, nil
}
