package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/uidring/uidring/cmd/uid/internal/dsn"
	"github.com/uidring/uidring/cmd/uid/internal/progress"
	"github.com/uidring/uidring/internal/human"
)

// Exit statuses. A signal gives 128 plus its number instead.
const (
	exitOK      = 0
	exitFailure = 1 // the work failed, or some of it did
	exitUsage   = 2 // the command line is invalid; nothing was done
)

var (
	errReported = errors.New("some of the work failed") // each failure is already printed
	errHelp     = errors.New("help printed")            // ends parsing after help or version
)

// usageError is an error in the command line that is found after parsing, such as widths that do
// not fit 63 bits.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func isUsage(err error) bool {
	_, ok := errors.AsType[usageError](err)
	return ok
}

// program is one run and all that it uses of the operating system, so that tests can run it in
// process. out buffers stdout. A command writes to out, and run flushes it; a command flushes it
// only where a reader should see each line at once.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	lookupenv      func(string) (string, bool) // as getenv, and whether the variable is set
	cacheDir       func() (string, error)
	now            func() time.Time
	hangups        *hangups

	out      *bufio.Writer
	redactor dsn.Redactor // knows all passwords before anything is printed
}

// run executes one command line and returns its exit status. Every message on stderr begins with
// "uid: " and none holds a password.
func (p *program) run(ctx context.Context, args []string) int {
	p.out = bufio.NewWriterSize(output{p.stdout}, 64<<10)
	p.redactor.Learn(p.getenv("UID_DSN"))
	for _, arg := range args {
		p.redactor.Learn(arg)
	}
	err := p.execute(ctx, args)
	if errors.Is(err, errHelp) {
		err = nil
	}
	if flushErr := p.out.Flush(); err == nil || readerGone(flushErr) {
		// Without a reader there is nowhere to report anything else.
		err = flushErr
	}
	return p.report(ctx, err)
}

// report prints err as one line, unless there is nothing to report, and returns the exit status.
func (p *program) report(ctx context.Context, err error) int {
	var sig signalError
	var parse *kong.ParseError
	switch {
	case err == nil, readerGone(err):
		return exitOK
	case errors.As(context.Cause(ctx), &sig):
		return sig.code()
	case errors.Is(err, errReported):
		return exitFailure
	case isUsage(err), errors.As(err, &parse):
		p.complain(err)
		fmt.Fprintln(p.stderr, `Run "uid --help" or "uid COMMAND --help" for the flags.`)
		return exitUsage
	default:
		p.complain(err)
		return exitFailure
	}
}

// output is stdout. The type of its errors tells them from those of a database connection.
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

// readerGone reports whether err says that stdout has no reader any more, as after "| head". That
// is not a failure.
func readerGone(err error) bool {
	var o outputError
	return errors.As(err, &o) && errors.Is(o.error, syscall.EPIPE)
}

// complain prints err as one line. Errors of package uid already have the prefix.
func (p *program) complain(err error) {
	fmt.Fprintf(p.stderr, "uid: %s\n", strings.TrimPrefix(p.text(err), "uid: "))
}

// text returns how err is printed: on one line, without passwords, with words for people in place
// of "context deadline exceeded", and without repeated lines, because PostgreSQL's driver tries an
// address with and without TLS and reports the same error twice. Several errors in one get
// semicolons between them. The errors themselves keep their text, and nothing is decided by it.
func (p *program) text(err error) string {
	var lines []string
	printed := strings.ReplaceAll(p.redactor.Redact(err.Error()),
		context.DeadlineExceeded.Error(), "no answer in time")
	text := ""
	for line := range strings.Lines(printed) {
		line = strings.Join(strings.Fields(line), " ")
		if line == "" || slices.Contains(lines, line) {
			continue
		}
		switch {
		case text == "":
		case strings.HasSuffix(text, ":"), strings.HasSuffix(text, ";"):
			text += " "
		default:
			text += "; "
		}
		text += line
		lines = append(lines, line)
	}
	return text
}

// execute parses args and runs the command that they name.
func (p *program) execute(ctx context.Context, args []string) error {
	for i, arg := range args {
		// kong replaces bytes that are not UTF-8. The argument would name another tag or file.
		if !utf8.ValidString(arg) {
			return usagef("argument %d is not UTF-8", i+1)
		}
	}
	var c commands
	k, err := kong.New(&c,
		kong.Name("uid"),
		kong.Description("Makes unique, time-ordered 63-bit ids and takes them apart."),
		kong.NoDefaultHelp(),
		kong.Writers(p.out, p.stderr),
		kong.ConfigureHelp(kong.HelpOptions{
			Compact: true, NoExpandSubcommands: true, WrapUpperBound: 110,
		}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(p),
	)
	if err != nil {
		return err
	}
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case len(args) > 1 && args[0] == "completion" && args[1] == "words": // from a shell
		p.completeLine(k.Model.Node)
		return nil
	}
	if args, err = joinNegative(args); err != nil {
		return err
	}
	kctx, err := k.Parse(args)
	if err != nil {
		return err
	}
	return kctx.Run()
}

// joinNegative joins each negative number to the flag before it, because kong reads -5 as a flag.
func joinNegative(args []string) (joined []string, err error) {
	for i, arg := range args {
		switch last := len(joined) - 1; {
		case arg == "--":
			return append(joined, args[i:]...), nil
		case len(arg) < 2 || arg[0] != '-' || arg[1] < '0' || arg[1] > '9':
			joined = append(joined, arg)
		case last < 0 || !strings.HasPrefix(joined[last], "-") ||
			strings.Contains(joined[last], "="):
			return nil, usagef("%s is not a flag; put -- before negative numbers", arg)
		case strings.HasPrefix(joined[last], "--"):
			joined[last] += "=" + arg
		default:
			joined[last] += arg
		}
	}
	return joined, nil
}

// progress returns a running bar on stderr, or nil if stderr is not a terminal. Nothing else may be
// printed on stderr before its End.
func (p *program) progress(label string, total int64) *progress.Bar {
	if !isTerminal(p.stderr) || p.getenv("TERM") == "dumb" {
		return nil
	}
	width := func() int {
		if f, ok := p.stderr.(*os.File); ok {
			if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
				return columns
			}
		}
		return 80
	}
	return progress.New(p.stderr, width, human.Printable(label), total)
}

// isTerminal reports whether w is a terminal.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
