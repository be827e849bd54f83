// Command uid makes ids and takes them apart, plans layouts and maintains the rows that worker ids
// come from. docs/command.md describes it command by command.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"
	_ "time/tzdata" // the image has no other list of time zones

	"github.com/alecthomas/kong"
	"github.com/go-sql-driver/mysql"
)

func main() {
	// The driver logs the errors that it returns to standard error too. SetLogger fails only for a
	// nil Logger.
	_ = mysql.SetLogger(&mysql.NopLogger{})
	p := &program{
		stdin:  os.Stdin,
		stdout: os.Stdout,
		stderr: os.Stderr,
		getenv: os.Getenv,

		lookupenv: os.LookupEnv,
		cacheDir:  os.UserCacheDir,
		now:       time.Now,
		hangups:   &hangups{},
	}
	ctx, stop := withSignals(context.Background(), p.hangups)
	code := p.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// commands is the command tree. The structure is the grammar that kong reads.
type commands struct {
	Help    helpFlag    `short:"h" help:"Show help." `
	Version versionFlag `name:"version" help:"Show the version."`

	Gen     genCmd        `cmd:"" help:"Make ids."`
	Parse   parseCmd      `cmd:"" help:"Take ids apart: time, worker, sequence."`
	Plan    planCmd       `cmd:"" help:"Plan a layout: capacities, the day it runs out, memory."`
	Bounds  boundsCmd     `cmd:"" help:"Print the lowest and the highest id of a span of time, for WHERE id BETWEEN."`
	Eras    erasCmd       `cmd:"" help:"Show layouts that succeed one another, and plan the next one."`
	Workers workersCmd    `cmd:"" help:"Look after the rows that worker ids come from."`
	Doctor  doctorCmd     `cmd:"" help:"Check a database from end to end: tables, privileges, settings, clocks, what is left."`
	Segment segmentCmd    `cmd:"" help:"Number segments: short, dense ids per tag from a database's counter."`
	Number  numberCmd     `cmd:"" help:"Numbers that people read: with a date, per shop, beginning anew each day."`
	Serve   serveCmd      `cmd:"" help:"Serve ids over HTTP at the addresses of Leaf's clients."`
	Health  healthCmd     `cmd:"" help:"Ask a server of uid serve whether it hands out ids."`
	Schema  schemaCmd     `cmd:"" help:"Print the SQL that creates the tables, or functions that take ids apart."`
	Parts   partitionsCmd `cmd:"" name:"partitions" help:"Print the SQL that gives a table a partition for each month, by id."`
	Ver     versionCmd    `cmd:"" name:"version" help:"Print the version."`

	Completion completionCmd `cmd:"" help:"Print what makes a shell complete commands, flags and values."`
	HelpOf     helpCmd       `cmd:"" name:"help" help:"Show the help of a command."`
}

// AfterApply refuses an argument or a flag that is given an empty value, as in --dsn "$DSN" with a
// variable that is not set. Its default would be another database, an address that everybody
// reaches or a namespace that everybody uses. It also refuses a length of time that is not above 0;
// only one whose default is 0s may be 0.
func (*commands) AfterApply(kctx *kong.Context) error {
	for _, step := range kctx.Path {
		if arg := step.Positional; arg != nil && arg.Target.Interface() == "" {
			return usagef("the %s is empty", arg.Name)
		}
		if step.Flag == nil {
			continue
		}
		value := kctx.FlagValue(step.Flag)
		d, isTime := value.(time.Duration)
		switch mayBe0 := step.Flag.Default == "0s"; {
		case value == "":
			return usagef("--%s is empty; leave it out for its default", step.Flag.Name)
		case isTime && d < 0 && mayBe0:
			return usagef("--%s is %v, want 0 or more", step.Flag.Name, d)
		case isTime && d <= 0 && !mayBe0:
			return usagef("--%s is %v, want above 0", step.Flag.Name, d)
		}
	}
	return nil
}

// helpFlag prints the help of the command that it follows.
type helpFlag bool

func (helpFlag) BeforeReset(kctx *kong.Context) error {
	if err := kctx.PrintUsage(false); err != nil {
		return err
	}
	return errHelp
}

type helpCmd struct {
	Command []string `arg:"" optional:"" help:"The command, such as gen or segment next."`
}

// Run prints what --help after the command prints.
func (c *helpCmd) Run(kctx *kong.Context) error {
	_, err := kctx.Kong.Parse(append(c.Command, "--help"))
	return err
}

// versionFlag prints what "uid version" prints.
type versionFlag bool

func (versionFlag) BeforeReset(kctx *kong.Context) error {
	fmt.Fprintln(kctx.Stdout, version())
	return errHelp
}

type versionCmd struct{}

func (versionCmd) Run(p *program) error {
	_, err := fmt.Fprintln(p.out, version())
	return err
}

// version identifies the build: by the module version of an installed command, by the commit of one
// that was built from a clone.
func version() string {
	v, commit, dirty := "(unknown)", "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		v = info.Main.Version
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && len(s.Value) >= 12:
				commit = " " + s.Value[:12]
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = "+changes"
			}
		}
	}
	return fmt.Sprintf("uid %s%s%s %s %s/%s", v, commit, dirty,
		runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
