package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hataori/hataori-go/internal/launch"
	"github.com/hataori/hataori-go/mpi/mpitest"
	"github.com/hataori/hataori-go/store"
	"github.com/hataori/hataori-go/transport"
)

// needStore skips a test where no HDF5 library is installed.
func needStore(t *testing.T) {
	t.Helper()
	if _, _, err := store.Version(""); err != nil {
		if os.Getenv("HATAORI_REQUIRE_HDF5") != "" {
			t.Fatal(err)
		}
		t.Skip("skipped: ", err)
	}
}

// long is a problem of 64 slices of 16 KiB and more than 10 ms each.
var long = []string{"--circuit", "4x4x24", "--open", "10", "--slices", "64", "--provider", "native"}

// waitForRows returns once some slices are in the journal of path.
func waitForRows(t *testing.T, path string) {
	t.Helper()
	for start := time.Now(); time.Since(start) < launch.Limit; time.Sleep(2 * time.Millisecond) {
		if info, err := os.Stat(path + ".journal"); err == nil && info.Size() > 5*(16<<10) {
			return
		}
	}
	t.Errorf("no rows come to %s.journal", path)
}

// TestKilledAndResumed kills a run by SIGKILL and lets another number of ranks
// finish it under each launcher: the same bits as in one go.
func TestKilledAndResumed(t *testing.T) {
	needStore(t)
	program := launch.Build(t, ".")
	alone := launch.Alone(t, program, append(long, "--lanes", "2", "--json")...)
	if alone.Status != 0 {
		t.Fatal(alone.Stderr)
	}
	want := parseReport(t, alone.Stdout)
	launch.Each(t, func(t *testing.T, l launch.Launcher) {
		path := filepath.Join(t.TempDir(), "out.h5")
		cmd := exec.Command(program, append(long, "--lanes", "1", "--out", path)...)
		cmd.Env = append(os.Environ(), "HATAORI_MPI=off")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitForRows(t, path)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("the run ended before it was killed: %v", err)
		}
		job := l.Job(t, 2, program, append(long, "--lanes", "1", "--out", path, "--resume", "--json")...)
		if job.Status != 0 {
			t.Fatal(job.Stderr)
		}
		got := parseReport(t, job.Stdout)
		same(t, "resumed", got, want)
		var n int
		if _, err := fmt.Sscan(string(got["kept"]), &n); err != nil || n < 5 || n > 63 {
			t.Errorf("kept %s of 64 slices, %v", got["kept"], err)
		}
		if _, err := os.Stat(path + ".journal"); err == nil {
			t.Error("the journal was left behind")
		}
	})
}

// TestCancelledAndResumed cancels a run: every rank says what is kept and how to
// go on, and that works.
func TestCancelledAndResumed(t *testing.T) {
	needStore(t)
	if testing.Short() {
		t.Skip("takes seconds, left out by -short")
	}
	path := filepath.Join(t.TempDir(), "out.h5")
	flags := append(long, "--out", path)
	o, err := parseOptions(flags, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	go func() {
		waitForRows(t, path)
		cancel(errors.New("time is up"))
	}()
	errs := make([]error, 2)
	net := mpitest.New(2, mpitest.Options{})
	err = net.Run(func(c transport.Comm) error {
		errs[c.Rank()] = contractOn(ctx, c, o, 1, &bytes.Buffer{})
		return nil
	})
	if err := errors.Join(err, net.Check()); err != nil {
		t.Fatal(err)
	}
	for rank, err := range errs {
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "time is up") || err.Error() != errs[0].Error() ||
			!strings.Contains(err.Error(), "of 64 slices are kept in "+path+"; the same command with --resume goes on") {
			t.Fatalf("rank %d: %v", rank, err)
		}
	}
	var n int
	if _, err := fmt.Sscanf(errs[0].Error()[strings.LastIndex(errs[0].Error(), " of 64 slices")-2:], "%d of 64", &n); err != nil || n < 5 {
		t.Errorf("%d slices kept, %v: %v", n, err, errs[0])
	}
	got := result(t, 3, 1, append(flags, "--resume")...)
	if string(got["kept"]) != fmt.Sprint(n) {
		t.Errorf("%s slices were found, %d kept", got["kept"], n)
	}
	same(t, "resumed", got, result(t, 1, 2, long...))
}

