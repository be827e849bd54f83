package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/uidring/uidring/assigner/lease"
)

const (
	maxAnswer  = 64 << 20 // bound of an answer in bytes; a list of 50,000 slots is about as long
	maxMessage = 300      // bound of the API server's message in an error, in bytes
)

// answerError is an answer that reports a failure.
type answerError struct {
	code    int
	kind    string // "Status" where the API server itself has answered; empty: it may be a proxy
	message string
}

// Error shows the code and the API server's message, which names the account and no secret.
func (e *answerError) Error() string {
	text := fmt.Sprintf("%d %s", e.code, http.StatusText(e.code))
	if e.message != "" {
		text += ": " + e.message
	}
	return text
}

// Unwrap returns lease.ErrRefused for an answer that another try does not change, and nil for
// others.
func (e *answerError) Unwrap() error {
	if e.temporary() || e.code == http.StatusConflict {
		return nil
	}
	return lease.ErrRefused
}

// temporary reports whether the same request may succeed later. The API server may have carried it
// out nevertheless.
func (e *answerError) temporary() bool {
	return e.code == http.StatusTooManyRequests || e.code == http.StatusRequestTimeout ||
		e.code >= 500
}

// conflict reports whether the answer to a write says that the object is not as it was read: it was
// changed, made or deleted.
func (e *answerError) conflict(method string) bool {
	return e.code == http.StatusConflict ||
		e.code == http.StatusNotFound && e.kind != "" && method == http.MethodPut
}

// do makes one request and reads its answer into out. It first waits for as long as the server has
// asked for. After an error a write may have been carried out, unless the error is an answerError
// that is not temporary.
func (s *store) do(ctx context.Context, method, target string, in, out any) error {
	if err := s.gate.wait(ctx); err != nil {
		return err
	}
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "uidring")
	// A list of a few hundred slots would come compressed, which costs the API server and a fleet
	// that starts more than the bytes do between machines of one cluster.
	r.Header.Set("Accept-Encoding", "identity")
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	s.noteDate(answer.Header)
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil {
		return err
	}
	if len(text) > maxAnswer {
		return fmt.Errorf("%w: the answer is longer than %d bytes", lease.ErrRefused, maxAnswer)
	}
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusCreated {
		e := newAnswerError(answer.StatusCode, text)
		if e.temporary() {
			s.gate.close(answer.Header, e)
		}
		return e
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("the answer is no JSON of the API server's: %w", err)
	}
	return nil
}

// newAnswerError returns the error of an answer. It takes kind and message from a body that is a
// Status object.
func newAnswerError(code int, body []byte) *answerError {
	var status struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
	}
	e := &answerError{code: code}
	if json.Unmarshal(body, &status) == nil && status.Kind == "Status" {
		e.kind, e.message = status.Kind, status.Message
	}
	if len(e.message) > maxMessage {
		e.message = strings.ToValidUTF8(e.message[:maxMessage], "") + "..."
	}
	return e
}
