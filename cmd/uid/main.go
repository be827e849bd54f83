// Command uid makes ids and takes them apart, plans layouts and looks after the rows that worker ids come from.
// docs/command.md describes it command by command.
package main

import (
	"context"
	"os"
	"time"

	"github.com/go-sql-driver/mysql"
)

func main() {
	// The driver writes to the standard error what it returns as well. SetLogger fails for a nil Logger only.
	_ = mysql.SetLogger(&mysql.NopLogger{})
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
