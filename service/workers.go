package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/textonly"
	"github.com/uidring/uidring/service/internal/wire"
)

// authorityTimeout bounds a call to the authority or the source behind the handler. It is shorter
// than the time that a Client waits before it asks another server.
const authorityTimeout = 4 * time.Second

// reach is how far beyond the server's clock a window ends at most, where the authority tells no
// time and three of its windows are not longer.
const reach = 24 * time.Hour

// assign makes a claim. If the client has gone meanwhile, it gives the claim back. A claim without
// a layout would pass the authority's check of layouts, so it is refused. Where the worker ids were
// moved to another authority the answer is that of one that is away: clients, of every version, ask
// the next server.
func (h *handler) assign(r *http.Request, ask wire.Assign) (any, error) {
	switch {
	case ask.Layout == "":
		return nil, malformed("layout is missing, want that of the ids, such as " +
			"41-10-12-0/1ms@2026-01-01T00:00:00Z")
	case ask.MaxWorker < 0:
		return nil, malformed("max_worker is %d, want 0 or more", ask.MaxWorker)
	}
	ctx, cancel := detached(r)
	defer cancel()
	a := h.Workers
	if b, ok := a.(assigner.LayoutBinder); ok {
		a = b.BindLayout(ask.Layout)
	}
	if b, ok := a.(interface {
		BindOwner(owner string) assigner.Assigner
	}); ok {
		a = b.BindOwner(cmp.Or(ask.Owner, "a client at "+r.RemoteAddr))
	}
	made, err := a.Assign(ctx, ask.MaxWorker)
	if err == nil && r.Context().Err() != nil {
		err = errors.Join(r.Context().Err(), made.Release(ctx, time.Time{}))
	}
	if errors.Is(err, assigner.ErrWentBack) {
		// This process knows more than the authority, and has repaired the entry. There is no claim
		// that is lost: the client asks again, as after an outage.
		err = textonly.Error(err)
	}
	if err != nil {
		return nil, err
	}
	out := window(made)
	out.Key = h.claims.add(made)
	return out, nil
}

// window returns c as it is sent, without a Key.
func window(c assigner.Claim) wire.Claim {
	out := wire.Claim{Worker: c.Worker()}
	out.From.Time, out.Until.Time = c.Window()
	_, out.TellsTime = c.(assigner.Clock)
	if w, ok := c.(assigner.Windowed); ok {
		out.SpanMS = w.Span().Milliseconds()
	}
	if n, ok := c.(assigner.Named); ok {
		out.Universe = n.Universe()
	}
	return out
}

// extend moves the end of a claim's window.
func (h *handler) extend(r *http.Request, ask wire.Extend) (any, error) {
	var out wire.Claim
	err := h.claims.use(r, ask.Key, ask.Worker, func(ctx context.Context, c assigner.Claim) error {
		until, err := within(c, ask.Until, time.Now())
		if err == nil {
			_, err = c.Extend(ctx, until)
		}
		out = window(c)
		return err
	})
	if errors.Is(err, assigner.ErrMoved) {
		// The window stays as it is, and no extension will come. A client that is told so claims
		// another worker id while it lasts, from a server of the other authority: see assign.
		err = fmt.Errorf("%w: %w", assigner.ErrClaimLost, err)
	}
	return out, err
}

// within returns until, or the furthest instant that is granted at now if that is earlier. An
// authority that tells the time sees to that itself. For others this server's clock bounds what a
// client gets whose clock is years ahead, because the worker id is reserved for that long. If that
// leaves nothing to grant, the error wraps assigner.ErrBeyondReach.
func within(c assigner.Claim, until, now time.Time) (time.Time, error) {
	_, end := c.Window()
	if _, ok := c.(assigner.Clock); ok || end.IsZero() {
		return until, nil
	}
	far := reach
	if w, ok := c.(assigner.Windowed); ok {
		far = max(far, 3*w.Span())
	}
	limit := now.Add(far)
	if until.After(limit) && !limit.After(end) {
		return end, fmt.Errorf("%w: it is %v at the server, the window would reach %v, and the "+
			"reach is %v: one of the two clocks is wrong, the server's or the client's",
			assigner.ErrBeyondReach, now.UTC(), until.UTC(), far)
	}
	if until.After(limit) {
		return limit, nil
	}
	return until, nil
}

// release gives a claim back. It succeeds for a claim that is lost, which leaves nothing to give
// back.
func (h *handler) release(r *http.Request, ask wire.Release) (any, error) {
	err := h.claims.use(r, ask.Key, ask.Worker, func(ctx context.Context, c assigner.Claim) error {
		return c.Release(ctx, ask.Used.Time)
	})
	if err == nil || errors.Is(err, assigner.ErrClaimLost) {
		h.claims.forget(ask.Key)
		err = nil
	}
	return struct{}{}, err
}

