package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hataori/hataori-go/mpi"
)

func noMap() map[string]int { return nil }

// programMain does what the variable HATAORI_TEST_DO says.
func programMain() int {
	p := mpi.Program{Grace: 2 * time.Second}
	if os.Getenv("HATAORI_TEST_DO") == "slow speaker" {
		p.Stderr = slowWriter{}
	}
	switch os.Getenv("HATAORI_TEST_DO") {
	case "broken writer":
		p.Stderr = brokenWriter{}
	case "broken logger":
		p.Lanes, p.Logger = 64, slog.New(brokenHandler{})
	case "error in lines":
		p.Verbose = true
		fallthrough
	case "error in a line":
		p.Details = "-v"
	}
	return p.Run(func(ctx context.Context, rt *mpi.Runtime) error {
		w := rt.World()
		last := w.Rank() == w.Size()-1
		switch do := os.Getenv("HATAORI_TEST_DO"); do {
		case "procs":
			fmt.Printf("rank %d has %d for %d\n", w.Rank(), runtime.GOMAXPROCS(0), len(rt.Peers()))
			return nil
		case "succeed":
			if last {
				time.Sleep(3 * time.Second) // longer than Grace: nobody has failed
			}
			return nil
		case "same error", "broken writer":
			return errors.New("item 7: singular matrix")
		case "traced error":
			return fmt.Errorf("on the way: %w", tracedError{})
		case "error in a line", "error in lines":
			return fmt.Errorf("on the way: %w\nand much more", tracedError{})
		case "own errors":
			return fmt.Errorf("rank %d cannot read its file", w.Rank())
		case "one fails, others wait":
			if last {
				return errors.New("disk full")
			}
			return w.Barrier(ctx)
		case "one fails, others return":
			if last {
				return errors.New("disk full")
			}
			return nil
		case "panic":
			if last {
				noMap()["x"] = 1
			}
			return w.Barrier(ctx)
		case "goexit":
			if last {
				runtime.Goexit()
			}
			return w.Barrier(ctx)
		case "abort 0":
			if last {
				w.Abort(0)
			}
			return w.Barrier(ctx)
		case "abort 256":
			if last {
				w.Abort(256)
			}
			return w.Barrier(ctx)
		case "nil pointer":
			return (*os.PathError)(nil)
		case "error that panics":
			if last {
				return panickyError{}
			}
			return nil
		case "error that goes":
			return goingError{}
		case "bad trace":
			return badTrace{}
		case "busy":
			_, err := w.Irecv(make([]byte, 1), w.Rank(), 0)
			return err
		case "slow speaker":
			// Rank 0 speaks for all; the others cannot end in good order.
			if last {
				if _, err := w.Irecv(make([]byte, 1), w.Rank(), 0); err != nil {
					return err
				}
			}
			return errors.New("item 7: singular matrix")
		case "wait":
			fmt.Println("ready")
			<-ctx.Done()
			var sig *mpi.SignalError
			if cause := context.Cause(ctx); !errors.As(cause, &sig) {
				return cause
			}
			return nil
		case "ignore":
			fmt.Println("ready")
			<-ctx.Done()
			fmt.Println("cancelled")
			select {}
		default:
			return fmt.Errorf("HATAORI_TEST_DO=%q", do)
		}
	})
}

// tracedError knows where it was made.
type tracedError struct{}

func (tracedError) Error() string { return "nil map" }
func (tracedError) Trace() string { return "main.go:17" }

func (tracedError) Advice() string { return "make the map" }

// panickyError, goingError and badTrace are errors that are not to be asked.
type (
	panickyError struct{}
	goingError   struct{}
	badTrace     struct{}
)

func (panickyError) Error() string { panic("no text") }
func (goingError) Error() string   { runtime.Goexit(); return "" }
func (badTrace) Error() string     { return "text" }
func (badTrace) Trace() string     { panic("no trace") }

// brokenWriter does not take what is written.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { panic("no pipe") }

// brokenHandler does not take what is logged.
type brokenHandler struct{ slog.Handler }

func (brokenHandler) Enabled(context.Context, slog.Level) bool { panic("no log") }

