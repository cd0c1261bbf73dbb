package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/hataori/hataori-go/mpi"
	"github.com/hataori/hataori-go/mpi/mpitest"
	"github.com/hataori/hataori-go/transport"
)

func TestDescribe(t *testing.T) {
	o := alone(t, "describe")
	o.ok(t)
	if want := "rank 0 of 1, local 0 of 1, library \"\", MPI_THREAD_MULTIPLE, any thread true, joined false\n"; o.stdout != want {
		t.Errorf("without a launcher: %q, want %q", o.stdout, want)
	}
	each(t, func(t *testing.T, l launcher) {
		o := l.job(t, 3, "describe")
		o.ok(t)
		for i := range 3 {
			want := fmt.Sprintf("rank %d of 3, local %d of 3, library %q, MPI_THREAD_SERIALIZED, any thread true, joined false\n", i, i, l.library)
			if !strings.Contains(o.stdout, want) {
				t.Errorf("%q is missing in\n%s", want, o.stdout)
			}
		}
		// A library can be had without a launcher too.
		o = alone(t, "describe", "HATAORI_MPI=required", "HATAORI_MPI_LIB="+l.library)
		o.ok(t)
		if !strings.Contains(o.stdout, fmt.Sprintf("rank 0 of 1, local 0 of 1, library %q", l.library)) {
			t.Errorf("without a launcher, required: %s", o.stdout)
		}
	})
}

func programDescribe() int {
	return inJob(mpi.Options{}, func(_ context.Context, rt *mpi.Runtime) error {
		w := rt.World()
		if w.Host() == "" || rt.Version() == "" {
			return wrongf("host %q, version %q", w.Host(), rt.Version())
		}
		fmt.Printf("rank %d of %d, local %d of %d, library %q, %v, any thread %t, joined %t\n",
			w.Rank(), w.Size(), rt.LocalRank(), len(rt.Peers()), rt.Library(), rt.Level(), w.AnyThread(), rt.Joined())
		return nil
	})
}

// TestRefused is about launchers and libraries that cannot work together.
func TestRefused(t *testing.T) {
	refused := func(o outcome, words ...string) {
		t.Helper()
		if o.status != mpi.ExitInit {
			t.Errorf("status %d, want %d\n%s%s", o.status, mpi.ExitInit, o.stdout, o.stderr)
		}
		for _, w := range words {
			if !strings.Contains(o.stderr, w) {
				t.Errorf("%q is missing in the message\n%s", w, o.stderr)
			}
		}
	}
	refused(alone(t, "describe", "HATAORI_MPI_LIB=/nonexistent/libmpi.so.40"), "no MPI library", "HATAORI_MPI_LIB=/nonexistent/libmpi.so.40", "unset it")
	refused(alone(t, "describe", "HATAORI_MPI_LIB=libc.so.6"), "not a library of MPI 3.0", "libc.so.6")
	refused(alone(t, "describe", "HATAORI_MPI=perhaps"), `HATAORI_MPI="perhaps"`, "off, auto or required")
	refused(alone(t, "describe", "OMPI_COMM_WORLD_SIZE=many"), "OMPI_COMM_WORLD_SIZE=many")
	refused(alone(t, "describe", "HATAORI_MPI=off", "PMI_SIZE=4"), "do not belong together", "PMI_SIZE=4", "HATAORI_MPI=off")
	refused(alone(t, "describe", "SLURM_STEP_NUM_TASKS=4"), "SLURM_STEP_NUM_TASKS=4", "--mpi=pmix")
	for i, l := range launchers {
		t.Run(l.name, func(t *testing.T) {
			l.find(t)
			other := launchers[1-i]
			other.find(t)
			o := l.job(t, 2, "describe", "HATAORI_MPI_LIB="+other.library)
			refused(o, "do not belong together", other.library)
			if o := alone(t, "describe", "HATAORI_MPI=off"); o.status != 0 {
				t.Errorf("off without a launcher: status %d\n%s", o.status, o.stderr)
			}
		})
	}
	t.Run("sizes disagree", func(t *testing.T) {
		launchers[0].find(t)
		// As srun without the library's own PMI, and an Open MPI that
		// therefore takes itself for alone.
		o := alone(t, "describe", "SLURM_STEP_NUM_TASKS=4", "PMI_RANK=0", "HATAORI_MPI_LIB="+launchers[0].library)
		refused(o, "do not belong together", "the launcher started 4 ranks", "sees one", "SLURM_STEP_NUM_TASKS=4")
	})
}

