package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/uidring/uidring/number"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid/opaque"
)

// numberKeys returns the keys of hidden counters, from UID_NUMBER_KEYS: VERSION:HEX, separated by
// commas, the one of new numbers first. Errors show nothing of them.
func (p *program) numberKeys() (keys []opaque.Key, err error) {
	text := strings.TrimSpace(p.getenv("UID_NUMBER_KEYS"))
	if text == "" {
		return nil, nil
	}
	for i, one := range strings.Split(text, ",") {
		version, secret, _ := strings.Cut(strings.TrimSpace(one), ":")
		n, err := strconv.Atoi(version)
		bytes, hexErr := hex.DecodeString(secret)
		if err != nil || hexErr != nil || n < 1 || n > 3 {
			return nil, usagef("UID_NUMBER_KEYS: key %d is not VERSION:HEX, want a version from 1 "+
				"to 3 and 16, 24 or 32 bytes as hexadecimal digits", i+1)
		}
		keys = append(keys, opaque.Key{Version: n, Secret: bytes})
	}
	return keys, nil
}

// newNumber returns the numbers of a name. A hidden counter has the keys of the environment: the
// first, if the format has no version.
func (p *program) newNumber(
	ctx context.Context, g *segment.Generator, name, format string, zone *time.Location,
) (*number.Number, error) {
	options := &number.Options{Zone: zone, Clock: p.now}
	spaced := strings.Join(strings.Fields(format), " ") // literal text has no spaces
	if strings.Contains(spaced, " hidden") {
		keys, err := p.numberKeys()
		switch {
		case err != nil:
			return nil, err
		case len(keys) == 0:
			return nil, usagef("the counter of %q is hidden, and UID_NUMBER_KEYS is not set, want "+
				"VERSION:HEX", name)
		case !strings.Contains(strings.ReplaceAll(spaced, " ", ""), "{version}"):
			keys = keys[:1]
		}
		options.Keys = keys
	}
	n, err := number.New(ctx, g, name, format, options)
	if errors.Is(err, number.ErrFormat) || errors.Is(err, segment.ErrFormat) {
		return nil, usageError{err}
	}
	return n, err
}

// readNumbers returns the numbers of a file, counted by g. A line has a name, a time zone and a
// format; an empty line and one that begins with # have none.
func (p *program) readNumbers(
	ctx context.Context, g *segment.Generator, file string,
) (map[string]*number.Number, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--numbers: %w", err)
	}
	numbers := map[string]*number.Number{}
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, rest, _ := strings.Cut(line, " ")
		zone, format, _ := strings.Cut(strings.TrimSpace(rest), " ")
		format = strings.TrimSpace(format)
		where := fmt.Sprintf("--numbers %s, line %d", file, i+1)
		if format == "" {
			return nil, usagef("%s: want NAME ZONE FORMAT, such as "+
				"order Asia/Shanghai {20060102}-{n 6 day}", where)
		}
		location, err := time.LoadLocation(zone)
		switch {
		case err != nil:
			return nil, usagef("%s: %w, want one such as Asia/Shanghai", where, err)
		case numbers[name] != nil:
			return nil, usagef("%s: %q occurs twice, want it once", where, name)
		}
		if numbers[name], err = p.newNumber(ctx, g, name, format, location); err != nil {
			if isUsage(err) {
				return nil, usagef("%s: %w", where, err)
			}
			return nil, fmt.Errorf("%s: %w", where, err)
		}
	}
	return numbers, nil
}
