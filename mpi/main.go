package mpi

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hataori/hataori-go/internal/where"
)

// Exit statuses of a [Program]. A program ended by signal n has status 128 + n.
// All ranks end with the same status, the highest of any rank.
const (
	ExitOK        = 0 // every rank returned nil
	ExitError     = 1 // some rank returned an error, and all have returned
	ExitInit      = 2 // Init failed
	ExitPanic     = 3 // some rank panicked: the job was aborted
	ExitAbandoned = 4 // some rank returned an error and others did not return, or the launcher has ended: the job was aborted

	signalStatus = 128
)

// Program says how Run treats the process. The zero value is the default.
type Program struct {
	Options

	// Grace is how long a rank that has failed waits for the others to return
	// too, before it aborts the job. 0 means 10 s.
	Grace time.Duration

	// Signals end the program: the first cancels the context, a second one
	// aborts the job. nil means SIGINT, SIGTERM and SIGUSR1, which batch
	// systems send before a time limit.
	Signals []os.Signal

	// Orphan lets the rank go on when its launcher has ended. By default it
	// then cancels the context and leaves, see [ErrOrphaned].
	Orphan bool

	// Stderr gets the messages. nil means os.Stderr.
	Stderr io.Writer

	// Details is the flag by which the user of the program asks for everything
	// about an error, as "-v", and Verbose says that the user gave it. See
	// [Program.Text]. With Details empty everything is told.
	Details string
	Verbose bool
}

// SignalError is the cause of a context that Run cancelled.
type SignalError struct{ Signal os.Signal }

func (e *SignalError) Error() string { return "signal: " + e.Signal.String() }

// Main runs f on every rank as [Program.Run] does, with the default options,
// and ends the process. It is for main functions:
//
//	func main() { mpi.Main(run) }
//
//	func run(ctx context.Context, rt *mpi.Runtime) error { … }
//
// A program that has options writes os.Exit(mpi.Program{…}.Run(run)).
func Main(f func(ctx context.Context, rt *Runtime) error) {
	os.Exit(Program{}.Run(f))
}

// Run initialises MPI, calls f on this goroutine and ends MPI. It returns the
// exit status of the process. It
//
//   - raises GOMAXPROCS to Lanes + 1, or without Lanes sets it to one more than the
//     rank's share of its host's processors ([Runtime.Lanes]), unless the
//     environment sets it;
//   - cancels ctx, with a *SignalError as cause, at the first of the Signals;
//   - cancels ctx, with ErrOrphaned as cause, when the launcher, or a shell
//     between the launcher and this process, has ended, and ends the process some
//     seconds later if it has not ended by itself;
//   - when f returned an error on this rank, waits for the other ranks: a message
//     that is the same on all failing ranks is printed once, as [Program.Text],
//     and all ranks end with the same status; if others do not return within
//     Grace, prints the error and aborts the job, so that nobody waits for ever;
//   - when f panicked (or called runtime.Goexit), prints the function, file and line
//     of the program's own where it did, the value and the stack, and aborts the job.
//
// After a signal the status is 128 + n even if f returned nil, because f may
// have stopped before its work was done. Under Hydra, the mpiexec of MPICH, the
// ranks then end by MPI_Abort: it would report 0 now and then otherwise.
//
// Run is for the top of a program: it ends the process itself when it aborts.
func (p Program) Run(f func(ctx context.Context, rt *Runtime) error) int {
	if p.Grace <= 0 {
		p.Grace = 10 * time.Second
	}
	if p.Signals == nil {
		p.Signals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGUSR1}
	}
	if p.Stderr == nil {
		p.Stderr = os.Stderr
	} else {
		p.Stderr = sureWriter{p.Stderr}
	}
	p.raiseProcs()
	rt, err := Init(p.Options)
	if err != nil {
		var ie *InitError
		if task := os.Getenv("SLURM_PROCID"); task == "" || task == "0" || !errors.As(err, &ie) || !ie.everywhere {
			fmt.Fprintln(p.Stderr, p.Text(err))
		}
		return ExitInit
	}
	if p.Lanes == 0 && len(rt.peers) > 1 && os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(rt.Lanes(1) + 1)
	}
	pr := &process{Program: p, rt: rt, lineage: findLineage()}
	if pr.settleComm, err = rt.World().Dup(); err != nil {
		fmt.Fprintln(p.Stderr, p.Text(err))
		return ExitInit
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	stopSignals, stopLauncher := pr.watchSignals(cancel), pr.watchLauncher(cancel)
	err = sound(pr.guard(ctx, f))
	cancel(nil)
	code := pr.settle(err, pr.signalled())
	code = pr.finish(code)
	stopLauncher()
	stopSignals()
	return code
}

// Text is what Run prints of an error: the text, whose first line ends with what to
// do, if the error, or one that it wraps, gives that by a method Advice() string, and
// the stack that one gives by a method Trace() string. If Details are left for a flag
// that was not given, it is the first line, which ends with the flag if something was
// left out.
func (p Program) Text(err error) string {
	err = sound(err)
	text, stack := err.Error(), ""
	var traced tracer
	if errors.As(err, &traced) {
		stack = traced.Trace()
	}
	line, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	var advised adviser
	if errors.As(err, &advised) && advised.Advice() != "" {
		line += "; " + advised.Advice()
	}
	if p.Details == "" || p.Verbose {
		if rest != "" {
			line += "\n" + rest
		}
		if stack != "" {
			line += "\n\n" + stack
		}
		return line
	}
	if rest != "" || stack != "" {
		line += " (" + p.Details + " shows the rest)"
	}
	return line
}

