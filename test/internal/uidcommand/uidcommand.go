// Package uidcommand builds the command uid and runs it as an operator does.
package uidcommand

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Build builds the command in a folder and returns the file's path.
func Build(ctx context.Context, dir string) (command string, err error) {
	command = filepath.Join(dir, "uid")
	build := exec.CommandContext(ctx, "go", "build", "-o", command,
		"github.com/uidring/uidring/cmd/uid")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return command, nil
}

// Restored runs "uid workers restored" with more flags on the database that a DSN names, which for
// SQLite is the URI of a file, and returns the statements.
func Restored(ctx context.Context, command, dsn string, highest int64, reach time.Duration,
	more ...string) ([]string, error) {
	if file, ok := strings.CutPrefix(dsn, "file:"); ok {
		file, _, _ = strings.Cut(file, "?")
		dsn = "sqlite:" + file
	}
	cmd := exec.CommandContext(ctx, command, append([]string{"workers", "restored", "--json",
		"--dsn", dsn, "--highest", strconv.FormatInt(highest, 10), "--reach", reach.String()},
		more...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, &stderr)
	}
	var plan struct{ Statements []string }
	err = json.Unmarshal(out, &plan)
	return plan.Statements, err
}