func TestOptions(t *testing.T) {
	for _, o := range []mpi.Options{{PieceLimit: 1}, {PieceLimit: 1 << 31}, {PieceLimit: -5}, {Level: 7}, {Level: -1}, {Lanes: -1}, {Lanes: 1 << 40}, {Lanes: 1, ThreadsPerLane: 1 << 60}} {
		_, err := mpi.Init(o)
		var e *mpi.InitError
		if !errors.Is(err, mpi.ErrSetting) || !errors.As(err, &e) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	_, err := mpi.Init(mpi.Options{PieceLimit: 1, Lanes: -1})
	if err == nil || !strings.Contains(err.Error(), "PieceLimit") || !strings.Contains(err.Error(), "lanes") {
		t.Errorf("not all faults are reported: %v", err)
	}
}

func TestMisuse(t *testing.T) {
	each(t, func(t *testing.T, l launcher) { l.job(t, 2, "misuse").ok(t) })
	alone(t, "misuse").ok(t)
}

func programMisuse() int {
	rt, err := mpi.Init(mpi.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	w := rt.World()
	fail := func(what string, err error) int {
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
		return 1
	}
	d, err := w.Dup()
	if err != nil {
		return fail("Dup", err)
	}
	r, err := d.Irecv(make([]byte, 8), d.Rank(), 0)
	if err != nil {
		return fail("Irecv", err)
	}
	if w.Size() > 1 { // a world without a library has nothing to lose
		if err := d.Free(); !errors.Is(err, mpi.ErrBusy) {
			return fail("Free with a request in flight", err)
		}
		if err := rt.Finalize(); !errors.Is(err, mpi.ErrBusy) {
			return fail("Finalize with a request in flight", err)
		}
	}
	if err := r.Cancel(); err != nil {
		return fail("Cancel", err)
	}
	for done := false; !done; {
		if done, _, err = r.Test(); err != nil {
			return fail("Test", err)
		}
	}
	if _, _, err := r.Test(); !errors.Is(err, mpi.ErrEnded) {
		return fail("Test after the end", err)
	}
	if err := r.Cancel(); !errors.Is(err, mpi.ErrEnded) {
		return fail("Cancel after the end", err)
	}
	open, err := d.Dup()
	if err != nil {
		return fail("Dup", err)
	}
	if err := rt.Finalize(); err != nil {
		return fail("Finalize", err)
	}
	for _, c := range []*mpi.Comm{w, d, open, rt.Self()} {
		if _, err := c.Isend(nil, 0, 0); !errors.Is(err, transport.ErrFreed) {
			return fail("Isend after Finalize", err)
		}
		if err := c.Free(); !errors.Is(err, transport.ErrFreed) {
			return fail("Free after Finalize", err)
		}
	}
	if rt.Library() != "" {
		if _, err := mpi.Init(mpi.Options{}); !errors.Is(err, transport.ErrFreed) {
			return fail("Init after Finalize", err)
		}
	}
	return 0
}

func TestFunneled(t *testing.T) {
	each(t, func(t *testing.T, l launcher) { l.job(t, 2, "funneled").ok(t) })
}

// programFunneled asks for less than it could get. Calls from another thread
// are refused, calls from the right one pass the suite.
func programFunneled() int {
	return inJob(mpi.Options{Level: mpi.ThreadFunneled}, func(_ context.Context, rt *mpi.Runtime) error {
		w := rt.World()
		if rt.Level() != mpi.ThreadFunneled {
			return nil // the library grants more than it was asked for
		}
		if w.AnyThread() {
			return wrongf("AnyThread() = true at %v", rt.Level())
		}
		errs := make(chan error)
		go func() {
			runtime.LockOSThread()
			_, _, err := w.Iprobe(0, 0)
			errs <- err
		}()
		if err := <-errs; !errors.Is(err, mpi.ErrWrongThread) {
			return wrongf("Iprobe from another thread: %v", err)
		}
		return mpitest.Check(w)
	})
}

func TestJoin(t *testing.T) {
	each(t, func(t *testing.T, l launcher) { l.job(t, 2, "join").ok(t) })
}

// programJoin initialises twice: the second Runtime joins the first.
func programJoin() int {
	return inJob(mpi.Options{}, func(ctx context.Context, rt *mpi.Runtime) error {
		second, err := mpi.Init(mpi.Options{})
		if err != nil {
			return err
		}
		if !second.Joined() || second.World().Size() != rt.World().Size() {
			return wrongf("joined %t, size %d", second.Joined(), second.World().Size())
		}
		if err := mpitest.Check(second.World()); err != nil {
			return err
		}
		if err := second.Finalize(); err != nil {
			return err
		}
		if _, err := second.World().Ibarrier(); !errors.Is(err, transport.ErrFreed) {
			return wrongf("Ibarrier after the second Finalize: %v", err)
		}
		return rt.World().Barrier(ctx)
	})
}

func TestChildEnv(t *testing.T) {
	each(t, func(t *testing.T, l launcher) { l.job(t, 2, "child").ok(t) })
}

// programChild starts a child that would take itself for a rank if it saw the
// launcher's variables, and one that uses MPI itself.
func programChild() int {
	return inJob(mpi.Options{}, func(ctx context.Context, rt *mpi.Runtime) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, self)
		cmd.Env = append(mpi.ChildEnv(), programVariable+"=describe")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "rank 0 of 1") {
			return wrongf("child: %v, %s", err, out)
		}
		return rt.World().Barrier(ctx)
	})
}

