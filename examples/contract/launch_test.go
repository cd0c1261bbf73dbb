package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// launcher starts ranks of a real MPI.
type launcher struct {
	name string
	args []string // before the number of ranks
}

var launchers = []launcher{
	{"mpirun.openmpi", []string{"--oversubscribe", "--bind-to", "none", "-n"}},
	{"mpiexec.hydra", []string{"-n"}},
}

// command is the program under the launcher, with a time limit, and the
// settings that let root run it in a container.
func (l launcher) command(ctx context.Context, ranks int, binary string, flags ...string) *exec.Cmd {
	args := append(append([]string{}, l.args...), strconv.Itoa(ranks), binary)
	cmd := exec.CommandContext(ctx, l.name, append(args, flags...)...)
	cmd.Env = append(os.Environ(),
		"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
		"OMPI_MCA_btl_vader_single_copy_mechanism=none", "OMPI_MCA_rmaps_base_oversubscribe=1")
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// build makes the program as a user would get it: without cgo.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "contract")
	cmd := exec.Command("go", "build", "-o", binary, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

func (l launcher) require(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath(l.name); err != nil {
		if os.Getenv("HATAORI_REQUIRE_MPI") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// run starts the command and returns what it wrote.
func run(cmd *exec.Cmd) (stdout, stderr string, err error) {
	var out, text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &text
	err = cmd.Run()
	return out.String(), text.String(), err
}

// TestUnderLaunchers runs the program on 1, 2 and 4 ranks of both MPIs and
// compares the bits with those of a run without MPI.
func TestUnderLaunchers(t *testing.T) {
	binary := build(t)
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	flags := []string{"--circuit", "3x4x10", "--open", "4", "--slices", "32", "--lanes", "2", "--json"}
	alone := exec.CommandContext(ctx, binary, flags...)
	alone.Env = append(os.Environ(), "HATAORI_MPI=off")
	stdout, stderr, err := run(alone)
	if err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	want := parseReport(t, stdout)
	for _, l := range launchers {
		t.Run(l.name, func(t *testing.T) {
			l.require(t)
			for _, ranks := range []int{1, 2, 4} {
				stdout, stderr, err := run(l.command(ctx, ranks, binary, flags...))
				if err != nil {
					t.Fatalf("%d ranks: %v: %s", ranks, err, stderr)
				}
				got := parseReport(t, stdout)
				same(t, fmt.Sprintf("%d ranks", ranks), got, want)
				var n int
				if err := json.Unmarshal(got["ranks"], &n); err != nil || n != ranks {
					t.Errorf("%s ranks, started %d", got["ranks"], ranks)
				}
			}
		})
	}
}

// TestLaunchedFaults gives bad input to launched ranks: one line on stderr,
// nothing on stdout, and an exit status that says so.
func TestLaunchedFaults(t *testing.T) {
	binary := build(t)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for _, l := range launchers {
		t.Run(l.name, func(t *testing.T) {
			l.require(t)
			for says, flags := range map[string][]string{
				"no such file": {"--file", filepath.Join(t.TempDir(), "none.json")},
				"--provider":   {"--provider", "cray"},
			} {
				stdout, stderr, err := run(l.command(ctx, 3, binary, flags...))
				if err == nil || stdout != "" {
					t.Errorf("%v: %v, prints %q", flags, err, stdout)
				}
				if n := strings.Count(stderr, says); n != 1 {
					t.Errorf("%v: %q is said %d times: %s", flags, says, n, stderr)
				}
			}
		})
	}
}
