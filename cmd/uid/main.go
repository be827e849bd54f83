// Command uid makes ids and takes them apart, plans layouts and looks after the rows that worker ids come from.
// docs/command.md describes it command by command.
package main

import (
	"context"
	"os"
	"time"
)

func main() {
	ctx, stop := withSignals(context.Background())
	p := &program{
		stdin:    os.Stdin,
		stdout:   os.Stdout,
		stderr:   os.Stderr,
		getenv:   os.Getenv,
		cacheDir: os.UserCacheDir,
		now:      time.Now,
	}
	code := p.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