// TestOut writes both kinds of files, reads them with h5py and numpy, goes on
// with a finished one and refuses those of other problems.
func TestOut(t *testing.T) {
	needStore(t)
	if testing.Short() {
		t.Skip("takes seconds, left out by -short")
	}
	dir := t.TempDir()
	path, array := filepath.Join(dir, "out.h5"), filepath.Join(dir, "out.npy")
	small := []string{"--circuit", "3x3x8", "--open", "3", "--slices", "24", "--provider", "native"}
	want := result(t, 1, 1, small...)
	same(t, "kept", result(t, 3, 2, append(small, "--out", path)...), want)
	same(t, "npy", result(t, 2, 1, append(small, "--out", array)...), want)
	again := result(t, 2, 1, append(small, "--out", path, "--resume")...)
	same(t, "again", again, want)
	if !bytes.Equal(again["kept"], again["items"]) {
		t.Errorf("of a finished file %s slices of %s were taken", again["kept"], again["items"])
	}
	python := exec.Command("/usr/bin/python3", "-c", `
import h5py, numpy as np, sys
with h5py.File(sys.argv[1]) as f:
    a, b = f['output'][...], np.load(sys.argv[2])
    assert a.dtype == b.dtype == np.complex128 and a.shape == b.shape == (2, 2, 2) and (a == b).all()
    assert f['slices_done'][...].all() and f['slices'].shape[1] == f['slices'][0].size
    assert f.attrs['problem'] == 'circuit_3x3x8_seed1_open3' and 'state vector' in f['output'].attrs['check']
    assert f.attrs['ranks'] == 3 and f.attrs['lanes'] == 2`, path, array)
	if out, err := python.CombinedOutput(); err != nil {
		if os.Getenv("HATAORI_REQUIRE_HDF5") != "" {
			t.Errorf("h5py: %v\n%s", err, out)
		} else {
			t.Logf("h5py: %v", err)
		}
	}
	refused := func(says []string, flags ...string) {
		t.Helper()
		printed, errs := runRanks(t, 2, 1, flags...)
		for rank, err := range errs {
			if printed != "" || err == nil || err.Error() != errs[0].Error() {
				t.Fatalf("%v: prints %q, rank %d: %v", flags, printed, rank, err)
			}
			for _, s := range says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%v: %q does not say %q", flags, err, s)
				}
			}
		}
	}
	other := []string{"--circuit", "3x3x8", "--open", "3", "--provider", "native", "--resume", "--out", path}
	refused([]string{"--resume to go on"}, append(small, "--out", path)...)
	refused([]string{"problem: slices was 32, is 2; plan was "}, append(other, "--slices", "2")...)
	refused([]string{"problem: problem was ", "seed1_open3, is ", "seed2_open3; resume"}, append(other, "--slices", "24", "--seed", "2")...)
	refused([]string{"problem: threads was 1, is 2; resume"}, append(other, "--slices", "24", "--threads", "2")...)
	refused([]string{"no directory"}, append(small, "--out", filepath.Join(dir, "none", "out.h5"))...)
	for says, flags := range map[string][]string{"--resume needs --out": {"--resume"}, "whose rows": {"--resume", "--out", array}, "--out is empty": {"--out", ""}} {
		if _, err := parseOptions(flags, os.Stderr); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v", flags, err)
		}
	}
}

// A file that cannot be made at the end is told before any work, one that fails at the
// end leaves the numbers printed.
func TestOutNpyRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "dir.npy"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HATAORI_BLAS_LIB", filepath.Join(dir, "libnothing.so")) // what an engine would say
	for name, says := range map[string]string{"none/out.npy": "no such file", "dir.npy": "no file"} {
		_, errs := runRanks(t, 2, 1, "--circuit", "2x2x2", "--open", "2", "--provider", "blas", "--out", filepath.Join(dir, name))
		for rank, err := range errs {
			if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: rank %d: %v", name, rank, err)
			}
		}
	}
	f, err := parseProblem("p.json", []byte(goodProblem))
	if err != nil {
		t.Fatal(err)
	}
	o := &options{memory: 1 << 20, data: 1 << 20, slices: 1, out: filepath.Join(dir, "gone", "out.npy")}
	p, err := filedProblem[float64](f, "opt_size")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := p.plan(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	j, err := newJob(p, plan)
	if err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	err = finish(o, &input{file: f}, j, nil, [][]float64{{1, 2, 3, 4}}, &report{Name: "p"}, &printed)
	if err == nil || !strings.Contains(err.Error(), "--out") || !strings.Contains(printed.String(), "sum 10,") {
		t.Errorf("a directory that is gone: %v; printed %q", err, printed.String())
	}
}
