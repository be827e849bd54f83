package main

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
)

// TestImage: what the Dockerfile puts into the image is all that the command needs. Its program, built as there,
// serves ids and numbers of a named time zone in a root folder without anything else, as the image's user, who may
// write nowhere, and the health check finds it up.
func TestImage(t *testing.T) {
	t.Parallel()
	dbtest.Long(t, "image")
	if os.Geteuid() != 0 {
		t.Skip("skipped: chroot needs root")
	}
	text, err := os.ReadFile("deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^RUN CGO_ENABLED=0 go (build .* -ldflags="-s -w") -o /uid ./cmd/uid$`).FindSubmatch(text)
	check := regexp.MustCompile(`(?m)^HEALTHCHECK .* CMD \["/uid", "health"\]$`).Find(text)
	if m == nil || check == nil || !bytes.Contains(text, []byte("\nUSER 65532:65532\n")) {
		t.Fatal("the Dockerfile builds, checks or runs the command in another way than this test")
	}
	root := t.TempDir()
	args := append(strings.Fields(strings.Replace(string(m[1]), `"-s -w"`, "-s", 1)),
		"-o", filepath.Join(root, "uid"), ".")
	build := exec.CommandContext(t.Context(), "go", args...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go %q: %v\n%s", args, err, out)
	}
	numbers := []byte("order Asia/Shanghai {20060102}-{n 6 day}\n")
	if err := os.WriteFile(filepath.Join(root, "numbers"), numbers, 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, root)
	server := dbtest.MariaDB(t)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	inside := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "/uid", args...)
		cmd.Dir = "/"
		cmd.Env = []string{"UID_DSN=" + server.DSN(server.CreateDB(t))}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		return cmd
	}
	var said bytes.Buffer
	serve := inside("serve", "--addr", address, "--numbers", "/numbers")
	serve.Stderr = &said
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	up := func() bool {
		out, err := inside("health", "http://"+address).Output()
		return err == nil && string(out) == "up\n"
	}
	for begin := time.Now(); !up(); time.Sleep(50 * time.Millisecond) {
		if time.Since(begin) > 30*time.Second {
			_ = serve.Process.Kill()
			_ = serve.Wait()
			t.Fatalf("not up after 30 s:\n%s", said.String())
		}
	}
	for path, want := range map[string]string{"/api/snowflake/get/a": `^\d+$`, "/api/number/get/order": `^\d{8}-000001$`} {
		resp, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		_, _ = body.ReadFrom(resp.Body)
		resp.Body.Close()
		if !regexp.MustCompile(want).Match(bytes.TrimSpace(body.Bytes())) {
			t.Errorf("%s: %s %s, want %s", path, resp.Status, &body, want)
		}
	}
	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := serve.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v\n%s", err, said.String())
	}
	files, err := os.ReadDir(root)
	if err != nil || len(files) != 2 {
		t.Errorf("the root folder has %v, %v, want the command and the numbers", files, err)
	}
}

// open lets every user enter the folder, and those between it and the temporary one.
func open(t *testing.T, dir string) {
	t.Helper()
	for ; dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}