// slowWriter takes its time to write to stderr.
type slowWriter struct{}

func (slowWriter) Write(p []byte) (int, error) {
	time.Sleep(time.Second)
	return os.Stderr.Write(p)
}

func TestMainStatus(t *testing.T) {
	for _, k := range []struct {
		do     string
		status int
		says   string
		times  int // that it is said, 0 for at least once
	}{
		{"succeed", 0, "", 0},
		{"same error", mpi.ExitError, "item 7: singular matrix", 1},
		{"traced error", mpi.ExitError, "on the way: nil map; make the map\n\nmain.go:17", 1},
		{"error in a line", mpi.ExitError, "on the way: nil map; make the map (-v shows the rest)\n", 1},
		{"error in lines", mpi.ExitError, "on the way: nil map; make the map\nand much more\n\nmain.go:17\n", 1},
		{"slow speaker", mpi.ExitError, "item 7: singular matrix", 1},
		{"own errors", mpi.ExitError, "rank 0 cannot read its file", 1},
		{"own errors", mpi.ExitError, "rank 1 cannot read its file", 1},
		{"one fails, others wait", mpi.ExitAbandoned, "disk full", 1},
		{"one fails, others return", mpi.ExitError, "disk full", 1},
		{"panic", mpi.ExitPanic, "assignment to entry in nil map", 1},
		{"panic", mpi.ExitPanic, "panic in github.com/hataori/hataori-go/mpi_test.", 1},
		{"panic", mpi.ExitPanic, "(main_test.go:", 1},
		{"goexit", mpi.ExitPanic, "runtime.Goexit was called", 1},
		{"abort 0", 1, "", 0},
		{"abort 256", 1, "", 0},
		{"nil pointer", mpi.ExitError, "error of type *fs.PathError, which cannot be asked for its text (panic: ", 1},
		{"error that panics", mpi.ExitError, "error of type mpi_test.panickyError, which cannot be asked for its text (panic: no text)", 1},
		{"error that goes", mpi.ExitError, "error of type mpi_test.goingError, which cannot be asked for its text (runtime.Goexit was called)", 1},
		{"bad trace", mpi.ExitError, "which cannot be asked for its text (panic: no trace)", 1},
		{"broken writer", mpi.ExitError, "item 7: singular matrix", 1},
		{"broken logger", mpi.ExitInit, "Options.Logger did not return: panic: no log", 0},
		{"busy", mpi.ExitError, "requests in flight", 0},
	} {
		each(t, func(t *testing.T, l launcher) {
			t.Parallel() // most of it is waiting for launchers
			t.Run(k.do, func(t *testing.T) {
				o := l.job(t, 2, "main", "HATAORI_TEST_DO="+k.do)
				if o.status != k.status || !strings.Contains(o.stderr, k.says) {
					t.Errorf("status %d, want %d and %q\n%s%s", o.status, k.status, k.says, o.stdout, o.stderr)
				}
				if n := strings.Count(o.stderr, k.says); k.times > 0 && n != k.times {
					t.Errorf("%q is said %d times\n%s", k.says, n, o.stderr)
				}
				if k.status == 0 && o.stderr != "" {
					t.Errorf("success is not silent: %s", o.stderr)
				}
			})
		})
	}
	o := alone(t, "main", "HATAORI_TEST_DO=panic")
	if o.status != mpi.ExitPanic || !strings.Contains(o.stderr, "nil map") {
		t.Errorf("panic without a launcher: status %d\n%s", o.status, o.stderr)
	}
	o = alone(t, "main", "HATAORI_TEST_DO=same error")
	if o.status != mpi.ExitError || o.stderr != "item 7: singular matrix\n" {
		t.Errorf("error without a launcher: status %d\n%s", o.status, o.stderr)
	}
}

