package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// reloadEvery is how often files of tokens and certificates are read again.
const reloadEvery = time.Minute

// tokens are the tokens that clients may send: that of UID_TOKEN, and those of a file that is read
// again while the server runs. They are compared by their sums, so that the time of a comparison
// reveals nothing about a token. Its methods are safe for concurrent use.
type tokens struct {
	file    string // empty: none
	fixed   string // UID_TOKEN; empty: none
	grants  atomic.Pointer[map[[sha256.Size]byte]grant]
	wrong   atomic.Int64           // requests with a token that is not known
	last    atomic.Pointer[string] // the address that the last of them came from
	scanned []byte                 // of the file, when it was last read; used by one goroutine
}

// grant is what a token is for.
type grant struct {
	all       bool
	workers   bool
	snowflake bool
	tags      []string // a name, or with a * at its end the start of names
	numbers   []string // names of numbers
}

// newTokens reads the tokens for the first time.
func newTokens(file, fixed string) (*tokens, error) {
	t := &tokens{file: file, fixed: fixed}
	_, err := t.read()
	return t, err
}

// required reports whether clients have to send a token.
func (t *tokens) required() bool { return t.file != "" || t.fixed != "" }

// read reads the file again and reports whether it has changed. After an error the tokens are those
// of before.
func (t *tokens) read() (changed bool, err error) {
	grants := map[[sha256.Size]byte]grant{}
	if t.fixed != "" {
		grants[sha256.Sum256([]byte(t.fixed))] = grant{all: true}
	}
	if t.file != "" {
		text, err := os.ReadFile(t.file)
		if err != nil {
			return false, fmt.Errorf("--token-file: %w", err)
		}
		if t.grants.Load() != nil && bytes.Equal(text, t.scanned) {
			return false, nil
		}
		if err := scanTokens(string(text), grants); err != nil {
			return false, usagef("--token-file %s: %w", t.file, err)
		}
		t.scanned = text
	}
	t.grants.Store(&grants)
	return true, nil
}

// scanTokens adds the tokens of a file to grants. A line has a token and what it is for; an empty
// line and one that begins with # have none. Errors name the line and show nothing of it.
func scanTokens(text string, grants map[[sha256.Size]byte]grant) error {
	found := false
	for i, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		where := fmt.Sprintf("the token in line %d", i+1)
		if err := checkToken(where, words[0]); err != nil {
			return err
		}
		sum := sha256.Sum256([]byte(words[0]))
		if _, ok := grants[sum]; ok {
			return fmt.Errorf("%s occurs twice, want it once", where)
		}
		g := grant{all: len(words) == 1}
		for _, word := range words[1:] {
			tag, ok := strings.CutPrefix(word, "tag=")
			name, isName := strings.CutPrefix(word, "number=")
			switch {
			case ok && tag != "":
				g.tags = append(g.tags, tag)
			case isName && name != "":
				g.numbers = append(g.numbers, name)
			case word == "workers":
				g.workers = true
			case word == "snowflake":
				g.snowflake = true
			default:
				return fmt.Errorf("what %s is for is not tag=NAME, tag=START*, "+
					"number=NAME, snowflake or workers", where)
			}
		}
		grants[sum], found = g, true
	}
	if !found {
		return fmt.Errorf("it has no token, want one a line")
	}
	return nil
}

// of returns what the token of a request is for. Without one that is known, ok is false.
func (t *tokens) of(r *http.Request) (g grant, ok bool) {
	scheme, sent, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return grant{}, false
	}
	g, ok = (*t.grants.Load())[sha256.Sum256([]byte(sent))]
	return g, ok
}

// trusts reports whether a request may see the names of all tags.
func (t *tokens) trusts(r *http.Request) bool {
	g, _ := t.of(r)
	return g.all || !t.required()
}

// allows reports whether the token is for a path. The parts of an id and the description of the
// routes are for every token; the pages and metrics name all tags.
func (g grant) allows(path string) bool {
	if g.all || path == "/decodeSnowflakeId" || path == "/openapi.json" {
		return true
	}
	for _, of := range []string{"/api/segment/get/", "/api/segment/range/"} {
		if tag, ok := strings.CutPrefix(path, of); ok {
			return slices.ContainsFunc(g.tags, func(name string) bool {
				start, group := strings.CutSuffix(name, "*")
				return name == tag || group && strings.HasPrefix(tag, start)
			})
		}
	}
	if name, ok := strings.CutPrefix(path, "/api/number/get/"); ok {
		return slices.Contains(g.numbers, name)
	}
	return g.snowflake && strings.HasPrefix(path, "/api/snowflake/get/") ||
		g.workers && strings.HasPrefix(path, "/api/worker/")
}

// guard answers 401 to requests without a token that is known, and 403 to those with a token for
// something else, except for /health, so that probes need no token.
func (t *tokens) guard(h http.Handler) http.Handler {
	if !t.required() {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g, ok := t.of(r)
		path := r.URL.Path
		if strings.HasSuffix(r.URL.EscapedPath(), "/") { // one that is part of a key is escaped
			path = strings.TrimSuffix(path, "/")
		}
		if !ok && r.Header.Get("Authorization") != "" {
			t.last.Store(&r.RemoteAddr)
			t.wrong.Add(1)
		}
		switch {
		case path == "/health" || ok && g.allows(path):
			h.ServeHTTP(w, r)
		case ok:
			http.Error(w, "the token is not for this path", http.StatusForbidden)
		default:
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "want the header Authorization: Bearer TOKEN", http.StatusUnauthorized)
		}
	})
}

// keep reads the file again each minute and after each hangup, and logs how many requests had wrong
// tokens, until ctx ends. also is read again likewise.
func (t *tokens) keep(
	ctx context.Context, hangup <-chan struct{}, logger *slog.Logger, also func() error,
) {
	tick := time.NewTicker(reloadEvery)
	defer tick.Stop()
	logged := int64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
		case <-tick.C:
			if n := t.wrong.Load(); n > logged {
				logger.Warn("uid: wrong tokens", "requests", n-logged, "last_from", *t.last.Load())
				logged = n
			}
		}
		changed, err := t.read()
		err = cmp.Or(err, also())
		switch {
		case err != nil:
			logger.Error("uid: not read again, and what was read before goes on", "error", err)
		case changed && t.file != "":
			logger.Info("uid: tokens read again", "tokens", len(*t.grants.Load()))
		}
	}
}
