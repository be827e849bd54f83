package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/uidring/uidring/internal/human"
)

type healthCmd struct {
	Address string        `arg:"" optional:"" default:"http://127.0.0.1:8080" help:"The server's address."`
	Timeout time.Duration `default:"3s" help:"How long to wait for the answer."`
}

// Help says what the command is for.
func (*healthCmd) Help() string {
	return "Asks a server of uid serve for its health, as the health check of a container " +
		"without a shell. The status is 0 if it hands out ids, also while something is wrong."
}

// Run asks the server's /health, which needs no token.
func (c *healthCmd) Run(ctx context.Context, p *program) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet,
		strings.TrimRight(c.Address, "/")+"/health", http.NoBody)
	if err != nil || r.URL.Host == "" {
		return usagef("the address is not one such as http://127.0.0.1:8080")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var state struct{ Status string }
	body := http.MaxBytesReader(nil, answer.Body, 1<<20)
	if err := json.NewDecoder(body).Decode(&state); err != nil || state.Status == "" {
		return fmt.Errorf("status %d, and no answer of uid serve", answer.StatusCode)
	}
	fmt.Fprintln(p.out, human.Printable(state.Status))
	if answer.StatusCode != http.StatusOK {
		return errReported
	}
	return nil
}