// TestMainSignal ends a program by a signal, without a launcher in between,
// which would add habits of its own.
func TestMainSignal(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	until := func(b *syncBuffer, what string) {
		t.Helper()
		for end := time.Now().Add(jobLimit / 2); !strings.Contains(b.String(), what); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%q does not come: %s", what, b.String())
			}
		}
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGUSR1} {
		env := []string{programVariable + "=main", "HATAORI_TEST_DO=wait"}
		o := start(t, env, func(p *os.Process, out *syncBuffer) {
			until(out, "ready")
			p.Signal(sig)
		}, self)
		if o.status != 128+int(sig) || !strings.Contains(o.stderr, "signal: "+sig.String()) {
			t.Errorf("%v: status %d\n%s", sig, o.status, o.stderr)
		}
	}
	env := []string{programVariable + "=main", "HATAORI_TEST_DO=ignore"}
	o := start(t, env, func(p *os.Process, out *syncBuffer) {
		until(out, "ready")
		p.Signal(syscall.SIGTERM)
		until(out, "cancelled")
		p.Signal(syscall.SIGTERM)
	}, self)
	if o.status != 128+int(syscall.SIGTERM) || !strings.Contains(o.stderr, "again") {
		t.Errorf("second signal: status %d\n%s", o.status, o.stderr)
	}
}

// TestSignals checks that after Init Go programs get signals as before.
func TestSignals(t *testing.T) {
	each(t, func(t *testing.T, l launcher) {
		o := l.job(t, 2, "signals")
		o.ok(t)
		if strings.Count(o.stdout, "all signals came, nil dereference recovered") != 2 {
			t.Errorf("stdout: %s", o.stdout)
		}
	})
}

func programSignals() int {
	rt, err := mpi.Init(mpi.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGURG} {
		c := make(chan os.Signal, 10)
		signal.Notify(c, sig)
		if err := syscall.Kill(os.Getpid(), sig); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		select {
		case <-c:
		case <-time.After(30 * time.Second):
			fmt.Fprintln(os.Stderr, sig, "does not arrive")
			return 1
		}
	}
	if !recovers() {
		fmt.Fprintln(os.Stderr, "no panic")
		return 1
	}
	if err := rt.Finalize(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("all signals came, nil dereference recovered")
	return 0
}

//go:noinline
func read(p *int) int { return *p }

func recovers() (ok bool) {
	defer func() {
		_, ok = recover().(runtime.Error)
	}()
	read(nil)
	return false
}

// programAbandoned leaves a request behind and lets the garbage collector run
// while the message comes: the buffer must still be there.
func programAbandoned() int {
	return inJob(mpi.Options{}, func(ctx context.Context, rt *mpi.Runtime) error {
		w := rt.World()
		next, prev := (w.Rank()+1)%w.Size(), (w.Rank()+w.Size()-1)%w.Size()
		func() {
			gone, cancel := context.WithCancel(ctx)
			cancel()
			w.Send(gone, make([]byte, 1<<20), next, 0) // given up at once
		}()
		for range 5 {
			runtime.GC()
			_ = make([][]byte, 1000)
		}
		p, _, err := w.RecvBytes(ctx, prev, 0)
		if err != nil {
			return err
		}
		for i, b := range p {
			if b != 0 {
				return wrongf("byte %d of a message given up is %d", i, b)
			}
		}
		return w.Barrier(ctx)
	})
}

func TestAbandonedSend(t *testing.T) {
	each(t, func(t *testing.T, l launcher) { l.job(t, 2, "abandoned").ok(t) })
}

// Ranks of a host that say no lanes get GOMAXPROCS for their share of its processors,
// and one for communication, but for what the environment says.
func TestMainSharesProcessors(t *testing.T) {
	each(t, func(t *testing.T, l launcher) {
		share := max(runtime.NumCPU()/2, 1)
		for procs, env := range map[int]string{share + 1: "GOMAXPROCS=", share + 5: fmt.Sprintf("GOMAXPROCS=%d", share+5)} {
			o := l.job(t, 2, "main", "HATAORI_TEST_DO=procs", env)
			for rank := range 2 {
				if want := fmt.Sprintf("rank %d has %d for 2", rank, procs); o.status != 0 || !strings.Contains(o.stdout, want) {
					t.Errorf("%s: status %d, %s%s", env, o.status, o.stdout, o.stderr)
				}
			}
		}
	})
}
