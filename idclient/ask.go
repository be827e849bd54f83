package idclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/wire"
	"github.com/uidring/uidring/segment"
)

// maxAnswer is the most bytes of an answer that are read.
const maxAnswer = 64 << 10

// refusal is an answer with a status other than 200.
type refusal struct {
	status int
	wire.Failure
}

func (r *refusal) Error() string {
	if r.Text == "" {
		return fmt.Sprintf("status %d %s", r.status, http.StatusText(r.status))
	}
	return fmt.Sprintf("status %d: %.500s", r.status, r.Text)
}

// Unwrap returns the error of package segment or assigner that the refusal stands for, or nil.
func (r *refusal) Unwrap() error {
	switch r.Code {
	case wire.UnknownTag:
		return segment.ErrUnknownTag
	case wire.TagExhausted:
		return segment.ErrExhausted
	case wire.BadRange:
		return segment.ErrBadRange
	case wire.ClaimLost, wire.UnknownClaim:
		return assigner.ErrClaimLost
	case wire.WorkersExhausted:
		return assigner.ErrWorkersExhausted
	case wire.LayoutMismatch:
		return assigner.ErrLayoutMismatch
	case wire.Succeeded:
		return assigner.ErrSucceeded
	case wire.BadRequest, wire.NotServed, wire.Unavailable:
	}
	return nil
}

// final reports whether every server would refuse the request in the same way.
func (r *refusal) final() bool { return r.Unwrap() != nil || r.Code == wire.BadRequest }

// failures are the errors of one round. Their text is one line.
type failures []error

func (f failures) Error() string {
	texts := make([]string, len(f))
	for i, err := range f {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (f failures) Unwrap() []error { return f }

// round sends in to the servers in turn, starting at index first, until one does what it is asked
// or refuses for all of them. It decodes the answer into out and returns the index of that server.
func (c *Client) round(ctx context.Context, first int, path string, in, out any) (int, error) {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return first, err
		}
	}
	var errs failures
	for i := range c.servers {
		at := (first + i) % len(c.servers)
		err := c.send(ctx, c.servers[at], path, body, out)
		if err == nil {
			return at, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", c.servers[at], err))
		if r, ok := errors.AsType[*refusal](err); ok && r.final() {
			return at, failures{errs[len(errs)-1]}
		}
		if ctx.Err() != nil {
			return at, failures{errs[len(errs)-1], ctx.Err()}
		}
	}
	return first, errs
}

// one sends in to one server and decodes its answer into out.
func (c *Client) one(ctx context.Context, at int, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err == nil {
		err = c.send(ctx, c.servers[at], path, body, out)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.servers[at], err)
	}
	return nil
}

// send posts body to one server and decodes its answer into out. No cache answers a POST, and
// net/http does not send one twice.
func (c *Client) send(ctx context.Context, base, path string, body []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, bytes.NewReader(body))
	if err != nil {
		return plain(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return plain(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		f := &refusal{status: response.StatusCode}
		// A proxy answers with a page, which is not a Failure.
		if json.Unmarshal(answer, &f.Failure) != nil {
			f.Failure = wire.Failure{}
		}
		return f
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("the answer is not one of an id service: %w", err)
	}
	return nil
}

// plain returns err without the method and the URL that net/http adds. The caller names the server.
func plain(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// The bounds of a pause of repeat.
const (
	pauseMin = 50 * time.Millisecond
	pauseMax = 2 * time.Second
)

// repeat calls try until it succeeds, is refused for good, or ctx ends. The pause between two calls
// doubles up to pauseMax. A random part of it, at most half, is left out, so that clients that lost
// the service together do not return together. When ctx ends, the error wraps the last failure too.
func repeat(ctx context.Context, try func() error) error {
	var last error
	for pause := pauseMin; ; pause = min(2*pause, pauseMax) {
		err := try()
		if err == nil {
			return nil
		}
		r, ok := errors.AsType[*refusal](err)
		if ok && (r.final() || r.status == http.StatusUnauthorized) {
			return err
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		timer := time.NewTimer(pause/2 + rand.N(pause/2))
		select {
		case <-ctx.Done():
			timer.Stop()
			if errors.Is(last, ctx.Err()) {
				return last
			}
			return fmt.Errorf("%w; last error: %w", ctx.Err(), last)
		case <-timer.C:
		}
	}
}
