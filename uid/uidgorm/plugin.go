package uidgorm

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/uidring/uidring/number"
	"github.com/uidring/uidring/uid"
)

// Options of New. Nil means no generator but the one that New gets.
type Options struct {
	// Named are the generators that tags name.
	Named map[string]uid.Generator

	// Tables are generators by table, for fields whose tag names none. The table is that of the
	// statement, such as orders_3 after db.Table("orders_3"), or else that of the model.
	Tables map[string]uid.Generator

	// Numbers are the numbers that tags such as number:"order,key=ShopID" name.
	Numbers map[string]*number.Number

	_ struct{} // keeps literals keyed
}

// Plugin is a gorm.Plugin. It is safe for concurrent use, and one Plugin may serve several
// databases.
type Plugin struct {
	gen   uid.Generator
	opts  Options
	plans sync.Map // planKey to plan
}

var _ gorm.Plugin = (*Plugin)(nil)

// planKey is what a plan depends on: the model, and the generator of its table.
type planKey struct {
	schema *schema.Schema
	gen    uid.Generator
}

// plan is the fields that are filled, or what is wrong with their tags.
type plan struct {
	ids     []*target
	numbers []*numbered
	err     error
}

// New returns the plug-in that fills keys with ids of gen. It starts nothing and closes nothing:
// the caller closes the generators after the last statement.
func New(gen uid.Generator, o *Options) *Plugin {
	p := &Plugin{gen: gen}
	if o != nil {
		p.opts = *o
	}
	return p
}

// Name is the name under which GORM keeps the plug-in.
func (p *Plugin) Name() string { return "uidgorm" }

// Initialize registers the plug-in's callbacks. db.Use calls it.
func (p *Plugin) Initialize(db *gorm.DB) error {
	if err := p.check(); err != nil {
		return err
	}
	create := db.Callback().Create()
	// BEGIN is the first statement, where there is one.
	first := "gorm:begin_transaction"
	if create.Get(first) == nil {
		first = "gorm:before_create"
	}
	return errors.Join(
		create.Before(first).
			Register("uidgorm:fill", func(tx *gorm.DB) { p.fill(tx, false) }),
		create.Before("gorm:create").
			Register("uidgorm:fill_late", func(tx *gorm.DB) { p.fill(tx, true) }),
		create.After("gorm:create").Before("gorm:save_after_associations").
			Register("uidgorm:conflict", p.conflict))
}

// check looks at the generators and their names.
func (p *Plugin) check() error {
	errs := []error{usable("gen", p.gen)}
	for name, gen := range p.opts.Named {
		errs = append(errs, usable(fmt.Sprintf("Named[%q]", name), gen))
		if name == "" || name == "-" || name == partBase32 || name == partScatter ||
			strings.ContainsAny(name, "=, ") {
			errs = append(errs, fmt.Errorf("uidgorm: Named has %q, want a name other than -, "+
				"base32 and scatter, without =, comma and space", name))
		}
	}
	for table, gen := range p.opts.Tables {
		errs = append(errs, usable(fmt.Sprintf("Tables[%q]", table), gen))
	}
	return errors.Join(errs...)
}

// usable refuses a generator that is nil, or that no map can tell from others.
func usable(name string, gen uid.Generator) error {
	switch {
	case gen == nil:
		return fmt.Errorf("uidgorm: %s is nil, want a generator", name)
	case !reflect.TypeOf(gen).Comparable():
		return fmt.Errorf("uidgorm: %s is a %T, which cannot be compared, want a pointer",
			name, gen)
	}
	return nil
}

// planOf returns the plan for a statement's model and table, made once. Its error is the plan's.
func (p *Plugin) planOf(stmt *gorm.Statement) (plan, error) {
	s := stmt.Schema
	key := planKey{s, cmp.Or(p.opts.Tables[stmt.Table], p.opts.Tables[s.Table], p.gen)}
	made, ok := p.plans.Load(key)
	if !ok {
		made, _ = p.plans.LoadOrStore(key, p.newPlan(s, key.gen))
	}
	of := made.(plan) //nolint:errcheck // nothing else is stored
	return of, of.err
}