// now answers with the authority's time. If Workers is a Clock, any server tells it, for a claim
// that another one made too. Otherwise only the claim tells it.
func (h *handler) now(r *http.Request, ask wire.Now) (any, error) {
	var out wire.Time
	tell := func(ctx context.Context, from any) (err error) {
		clock, ok := from.(assigner.Clock)
		if !ok {
			return errors.New("the authority tells no time")
		}
		out.Now, err = clock.Now(ctx)
		return err
	}
	var err error
	if _, ok := h.Workers.(assigner.Clock); ok {
		ctx, cancel := detached(r)
		defer cancel()
		err = tell(ctx, h.Workers)
	} else {
		err = h.claims.use(r, ask.Key, ask.Worker,
			func(ctx context.Context, c assigner.Claim) error { return tell(ctx, c) })
	}
	return out, err
}

// asked answers a request about a worker id with what do returns. do gets the object in the
// request's body. line is for the log, if do fails.
func asked[T any](
	h *handler, line string, do func(r *http.Request, ask T) (any, error),
) http.HandlerFunc {
	return only("", inFailure, func(w http.ResponseWriter, r *http.Request) {
		var (
			ask T
			out any
		)
		err := h.worker(r, &ask)
		if err == nil {
			out, err = do(r, ask)
		}
		if err != nil {
			h.refuseClaim(w, r, line, err)
			return
		}
		writeJSON(w, http.StatusOK, out)
	})
}

// askError is why a request is refused before the authority is asked.
type askError struct {
	status int
	code   wire.Code
	text   string
}

func (b askError) Error() string { return b.text }

func malformed(format string, args ...any) error {
	return askError{http.StatusBadRequest, wire.BadRequest, fmt.Sprintf(format, args...)}
}

// worker decodes the body of a request about a worker id into ask. It wants the body's type to be
// JSON: a browser lets a page of another origin send a body of that type only where a server allows
// it.
func (h *handler) worker(r *http.Request, ask any) error {
	if h.Workers == nil {
		return askError{http.StatusNotFound, wire.NotServed, "worker ids are not served here"}
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // "" with an error
	if kind != "application/json" {
		return askError{http.StatusUnsupportedMediaType, wire.BadRequest,
			fmt.Sprintf("Content-Type is %.64q, want application/json", kind)}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil { // whose text names the addresses of the connection
		return malformed("the body did not arrive in time, or is above %d bytes", maxBody)
	}
	if err := wire.Decode(body, ask); err != nil {
		return malformed("the body is not a JSON object of this route: %.200s", err.Error())
	}
	return nil
}

// refuseClaim logs line with err and answers with its code. The client sees the text of an error
// about layouts or about the number of worker ids. Other texts name hosts and go to the log only.
func (h *handler) refuseClaim(w http.ResponseWriter, r *http.Request, line string, err error) {
	var bad askError
	if errors.As(err, &bad) {
		refuse(w, bad.status, bad.code, bad.text)
		return
	}
	if r.Context().Err() == nil && !errors.Is(err, errUnknownClaim) {
		//nolint:sloglint // line is a constant of the caller's
		h.limits[2].Logger(h.Logger).Error(line, "error", err)
	}
	for _, kind := range []struct {
		err  error
		code wire.Code
		text string // empty: that of the error
	}{
		{errUnknownClaim, wire.UnknownClaim, errUnknownClaim.Error()},
		{assigner.ErrClaimLost, wire.ClaimLost,
			"another process owns the worker id after the claim's window"},
		{assigner.ErrWorkersExhausted, wire.WorkersExhausted, ""},
		{assigner.ErrLayoutMismatch, wire.LayoutMismatch, ""},
		{assigner.ErrSuperseded, wire.Superseded, ""},
		{assigner.ErrBeyondReach, wire.BeyondReach, ""},
	} {
		if !errors.Is(err, kind.err) {
			continue
		}
		if kind.text == "" {
			kind.text = h.ErrorText(err)
		}
		refuse(w, http.StatusConflict, kind.code, kind.text)
		return
	}
	text := "no answer from the authority of the worker ids"
	if errors.Is(err, assigner.ErrMoved) {
		text = "the worker ids were moved to another authority, and this server has the old one"
	}
	w.Header().Set("Retry-After", "1")
	refuse(w, http.StatusServiceUnavailable, wire.Unavailable, text)
}
