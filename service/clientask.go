package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/backoff"
	"github.com/uidring/uidring/internal/textonly"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/service/internal/wire"
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
func (r *refusal) Unwrap() error { return meant[r.Code] }

// meant has the codes that stand for an error.
var meant = map[wire.Code]error{
	wire.UnknownTag:       segment.ErrUnknownTag,
	wire.TagExhausted:     segment.ErrExhausted,
	wire.BadRange:         segment.ErrBadRange,
	wire.ClaimLost:        assigner.ErrClaimLost,
	wire.UnknownClaim:     assigner.ErrClaimLost,
	wire.WorkersExhausted: assigner.ErrWorkersExhausted,
	wire.LayoutMismatch:   assigner.ErrLayoutMismatch,
	wire.Superseded:       assigner.ErrSuperseded,
	wire.BeyondReach:      assigner.ErrBeyondReach,
}

// final reports whether every server would refuse the request in the same way.
func (r *refusal) final() bool { return r.Unwrap() != nil || r.Code == wire.BadRequest }

// failures are the errors of one round. Their text is one line.
type failures []error

// lasting reports whether it is no use to ask again: one server has refused for all of them, or
// each of them has refused the token.
func (f failures) lasting() bool {
	tokens := 0
	for _, err := range f {
		var r *refusal
		switch {
		case !errors.As(err, &r):
		case r.final():
			return true
		case r.status == http.StatusUnauthorized:
			tokens++
		}
	}
	return tokens == len(f)
}

func (f failures) Error() string {
	texts := make([]string, len(f))
	for i, err := range f {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (f failures) Unwrap() []error { return f }

// round sends in to the servers in the order of c, starting with home if that is not below 0,
// until one does what it is asked or refuses for all of them. It returns the answer and the index
// of that server, which is below 0 if no server decided. An answer in which check finds a fault
// counts as none. That a claim is not known is final only at the first server: another one may be
// a server that never made it.
func round[T any](
	ctx context.Context, c *Client, home int, path string, in any, check func(T) error,
) (got T, at int, err error) {
	var body []byte
	if in != nil {
		if body, err = json.Marshal(in); err != nil {
			return got, -1, err
		}
	}
	var errs failures
	for i, at := range c.order(home) {
		if got, err = send(ctx, c, at, path, body, check); err == nil {
			c.answered(at, home)
			return got, at, nil
		}
		errs = append(errs, err)
		var r *refusal
		final := errors.As(err, &r) && r.final()
		if final && (i == 0 || r.Code != wire.UnknownClaim) {
			c.answered(at, home)
			return got, at, failures{err}
		}
		if !final && !errors.Is(ctx.Err(), context.Canceled) {
			c.rests[at].record(true, time.Now())
		}
		if ctx.Err() != nil {
			errs = append(errs, ctx.Err())
			break
		}
	}
	if !errors.Is(ctx.Err(), context.Canceled) && !c.away.Swap(true) {
		c.logger.Warn("service: no server answers", "error", errs)
	}
	return got, -1, errs
}

// send posts body to one server and returns its answer. An answer in which check finds a fault is a
// temporary error: it may be that of a proxy or of another service. Each answer is decoded into a
// value of its own, so that nothing of another server's answer is left in it.
func send[T any](
	ctx context.Context, c *Client, at int, path string, body []byte, check func(T) error,
) (T, error) {
	var got, none T
	err := c.post(ctx, c.servers[at], path, body, &got)
	if err == nil {
		if fault := check(got); fault != nil {
			err = fmt.Errorf("the answer is not one of an id service: %w", textonly.Error(fault))
		}
	}
	if err != nil {
		return none, fmt.Errorf("%s: %w", c.servers[at], err)
	}
	return got, nil
}

// post posts body to one server and decodes its answer into out. No cache answers a POST, and
// net/http does not send one twice.
func (c *Client) post(ctx context.Context, base, path string, body []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	//nolint:gosec // the servers are those of NewClient, and a tag in path is escaped
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, bytes.NewReader(body))
	if err != nil {
		return bare(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(r) //nolint:gosec // as above
	if err != nil {
		return bare(err)
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
	if err := wire.Decode(answer, out); err != nil {
		return fmt.Errorf("the answer is not one of an id service: %w", err)
	}
	return nil
}

// bare returns err without the method and the URL that net/http adds. The caller names the server.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// The bounds of a pause of repeat.
const (
	pauseMin = 50 * time.Millisecond
	pauseMax = 2 * time.Second
)

// repeat calls try until it succeeds, is refused for good, or ctx ends.
func repeat(ctx context.Context, try func() error) error {
	return backoff.Retry(ctx, pauseMin, func() (time.Duration, error) {
		err := try()
		var f failures
		if errors.As(err, &f) && f.lasting() {
			return 0, err
		}
		return pauseMax, err
	})
}
