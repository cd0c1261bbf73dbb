//go:build linux || darwin || freebsd

package blas

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestMain lets a test run a piece of itself as a program of its own: what a
// library does to a process shows best in a fresh one.
func TestMain(m *testing.M) {
	if os.Getenv("BLAS_TEST_CHILD") != "" {
		os.Exit(child())
	}
	os.Exit(m.Run())
}

// misled is a library that chose kernels wrongly by itself: what it was told
// is gone from the environment when it is examined.
func misled(path string, opts Options) (*Provider, error) {
	l := &library{}
	if err := l.open(path, opts, []setting{{"OPENBLAS_CORETYPE", "Prescott"}}); err != nil {
		return nil, err
	}
	before := l.text("openblas_get_corename")
	if err := l.settle(path, opts); err != nil {
		return nil, err
	}
	fmt.Println("before:", before)
	return newProvider(l)
}

// child opens a library twice and prints what it finds.
func child() int {
	opts := Options{
		Library:     os.Getenv("BLAS_TEST_LIBRARY"),
		KeepThreads: os.Getenv("BLAS_TEST_KEEP") != "",
		KeepKernel:  os.Getenv("BLAS_TEST_KEEP") != "",
	}
	p, err := Open(opts)
	if path := os.Getenv("BLAS_TEST_MISLED"); path != "" {
		p, err = misled(path, opts)
	}
	if err != nil {
		var nf *NotFoundError
		fmt.Printf("error: %v\ntyped: %v\n", err, errors.As(err, &nf))
		return 0
	}
	i := p.Info()
	fmt.Printf("name=%s path=%s kernel=%s best=%s bits=%d threads=%d corrected=%v loaded=%v warnings=%q\n",
		i.Name, i.Path, i.Kernel, i.BestKernel, i.IntBits, i.Threads, i.Corrected, i.AlreadyLoaded, i.Warnings)
	if c := i.Changes; len(c) > 0 {
		fmt.Printf("changes=%q\n", c)
	}
	opts.Library = p.Info().Path
	again, err := Open(opts)
	if err != nil {
		fmt.Println("error: again:", err)
		return 0
	}
	fmt.Printf("again: kernel=%s loaded=%v\n", again.Info().Kernel, again.Info().AlreadyLoaded)
	for _, v := range []string{"OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS"} {
		printCEnv(v)
	}
	return 0
}

func runChild(t *testing.T, env ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "OPENBLAS_") && !strings.HasPrefix(v, EnvLibrary) {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "BLAS_TEST_CHILD=1")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("child: %v\n%s", err, out)
	}
	return string(out)
}

func TestNotFound(t *testing.T) {
	out := runChild(t, EnvLibrary+"=/nowhere/libfoo.so")
	for _, want := range []string{"/nowhere/libfoo.so", EnvLibrary, "libopenblas0-pthread", "typed: true"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in %s", want, out)
		}
	}
	out = runChild(t, "BLAS_TEST_LIBRARY=libc.so.6")
	if runtime.GOOS == "linux" && (!strings.Contains(out, "no dgemm") || !strings.Contains(out, "Options.Library")) {
		t.Errorf("a library that is no BLAS: %s", out)
	}
}

// debian returns the path of one of Debian's OpenBLAS builds, or skips.
func debian(t *testing.T, build string) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/*/openblas-" + build + "/libopenblas.so.0")
	if len(found) == 0 {
		t.Skipf("no openblas-%s here", build)
	}
	return found[0]
}

func contains(t *testing.T, out string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(out, w) {
			t.Errorf("%q is not in\n%s", w, out)
		}
	}
}

func TestKernelIsPutRight(t *testing.T) {
	lib := debian(t, "serial")
	best := bestKernel()
	if best == "" {
		t.Skip("no opinion on this processor's kernels")
	}
	for _, build := range []string{"serial", "pthread"} {
		path := debian(t, build)
		out := runChild(t, EnvLibrary+"=/nowhere", "BLAS_TEST_MISLED="+path)
		contains(t, out, "before: Prescott", "kernel="+best, "corrected=true", "warnings=[]", "it had chosen Prescott", "OPENBLAS_CORETYPE is unset")
		out = runChild(t, EnvLibrary+"=/nowhere", "BLAS_TEST_KEEP=1", "BLAS_TEST_MISLED="+path)
		contains(t, out, "kernel=Prescott", "corrected=false", "KeepKernel forbids")
	}
	// GODEBUG hides features from Go alone: a library that is left alone uses them.
	out := runChild(t, "GODEBUG=", EnvLibrary+"="+lib)
	if _, said, ok := strings.Cut(out, " best="); ok {
		best, _, _ = strings.Cut(said, " ")
	}
	contains(t, out, "name=openblas", "bits=32", "threads=1", "loaded=false", "warnings=[]", "again: kernel="+best+" loaded=true",
		"OPENBLAS_CORETYPE is unset", "OPENBLAS_NUM_THREADS is unset")
	if !strings.Contains(out, "kernel="+best) {
		t.Errorf("kernel is not %s: %s", best, out)
	}
	out = runChild(t, "GODEBUG=", EnvLibrary+"="+lib, "OPENBLAS_CORETYPE=Nehalem")
	contains(t, out, "kernel=Nehalem", "corrected=false", "unset it or set it to "+best, "OPENBLAS_CORETYPE=Nehalem")
}

func TestRefusedChanges(t *testing.T) {
	out := runChild(t, EnvLibrary+"="+debian(t, "pthread"), "BLAS_TEST_KEEP=1", "OPENBLAS_NUM_THREADS=2")
	if runtime.NumCPU() > 1 {
		contains(t, out, "threads=2")
	}
	contains(t, out, "OPENBLAS_NUM_THREADS=2", "corrected=false")
	if strings.Contains(out, "changes=") {
		t.Errorf("something was changed: %s", out)
	}
}

func TestThreadsAreLimited(t *testing.T) {
	lib := debian(t, "pthread")
	contains(t, runChild(t, EnvLibrary+"="+lib), "threads=1", "limited to one thread")
	contains(t, runChild(t, EnvLibrary+"="+lib, "OPENBLAS_NUM_THREADS=2"), "threads=1", "OPENBLAS_NUM_THREADS=2")
}

func printCEnv(name string) {
	c, err := openEnv()
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	if v, ok := c.get(name); ok {
		fmt.Printf("%s=%s\n", name, v)
		return
	}
	fmt.Println(name, "is unset")
}