// raiseProcs leaves a thread for communication beside the lanes.
func (p Program) raiseProcs() {
	lanes := p.Lanes
	if lanes <= 0 {
		lanes = allowedCPUs()
	}
	lanes = min(lanes, maxLanes) // Init refuses more
	if os.Getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) < lanes+1 {
		runtime.GOMAXPROCS(lanes + 1)
	}
}

// process is one run of a Program.
type process struct {
	Program
	rt         *Runtime
	settleComm *Comm
	lineage    lineage

	mu  sync.Mutex
	got syscall.Signal // first signal, 0 if none
}

func (p *process) signalled() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(p.got)
}

// watchSignals starts the goroutine that turns signals into cancellation, and
// returns a function that ends it.
func (p *process) watchSignals(cancel context.CancelCauseFunc) (stop func()) {
	c := make(chan os.Signal, 4)
	signal.Notify(c, p.Signals...)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for sig := range c {
			n, _ := sig.(syscall.Signal)
			p.mu.Lock()
			second := p.got != 0
			if !second {
				p.got = n
			}
			p.mu.Unlock()
			if second {
				p.say("%v again: ending the job", sig)
				p.abortInTurn(signalStatus + int(n))
			}
			cancel(&SignalError{sig})
		}
	}()
	return func() {
		signal.Stop(c)
		close(c)
		<-done
	}
}

// say prints a line that names this rank.
func (p *process) say(format string, args ...any) {
	w := p.rt.World()
	prefix := ""
	if w.Size() > 1 {
		prefix = fmt.Sprintf("rank %d (%s): ", w.Rank(), w.Host())
	}
	fmt.Fprintf(p.Stderr, prefix+format+"\n", args...)
}

// abort ends the job after something was said. Launchers (Hydra at least) drop
// what they have not read from a rank by the time at which it aborts the job.
func (p *process) abort(status int) {
	time.Sleep(100 * time.Millisecond)
	p.rt.World().Abort(status)
}

// abortInTurn is abort where other ranks are about to abort the job, too: the
// lower ones first, because the mpirun of Open MPI 4.1 may crash when two do so
// at once.
func (p *process) abortInTurn(status int) {
	time.Sleep(time.Duration(min(p.rt.World().Rank(), 10)) * 200 * time.Millisecond)
	p.abort(status)
}

// guard calls f and aborts the job if it does not return.
func (p *process) guard(ctx context.Context, f func(context.Context, *Runtime) error) (err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil {
			v = "runtime.Goexit was called"
		}
		stack := string(debug.Stack())
		p.say("panic%s: %v\n\n%s", where.In(stack), v, stack)
		p.abort(ExitPanic)
	}()
	err = f(ctx, p.rt)
	returned = true
	return err
}

// settle agrees with the other ranks on an exit status and prints the errors.
func (p *process) settle(err error, sig int) int {
	code := ExitOK
	if err != nil {
		code = ExitError
	}
	if sig != 0 {
		code = signalStatus + sig
	}
	w := p.settleComm
	if err == nil && sig != 0 {
		err = &SignalError{syscall.Signal(sig)}
	}
	// The minimum over ranks of: -code, lowest failing rank, and least and
	// greatest hash of a message, to see whether all are the same.
	const none = math.MaxInt64
	send := []int64{-int64(code), none, none, none}
	if err != nil {
		h := fnv.New64a()
		io.WriteString(h, err.Error())
		sum := int64(h.Sum64() >> 2)
		send = []int64{-int64(code), int64(w.Rank()), sum, -sum}
	}
	recv := make([]int64, len(send))
	if !p.agree(send, recv, err != nil) {
		p.say("%s", p.Text(err))
		p.say("other ranks have not returned after %v: ending the job", p.Grace)
		p.abortInTurn(max(code, ExitAbandoned))
	}
	if err != nil {
		same := recv[2] == -recv[3]
		switch {
		case same && int64(w.Rank()) == recv[1]:
			fmt.Fprintln(p.Stderr, p.Text(err))
		case !same:
			p.say("%s", p.Text(err))
		}
	}
	if recv[0] != 0 {
		// The first rank that ends may end the job: not before all have spoken.
		// One that does not come to this within Grace has said what it could.
		p.agree(make([]int64, 1), make([]int64, 1), true)
	}
	return int(-recv[0])
}

// agree reduces over all ranks. It waits as long as the others work, or, if
// limited, says false when they do not come within Grace.
func (p *process) agree(send, recv []int64, limited bool) bool {
	r, startErr := p.settleComm.Iallreduce(send, recv, Min)
	if startErr != nil {
		p.say("%v", startErr)
		return false
	}
	end := time.Now().Add(p.Grace)
	for idle := (ladder{}); ; idle.wait() {
		done, _, testErr := r.Test()
		switch {
		case testErr != nil:
			p.say("%v", testErr)
			return false
		case done:
			return true
		case limited && time.Now().After(end):
			return false
		}
	}
}

// finish ends MPI. All ranks come here together, so that Finalize does not wait
// long; if it does, the process ends without it.
func (p *process) finish(code int) int {
	if !p.lineage.whole() && !p.Orphan {
		exitProcess(code) // the library would wait for the launcher
	}
	if code > signalStatus && underHydra() {
		p.abortInTurn(code)
	}
	watchdog := time.AfterFunc(p.Grace, func() { exitProcess(code) })
	defer watchdog.Stop()
	err := p.settleComm.Free()
	if err == nil {
		err = p.rt.Finalize()
	}
	if err != nil {
		// Requests left in flight: the library cannot be ended in good order.
		if code == ExitOK {
			p.say("%v", err)
			code = ExitError
		}
		p.abortInTurn(code)
	}
	return code
}

func exitProcess(status int) { os.Exit(status) }
