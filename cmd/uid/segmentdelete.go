package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/uidring/uidring/segment"
)

type segmentDeleteCmd struct {
	Tag         string `arg:"" help:"The tag."`
	sourceFlags `embed:""`
	Yes         bool `help:"Delete it. Without it nothing is changed."`
}

// Run deletes the tag, or prints what would be lost. A tag whose counter moves in between stays.
func (c *segmentDeleteCmd) Run(ctx context.Context, p *program) error {
	const lacks = "tags to delete: old servers would repeat ids without their rows"
	return c.tags(ctx, p, lacks, func(ctx context.Context, src tagTable) error {
		row, err := src.Find(ctx, c.Tag)
		if errors.Is(err, segment.ErrUnknownTag) {
			return fmt.Errorf("tag %q: %w", c.Tag, segment.ErrUnknownTag)
		}
		if err != nil {
			return err
		}
		head := "-- a dry run: nothing is changed; --yes deletes the tag"
		if c.Yes {
			head = "-- deleted"
			if err := src.Delete(ctx, row); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintf(p.out, `%s
-- what is lost: ids below %d may be in use; a tag that is made without --next repeats them
-- programs that run hand out the ranges that they have, and then fail with "unknown tag"
-- makes it again:
uid segment set %s --source %s --step %d --next %d
`, head, row.Next, shellWord(c.Tag), c.Source, row.Step, row.Next)
		return err
	})
}

// shellWord returns s as one word of a shell's command line, in which the shell expands nothing.
// With characters that a terminal may act on it is $'...', which POSIX has since 2024, and which
// has no quote inside, so that an older shell runs nothing either.
func shellWord(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		var b strings.Builder
		for _, r := range s {
			if unicode.IsPrint(r) && r != '\'' && r != '\\' {
				b.WriteRune(r)
				continue
			}
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		}
		return "$'" + b.String() + "'"
	}
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/"
	if strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(plain, r) }) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
