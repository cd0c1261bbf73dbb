package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hataori/hataori-go/internal/launch"
	"github.com/hataori/hataori-go/trace"
)

// TestWatch looks at what a user of a launched job sees: lines of progress from
// the root alone, a trace with all items, and errors in a line.
func TestWatch(t *testing.T) {
	program := launch.Build(t, ".")
	launch.Each(t, func(t *testing.T, l launch.Launcher) {
		name := filepath.Join(t.TempDir(), "run.trace")
		flags := []string{"--circuit", "3x4x10", "--open", "4", "--slices", "32", "--lanes", "2", "--trace", name}
		job := l.Job(t, 2, program, append(flags, "--progress-every", "1us")...)
		if job.Status != 0 || !strings.Contains(job.Stderr, "32 of 32 items (100 %)") || strings.Contains(job.Stdout, "items (") {
			t.Errorf("status %d, %s\n%s", job.Status, job.Stdout, job.Stderr)
		}
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		rec, err := trace.Read(f)
		if err != nil || len(rec.Calls) != 1 {
			t.Fatal(err)
		}
		if s := rec.Calls[0].Summary(); s.Items != 32 || s.Ranks != 2 || s.Lanes != 4 {
			t.Errorf("%v", s)
		}
		if job = l.Job(t, 2, program, append(flags, "--no-progress", "--progress-every", "1us", "--lanes", "1")...); job.Status != 0 || job.Stderr != "" && runtime.NumCPU() > 1 {
			t.Errorf("status %d, %s", job.Status, job.Stderr)
		}
		job = l.Job(t, 2, program, "--trace", filepath.Join(name, "no", "folder"))
		if job.Status == 0 || job.Stdout != "" || strings.Count(job.Stderr, "--trace: ") != 1 {
			t.Errorf("status %d, %s", job.Status, job.Stderr)
		}
	})
}

// A recording that cannot be written does not take the result with it.
func TestTraceThatFailsLeavesTheResult(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("skipped: ", err)
	}
	printed, errs := runRanks(t, 2, 1, "--circuit", "2x2x2", "--open", "2", "--trace", "/dev/full")
	if !strings.Contains(printed, "agrees with the state vector") {
		t.Errorf("printed %q", printed)
	}
	for rank, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "--trace /dev/full: ") {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}
