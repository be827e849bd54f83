package suite

import (
	"context"

	"github.com/uidring/uidring/uid"
)

// fixed is a generator of one id. Only Next is called.
type fixed int64

func (f fixed) Next(context.Context) (uid.ID, error)          { return uid.ID(f), nil }
func (fixed) Fill(context.Context, []uid.ID) (int, error)     { panic("not called") }
func (fixed) NextGene(context.Context, int64) (uid.ID, error) { panic("not called") }
func (fixed) Parse(uid.ID) uid.Parts                          { panic("not called") }
func (fixed) Stats() uid.Stats                                { panic("not called") }
func (fixed) Close() error                                    { return nil }
