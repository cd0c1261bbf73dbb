package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hataori/hataori-go/internal/launch"
)

// TestUnderLaunchers runs the program on 1, 2 and 4 ranks of both MPIs and
// compares the bits with those of a run without MPI.
func TestUnderLaunchers(t *testing.T) {
	program := launch.Build(t, ".")
	flags := []string{"--circuit", "3x4x10", "--open", "4", "--slices", "32", "--lanes", "2", "--json"}
	alone := launch.Alone(t, program, flags...)
	if alone.Status != 0 {
		t.Fatalf("status %d: %s", alone.Status, alone.Stderr)
	}
	want := parseReport(t, alone.Stdout)
	launch.Each(t, func(t *testing.T, l launch.Launcher) {
		for _, ranks := range []int{1, 3} {
			job := l.Job(t, ranks, program, flags...)
			if job.Status != 0 {
				t.Fatalf("%d ranks: status %d: %s", ranks, job.Status, job.Stderr)
			}
			got := parseReport(t, job.Stdout)
			same(t, fmt.Sprintf("%d ranks", ranks), got, want)
			var n int
			if err := json.Unmarshal(got["ranks"], &n); err != nil || n != ranks {
				t.Errorf("%s ranks, started %d", got["ranks"], ranks)
			}
		}
	})
}

// TestLaunchedFaults gives bad input to launched ranks: it is told once, nothing
// is printed as a result, and the exit status says so.
func TestLaunchedFaults(t *testing.T) {
	program := launch.Build(t, ".")
	launch.Each(t, func(t *testing.T, l launch.Launcher) {
		for says, flags := range map[string][]string{
			"no such file": {"--file", filepath.Join(t.TempDir(), "none.json")},
			"--provider":   {"--provider", "cray"},
		} {
			job := l.Job(t, 3, program, flags...)
			if job.Status == 0 || job.Stdout != "" {
				t.Errorf("%v: status %d, prints %q", flags, job.Status, job.Stdout)
			}
			if n := strings.Count(job.Stderr, says); n != 1 {
				t.Errorf("%v: %q is said %d times: %s", flags, says, n, job.Stderr)
			}
		}
	})
}

// TestCrowdedHost starts one rank more than there are processors: one line says so,
// whether the lanes were given or chosen.
func TestCrowdedHost(t *testing.T) {
	ranks := runtime.NumCPU() + 1
	if ranks > 9 {
		t.Skipf("%d processors: starts no job of so many ranks", ranks-1)
	}
	program := launch.Build(t, ".")
	launch.Each(t, func(t *testing.T, l launch.Launcher) {
		for _, flags := range [][]string{{"--lanes", "1"}, nil} {
			job := l.Job(t, ranks, program, append([]string{"--circuit", "3x3x6", "--open", "2", "--no-progress"}, flags...)...)
			says := fmt.Sprintf("ranks=%d processors=%d", ranks, ranks-1)
			if n := strings.Count(job.Stderr, "together"); job.Status != 0 || n != 1 || !strings.Contains(job.Stderr, says) {
				t.Errorf("%v: status %d, said %d times, want %q: %s", flags, job.Status, n, says, job.Stderr)
			}
		}
	})
}
