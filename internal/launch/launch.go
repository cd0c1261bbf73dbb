// Package launch starts programs of this module under MPI launchers, for tests.
package launch

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Limit is how long a job may take before it is killed and called hung. It
// decides nothing else.
const Limit = 2 * time.Minute

// Launcher starts jobs of one MPI.
type Launcher struct {
	Name    string
	command string
	flags   []string
}

var launchers = []Launcher{
	{"openmpi", "mpirun.openmpi", []string{"--oversubscribe", "--bind-to", "none"}},
	{"mpich", "mpiexec.hydra", nil},
}

// Each runs a test under every launcher. One that is missing skips, unless
// HATAORI_REQUIRE_MPI=1; so does -short.
func Each(t *testing.T, f func(t *testing.T, l Launcher)) {
	for _, l := range launchers {
		t.Run(l.Name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("jobs under a launcher are left out by -short")
			}
			if _, err := exec.LookPath(l.command); err != nil {
				if os.Getenv("HATAORI_REQUIRE_MPI") == "1" {
					t.Fatalf("HATAORI_REQUIRE_MPI=1, but %v", err)
				}
				t.Skipf("%v: install it to run this test", err)
			}
			f(t, l)
		})
	}
}

// Build builds the main package in dir without cgo and returns the program. With
// -short the test is skipped: what it starts would not be what was built with it.
func Build(t *testing.T, dir string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("programs of their own are left out by -short")
	}
	program := filepath.Join(t.TempDir(), "program")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build in %s: %v\n%s", dir, err, out)
	}
	return program
}

// Outcome is how a job ended.
type Outcome struct {
	Status         int // of the exit, 128 + n for signal n
	Stdout, Stderr string
	Took           time.Duration
}

// Job runs a program on n ranks.
func (l Launcher) Job(t *testing.T, n int, program string, args ...string) Outcome {
	t.Helper()
	all := append(append([]string{}, l.flags...), "-n", strconv.Itoa(n), program)
	return start(t, l.command, append(all, args...)...)
}

// Alone runs a program without a launcher.
func Alone(t *testing.T, program string, args ...string) Outcome {
	t.Helper()
	return start(t, program, args...)
}

// start runs a command in a process group of its own, and kills the group when
// it takes too long.
func start(t *testing.T, command string, args ...string) Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.Env = append(environment(),
		"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
		"OMPI_MCA_btl_vader_single_copy_mechanism=none", "OMPI_MCA_rmaps_base_oversubscribe=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	begin := time.Now()
	err := cmd.Run()
	o := Outcome{Stdout: stdout.String(), Stderr: stderr.String(), Took: time.Since(begin)}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		t.Fatalf("%s %v did not end within %v\n%s\n%s", command, args, Limit, o.Stdout, o.Stderr)
	case errors.As(err, &exit):
		o.Status = exit.ExitCode()
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			o.Status = 128 + int(ws.Signal())
		}
	case err != nil:
		t.Fatalf("%s: %v", command, err)
	}
	return o
}

// environment is this process's without what a launcher put there for it.
func environment() []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		of := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		if of("OMPI_COMM_") || of("OMPI_UNIVERSE_") || of("PMIX_") || of("PMI_") || of("HYDI_") || of("HATAORI_MPI") {
			continue
		}
		env = append(env, kv)
	}
	return env
}
