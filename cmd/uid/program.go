package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

// Exit statuses. A signal gives 128 plus its number instead.
const (
	exitOK      = 0
	exitFailure = 1 // the work failed, or some of it did
	exitUsage   = 2 // the command line makes no sense; nothing was done
)

// errReported ends a command whose failures were already printed one by one.
var errReported = errors.New("some of the work failed")

// usageError is an error in the command line that only shows after parsing, such as widths that do not fit 63 bits.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// asUsage finds the usageError in err.
func asUsage(err error) (usageError, bool) { return errors.AsType[usageError](err) }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// program is what a run sees of the world, so that tests can run it in process. out buffers stdout; a command writes to
// out and leaves the flushing to run, except where a reader should see lines as they come.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	cacheDir       func() (string, error)
	now            func() time.Time

	out     *bufio.Writer
	secrets []string // passwords seen in data source names
}

// run executes one command line and returns its exit status. Every message on stderr begins with "uid: " and none
// holds a password.
func (p *program) run(ctx context.Context, args []string) int {
	p.out = bufio.NewWriterSize(output{p.stdout}, 64<<10)
	err := p.execute(ctx, args)
	if errors.Is(err, errHelp) {
		err = nil
	}
	if flushErr := p.out.Flush(); err == nil || readerGone(flushErr) {
		// Without a reader there is nobody to tell anything else.
		err = flushErr
	}
	return p.report(ctx, err)
}

// report prints err as one line, unless there is nothing to say, and returns the exit status that it stands for.
func (p *program) report(ctx context.Context, err error) int {
	var sig signalError
	var usage usageError
	var parse *kong.ParseError
	switch {
	case err == nil, readerGone(err):
		return exitOK
	case errors.As(context.Cause(ctx), &sig):
		return sig.code()
	case errors.Is(err, errReported):
		return exitFailure
	case errors.As(err, &usage), errors.As(err, &parse):
		p.complain(err)
		fmt.Fprintln(p.stderr, `Run "uid --help" or "uid COMMAND --help" for the flags.`)
		return exitUsage
	default:
		p.complain(err)
		return exitFailure
	}
}

// output is stdout; its errors are told from those of a database connection by their type.
type output struct{ w io.Writer }

func (o output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	if err != nil {
		err = outputError{err}
	}
	return n, err
}

type outputError struct{ error }

func (e outputError) Error() string { return "writing the output: " + e.error.Error() }
func (e outputError) Unwrap() error { return e.error }

// readerGone reports whether err says that nobody reads stdout any more, as after "| head". That is no failure.
func readerGone(err error) bool {
	var o outputError
	return errors.As(err, &o) && errors.Is(o.error, syscall.EPIPE)
}

// complain prints err as one line without its secrets. Errors of package uid bring the prefix along.
func (p *program) complain(err error) {
	text := strings.TrimPrefix(oneLine(err.Error()), "uid: ")
	fmt.Fprintf(p.stderr, "uid: %s\n", redact(text, p.secrets...))
}

// execute parses args and runs the command that they name.
func (p *program) execute(ctx context.Context, args []string) error {
	for i, arg := range args {
		if !utf8.ValidString(arg) { // kong would put other characters in place of what is none: another tag, another file
			return usagef("argument %d is not UTF-8", i+1)
		}
	}
	var c commands
	k, err := kong.New(&c,
		kong.Name("uid"),
		kong.Description("Makes unique, time-ordered 63-bit ids and takes them apart."),
		kong.NoDefaultHelp(),
		kong.Writers(p.out, p.stderr),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 110}),
		kong.Vars{"dsn": embeddedHelp},
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(p),
	)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	kctx, err := k.Parse(args)
	if err != nil {
		return err
	}
	return kctx.Run()
}

// errHelp ends parsing after the help or the version was printed.
var errHelp = errors.New("help printed")

// helpFlag prints the help of the command that it follows.
type helpFlag bool

func (helpFlag) BeforeReset(kctx *kong.Context) error {
	if err := kctx.PrintUsage(false); err != nil {
		return err
	}
	return errHelp
}

// versionFlag prints what "uid version" prints.
type versionFlag bool

func (versionFlag) BeforeReset(kctx *kong.Context) error {
	fmt.Fprintln(kctx.Stdout, version())
	return errHelp
}
