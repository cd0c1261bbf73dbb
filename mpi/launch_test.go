package mpi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hataori/hataori-go/mpi"
)

// The tests with a real MPI start this test binary again under a launcher. The
// variable tells the copy which of these programs to be.
const programVariable = "HATAORI_TEST_PROGRAM"

var programs = map[string]func() int{
	"conform":   programConform,
	"pieces":    programPieces,
	"signals":   programSignals,
	"blocking":  programBlocking,
	"describe":  programDescribe,
	"misuse":    programMisuse,
	"funneled":  programFunneled,
	"join":      programJoin,
	"main":      programMain,
	"child":     programChild,
	"warn":      programWarn,
	"pingpong":  programPingPong,
	"abandoned": programAbandoned,
}

func TestMain(m *testing.M) {
	if name := os.Getenv(programVariable); name != "" {
		os.Exit(programs[name]())
	}
	os.Exit(m.Run())
}

// launcher starts ranks of one MPI.
type launcher struct {
	name    string
	command string
	flags   []string
	library string
}

var launchers = []launcher{
	{"openmpi", "mpirun.openmpi", []string{"--oversubscribe", "--bind-to", "none"}, "libmpi.so.40"},
	{"mpich", "mpiexec.hydra", nil, "libmpich.so.12"},
}

// outcome is how a job ended.
type outcome struct {
	status         int
	stdout, stderr string
	took           time.Duration
}

// jobLimit is for liveness only: no job of these tests takes a tenth of it on a
// quiet machine.
const jobLimit = 3 * time.Minute

// each runs a test under every launcher. A missing launcher skips, unless
// HATAORI_REQUIRE_MPI=1.
func each(t *testing.T, f func(t *testing.T, l launcher)) {
	for _, l := range launchers {
		t.Run(l.name, func(t *testing.T) {
			l.find(t)
			f(t, l)
		})
	}
}

func (l launcher) find(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("jobs under a launcher are left out by -short")
	}
	if _, err := exec.LookPath(l.command); err != nil {
		if os.Getenv("HATAORI_REQUIRE_MPI") == "1" {
			t.Fatalf("HATAORI_REQUIRE_MPI=1, but %v", err)
		}
		t.Skipf("%v: install it to run this test, HATAORI_REQUIRE_MPI=1 makes it necessary", err)
	}
}

// job runs a program on n ranks.
func (l launcher) job(t testing.TB, n int, program string, env ...string) outcome {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append(append([]string(nil), l.flags...), "-n", strconv.Itoa(n), self)
	return start(t, append(env, programVariable+"="+program), nil, l.command, args...)
}

// alone runs a program without a launcher.
func alone(t testing.TB, program string, env ...string) outcome {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return start(t, append(env, programVariable+"="+program), nil, self)
}

// start runs a command in a process group of its own and kills the group when
// it takes too long. meanwhile, if any, is called with the running process.
func start(t testing.TB, env []string, meanwhile func(p *os.Process, stdout *syncBuffer), command string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), jobLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.Env = append(mpi.ChildEnv(),
		"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
		"OMPI_MCA_btl_vader_single_copy_mechanism=none", "OMPI_MCA_rmaps_base_oversubscribe=1")
	cmd.Env = append(cmd.Env, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr syncBuffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if meanwhile != nil {
		meanwhile(cmd.Process, &stdout)
	}
	err := cmd.Wait()
	o := outcome{stdout: stdout.String(), stderr: stderr.String(), took: time.Since(begin)}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		t.Fatalf("%s %v did not end within %v\n%s\n%s", command, args, jobLimit, o.stdout, o.stderr)
	case errors.As(err, &exit):
		o.status = exit.ExitCode()
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			o.status = 128 + int(ws.Signal())
		}
	case err != nil:
		t.Fatalf("%s: %v\n%s", command, err, o.stderr)
	}
	return o
}

// ok fails the test unless the job ended well and in silence.
func (o outcome) ok(t *testing.T) {
	t.Helper()
	if o.status != 0 || o.stderr != "" {
		t.Fatalf("status %d\n--- stdout\n%s\n--- stderr\n%s", o.status, o.stdout, o.stderr)
	}
}

// syncBuffer collects output while others look at it.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// inJob runs body as one rank and returns its exit status.
func inJob(opts mpi.Options, body func(ctx context.Context, rt *mpi.Runtime) error) int {
	return mpi.Program{Options: opts, Grace: time.Minute}.Run(body)
}

func wrongf(format string, args ...any) error { return fmt.Errorf(format, args...) }
