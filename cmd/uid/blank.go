package main

import (
	"time"

	"github.com/alecthomas/kong"
)

// AfterApply refuses a flag whose value is there and empty, as in --dsn "$DSN" with a variable that is not set. The default
// in its place would be another database, an address that everybody reaches or a namespace that is everybody's.
func (*commands) AfterApply(kctx *kong.Context) error {
	for _, step := range kctx.Path {
		if step.Flag == nil {
			continue
		}
		switch value := kctx.FlagValue(step.Flag); {
		case value == "":
			return usagef("--%s is empty; leave it out for its default", step.Flag.Name)
		case value == time.Duration(0) && !step.Flag.HasDefault:
			return usagef("--%s is 0s, want above 0, or leave it out for its default", step.Flag.Name)
		}
	}
	return nil
}
