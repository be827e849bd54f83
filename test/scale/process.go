package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/kubernetes/kubeconfig"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/test/internal/stores"
	"github.com/uidring/uidring/uid"
)

// jobEnv is the environment variable that makes the program a process of the fleet. Its value is
// the job, as JSON.
const jobEnv = "UIDRING_SCALE_JOB"

// numberEnv is the environment variable with the number of such a process in its fleet.
const numberEnv = "UIDRING_SCALE_NUMBER"

// job is what a process does.
type job struct {
	Kind string // the kind of assigner
	DSN  string // of the database, or the address of another authority
	Read bool   // it reads once instead, and makes no id
}

// answer is what a process writes when it has its first id, or fails.
type answer struct {
	Took   time.Duration // from asking for the worker id to the first id
	Worker int64
	Err    string // empty: it has an id
}

// work is the main function of such a process. At the first line of its standard input it asks for
// a worker id. At the second line it gives the worker id back and ends.
func (j job) work() error {
	if j.Kind == statefulSet {
		if err := bePod("scale-" + os.Getenv(numberEnv)); err != nil {
			return err
		}
	}
	in := bufio.NewReader(os.Stdin)
	fmt.Println("ready")
	if _, err := in.ReadString('\n'); errors.Is(err, io.EOF) {
		return nil // the parent has ended
	} else if err != nil {
		return err
	}
	begin := time.Now()
	if j.Read {
		err := j.read(context.Background())
		return errors.Join(err, json.NewEncoder(os.Stdout).Encode(answer{Took: time.Since(begin)}))
	}
	g, err := j.first(context.Background())
	a := answer{Took: time.Since(begin)}
	if err != nil {
		a.Err = err.Error()
	} else {
		a.Worker = g.Stats().Worker
	}
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil || a.Err != "" {
		return errors.Join(err, errors.New(a.Err))
	}
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}
	// A server that refuses connections, as all of a fleet close, does not get the worker id back.
	// It is free when its window has passed.
	if err := g.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
	}
	return nil
}

// bePod makes this process look like a pod of a StatefulSet.
func bePod(name string) error {
	if err := errors.Join(os.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1"),
		os.Setenv("POD_NAME", name)); err != nil {
		return err
	}
	return setHostname(name)
}

// first makes a generator and its first id.
func (j job) first(ctx context.Context) (*uid.Cached, error) {
	a, err := j.assigner()
	if err != nil {
		return nil, err
	}
	g, err := uid.NewCached(ctx, a, nil)
	if err != nil {
		return nil, err
	}
	_, err = g.Next(ctx)
	return g, err
}

// read connects, and reads the little that an empty authority holds.
func (j job) read(ctx context.Context) error {
	if j.Kind == leased || j.Kind == postgreSQL {
		db, err := j.open()
		if err != nil {
			return err
		}
		return db.WithContext(ctx).Exec("SELECT 1 FROM WORKER_LEASE").Error
	}
	a, err := j.assigner()
	if err != nil {
		return err
	}
	store, ok := a.(*lease.Assigner)
	if !ok {
		return fmt.Errorf("kind is %q, which has no store", j.Kind)
	}
	_, err = store.Slots(ctx)
	return err
}

// open opens the database of the kinds that have one.
func (j job) open() (*gorm.DB, error) {
	if j.Kind == postgreSQL {
		return openPostgres(j.DSN)
	}
	return workernode.OpenMySQL(j.DSN)
}

func (j job) assigner() (assigner.Assigner, error) {
	switch j.Kind {
	case env:
		return assigner.Env(numberEnv, nil), nil
	case static:
		number, err := strconv.ParseInt(os.Getenv(numberEnv), 10, 64)
		return assigner.Static(number), err
	case host:
		return assigner.Host(), nil
	case statefulSet:
		return assigner.StatefulSet(nil), nil
	case overHTTP:
		return service.NewClient([]string{j.DSN}, nil)
	case zooKeeper:
		return stores.ZooKeeper(j.DSN, lease.Options{})
	case etcdKind:
		return stores.Etcd(j.DSN, lease.Options{})
	case cluster:
		return kubeconfig.Open(j.DSN, nil)
	}
	db, err := j.open()
	if err != nil {
		return nil, err
	}
	switch j.Kind {
	case leased, postgreSQL:
		return workernode.Leased(db, nil), nil
	case namespace:
		return workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders"}), nil
	case disposable:
		return workernode.Disposable(db, nil), nil
	}
	return nil, fmt.Errorf("kind is %q", j.Kind)
}

// process is a process of the fleet, as its parent sees it.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// start starts a process and waits until it is ready to ask for its worker id.
func start(j job, number int) (*process, error) {
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(context.Background(), self)}
	// One processor, as in a container that is limited to one: those of the machine are shared by
	// all processes and the server.
	p.cmd.Env = append(os.Environ(), jobEnv+"="+string(text),
		fmt.Sprintf("%s=%d", numberEnv, number), "GOMAXPROCS=1")
	p.cmd.Stderr = os.Stderr
	if j.Kind == statefulSet {
		p.cmd.SysProcAttr = ownHostname()
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	_, err = p.out.ReadString('\n')
	return p, err
}

// ask lets the process ask for its worker id, and returns its answer.
func (p *process) ask() (a answer, err error) {
	if _, err := io.WriteString(p.in, "start\n"); err != nil {
		return a, err
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return a, err
	}
	if a.Err != "" {
		return a, errors.New(a.Err)
	}
	return a, nil
}

// stop lets the process give its worker id back and end.
func (p *process) stop() error {
	_, err := io.WriteString(p.in, "stop\n")
	return errors.Join(err, p.cmd.Wait())
}

// kill ends the process as a power cut would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails if it has ended
	_ = p.cmd.Wait()         // reports the kill
}

// fleet is a number of processes, in the order in which they were started.
type fleet []*process

// newFleet starts n processes. They ask for no worker id before ask.
func newFleet(j job, n int) (f fleet, err error) {
	for i := range n {
		p, err := start(j, i)
		if err != nil {
			f.kill()
			return nil, err
		}
		f = append(f, p)
	}
	return f, nil
}

// ask lets all processes ask at once, and returns their answers.
func (f fleet) ask() ([]answer, error) {
	answers, errs := make([]answer, len(f)), make([]error, len(f))
	var wg sync.WaitGroup
	for i, p := range f {
		wg.Go(func() { answers[i], errs[i] = p.ask() })
	}
	wg.Wait()
	return answers, errors.Join(errs...)
}

func (f fleet) kill() {
	for _, p := range f {
		p.kill()
	}
}