func TestWarnings(t *testing.T) {
	o := alone(t, "warn", "GOMAXPROCS=2")
	if o.status != 0 || !strings.Contains(o.stderr, "more threads than processors") || !strings.Contains(o.stderr, "GOMAXPROCS=1001") {
		t.Errorf("status %d, stderr %s", o.status, o.stderr)
	}
	l := launchers[0]
	l.find(t)
	o = l.job(t, 1, "warn", "GOMAXPROCS=2")
	if o.status != 0 || !strings.Contains(o.stderr, "--bind-to none") || !strings.Contains(o.stderr, "slot:PE=1000") {
		t.Errorf("status %d, stderr %s", o.status, o.stderr)
	}
}

// Open MPI's default binding gives each of one or two ranks a single core, however
// many the machine has.
func TestDefaultBindingIsSaid(t *testing.T) {
	l := launchers[0]
	l.find(t)
	if runtime.NumCPU() < 2 {
		t.Skip("a machine of one processor, which every binding gives")
	}
	l.flags = nil
	for _, ranks := range []int{1, 2} {
		o := l.job(t, ranks, "warn", "HATAORI_TEST_LANES=2", "OMPI_MCA_rmaps_base_oversubscribe=0")
		if n := strings.Count(o.stderr, "processors=1 hint=\"start with mpirun --bind-to none"); o.status != 0 || n != ranks {
			t.Errorf("%d ranks: status %d, said %d times: %s", ranks, o.status, n, o.stderr)
		}
	}
}

func programWarn() int {
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	lanes := 1000
	if s := os.Getenv("HATAORI_TEST_LANES"); s != "" {
		lanes, _ = strconv.Atoi(s)
	}
	return inJob(mpi.Options{Lanes: lanes, Logger: logger}, func(context.Context, *mpi.Runtime) error { return nil })
}

// What Open MPI's launcher says itself when it will not start a job: the page of
// symptoms quotes it.
func TestOpenMPIStartsNothing(t *testing.T) {
	l := launchers[0]
	l.find(t)
	refused := func(unset string, n int, words string) {
		t.Helper()
		o := start(t, nil, nil, "env", "-u", unset, l.command, "-n", strconv.Itoa(n), "true")
		if o.status == 0 || !strings.Contains(o.stderr+o.stdout, words) {
			t.Errorf("%d ranks without %s: status %d, want %q in\n%s%s", n, unset, o.status, words, o.stdout, o.stderr)
		}
	}
	refused("OMPI_MCA_rmaps_base_oversubscribe", 100000, "There are not enough slots available")
	if os.Geteuid() == 0 {
		refused("OMPI_ALLOW_RUN_AS_ROOT", 1, "detected an attempt to run as root")
	}
}
