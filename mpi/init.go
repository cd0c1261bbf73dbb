package mpi

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"time"
)

// ThreadLevel is what an MPI library allows threads to do.
type ThreadLevel int

// The levels, in rising order.
const (
	ThreadSingle     ThreadLevel = iota // one thread only: refused
	ThreadFunneled                      // only the thread that initialised it calls MPI
	ThreadSerialized                    // any thread, one at a time
	ThreadMultiple                      // any thread, at any time
)

func (t ThreadLevel) String() string {
	switch t {
	case ThreadSingle:
		return "MPI_THREAD_SINGLE"
	case ThreadFunneled:
		return "MPI_THREAD_FUNNELED"
	case ThreadSerialized:
		return "MPI_THREAD_SERIALIZED"
	case ThreadMultiple:
		return "MPI_THREAD_MULTIPLE"
	}
	return fmt.Sprintf("ThreadLevel(%d)", int(t))
}

// Options of Init. The zero value is the default.
type Options struct {
	// Logger gets warnings about settings that cost speed. nil means none. If its
	// handler panics Init returns an error, with which the process is to end.
	Logger *slog.Logger

	// Lanes is the number of goroutines that will compute on this rank, and
	// ThreadsPerLane the threads each of them uses. They serve warnings only.
	// 0 lanes means no warning, 0 threads means 1; at most 4096 of each.
	Lanes, ThreadsPerLane int

	// PieceLimit is the number of bytes above which a message travels in
	// pieces, 64 ≤ PieceLimit ≤ 1 GiB. 0 means 1 GiB. The smallest
	// value of all ranks holds.
	PieceLimit int

	// Level is the thread level to ask for. 0 means ThreadSerialized. At least
	// ThreadFunneled must be granted.
	Level ThreadLevel

	// KeepSignals leaves signal handlers as the library sets them. By default
	// Go's are put back, see docs/process.md.
	KeepSignals bool
}

const (
	maxPiece = 1 << 30
	minPiece = 64
	maxLanes = 4096 // and threads of each
)

func (o Options) check() (Options, error) {
	if o.ThreadsPerLane == 0 {
		o.ThreadsPerLane = 1
	}
	if o.PieceLimit == 0 {
		o.PieceLimit = maxPiece
	}
	if o.Level == 0 {
		o.Level = ThreadSerialized
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	fault := ""
	if o.Lanes < 0 || o.Lanes > maxLanes || o.ThreadsPerLane < 0 || o.ThreadsPerLane > maxLanes {
		fault += fmt.Sprintf("%d lanes of %d threads, of each 0 to %d are possible; ", o.Lanes, o.ThreadsPerLane, maxLanes)
	}
	if o.PieceLimit < minPiece || o.PieceLimit > maxPiece {
		fault += fmt.Sprintf("PieceLimit %d is outside %d..%d; ", o.PieceLimit, minPiece, maxPiece)
	}
	if o.Level < ThreadFunneled || o.Level > ThreadMultiple {
		fault += fmt.Sprintf("Level %v; ", o.Level)
	}
	if fault != "" {
		return o, &InitError{Err: ErrSetting, Detail: "Options: " + fault[:len(fault)-2]}
	}
	return o, nil
}

// Runtime is MPI in this process, from Init to Finalize.
type Runtime struct {
	lib     *library // nil for a world of one without a library
	opts    Options
	joined  bool // somebody else initialised the library and will end it
	version string
	world   *Comm
	self    *Comm
	peers   []int // world ranks on this host, rising

	hostCPUs int // processors that these may use, together
	by       launcher
	local    int  // place of this rank among them
	ended    bool // guarded by the gate
}

// Init finds out how the process was started, loads the MPI library that
// belongs to the launcher and initialises it. It is collective. Without a
// launcher the world has one rank, and no library is loaded.
//
// HATAORI_MPI=off|auto|required says whether MPI is wanted: off never loads a
// library, required loads one without a launcher too; auto is the default.
// HATAORI_MPI_LIB names the library. A library that the process already holds
// is used in any case, and joined if it is already initialised: Finalize then
// leaves it running.
//
// A launcher that says more than one rank while the library (or HATAORI_MPI=off)
// says one is an error. All errors are of type *[InitError].
//
// Init may be called again while the library runs, by another component of the
// same program; it joins then.
func Init(opts Options) (*Runtime, error) {
	opts, err := opts.check()
	if err != nil {
		return nil, err
	}
	by, err := detect(os.Getenv)
	if err != nil {
		return nil, err
	}
	m, err := parseMode(os.Getenv("HATAORI_MPI"))
	if err != nil {
		return nil, err
	}
	gate.Lock()
	defer gate.Unlock()
	saved, err := saveSignals()
	if err != nil {
		return nil, &InitError{Err: err, Detail: "signal handlers cannot be read"}
	}
	lib, err := choose(m, os.Getenv("HATAORI_MPI_LIB"), by)
	if err != nil {
		return nil, err
	}
	rt := &Runtime{lib: lib, opts: opts}
	if lib == nil {
		rt.startAlone()
	} else if err := rt.start(by, saved); err != nil {
		return nil, err
	}
	rt.by = by
	if opts.Lanes > 0 {
		if err := rt.CheckLanes(opts.Lanes, opts.ThreadsPerLane); err != nil {
			return nil, err // without ending MPI, for which the other ranks would have to come
		}
	}
	return rt, nil
}

// choose returns the library to use, or nil for none.
func choose(m mode, named string, by launcher) (*library, error) {
	if m == modeOff {
		if by.size > 1 {
			return nil, &InitError{Err: ErrMismatch, Launcher: by.evidence, Detail: fmt.Sprintf("HATAORI_MPI=off, but the launcher started %d ranks", by.size),
				Hint: "unset HATAORI_MPI, or start one process without the launcher"}
		}
		return nil, nil
	}
	if lib, err := loaded(); lib != nil || err != nil {
		return lib, err
	}
	if by.bare && m != modeRequired && named == "" || by.bare && by.size > 1 {
		return nil, &InitError{Err: ErrMismatch, everywhere: true, Launcher: by.evidence, Detail: fmt.Sprintf("%d tasks were started without a process management interface", by.size),
			Hint: "start them with srun --mpi=pmix (Open MPI) or srun --mpi=pmi2 (MPICH); srun --mpi=list shows what there is"}
	}
	if m == modeAuto && !by.present() && named == "" {
		return nil, nil
	}
	return load(named, by)
}

func (rt *Runtime) startAlone() {
	rt.version = "none: one rank, no MPI library"
	rt.world = newSolo(hostname(), &rt.ended)
	rt.self = newSolo(hostname(), &rt.ended)
	rt.peers = []int{0}
	rt.hostCPUs = allowedCPUs()
}

// start initialises or joins the library. The gate is held.
func (rt *Runtime) start(by launcher, saved *savedSignals) error {
	lib := rt.lib
	fail := func(err error, detail, hint string) error {
		return &InitError{Err: err, Launcher: by.evidence, Library: lib.name, Detail: detail, Hint: hint}
	}
	runtime.LockOSThread() // given back below unless the level is FUNNELED
	if err := rt.enter(); err != nil {
		runtime.UnlockOSThread()
		return fail(err, "", "")
	}
	lib.live = true
	quit := func(err error) error {
		if !rt.joined {
			// The error at hand says more than one of Finalize's would.
			_ = lib.call(fnFinalize)
		}
		lib.live = rt.joined && lib.live
		runtime.UnlockOSThread()
		return err
	}
	if lib.level < ThreadFunneled {
		return quit(fail(ErrThreadLevel, lib.level.String()+" granted", "use a library built with thread support, or initialise it with MPI_Init_thread"))
	}
	if lib.level == ThreadFunneled && rt.joined {
		if err := lib.call(fnIsThreadMain, lib.outAddr(0)); err != nil {
			return quit(fail(err, "", ""))
		}
		if lib.outInt(0) == 0 {
			return quit(fail(ErrWrongThread, "the library grants only "+lib.level.String(), "call Init on the thread that called MPI_Init"))
		}
	}
	if !rt.opts.KeepSignals {
		if err := saved.repair(); err != nil {
			return quit(fail(err, "", ""))
		}
	}
	if !rt.joined || lib.thread == 0 {
		lib.thread = threadID()
	}
	if lib.level >= ThreadSerialized {
		runtime.UnlockOSThread()
	}
	if err := rt.measure(by); err != nil {
		if lib.level >= ThreadSerialized {
			runtime.LockOSThread()
		}
		return quit(err)
	}
	return nil
}

// enter calls MPI_Init_thread unless that has been done.
func (rt *Runtime) enter() error {
	lib := rt.lib
	if err := lib.call(fnFinalized, lib.outAddr(0)); err != nil {
		return err
	}
	if lib.outInt(0) != 0 {
		return usedAfterEnd("Init", "MPI has been finalized in this process and cannot be initialised again")
	}
	if err := lib.call(fnInitialized, lib.outAddr(0)); err != nil {
		return err
	}
	rt.joined = lib.outInt(0) != 0
	var err error
	if rt.joined {
		err = lib.call(fnQueryThread, lib.outAddr(0))
	} else {
		err = lib.call(fnInitThread, 0, 0, num(int(rt.opts.Level)), lib.outAddr(0))
	}
	lib.level = ThreadLevel(lib.outInt(0))
	return err
}

// measure makes the communicators and reads what never changes.
func (rt *Runtime) measure(by launcher) error {
	lib := rt.lib
	wrap := func(err error) error {
		return &InitError{Err: err, Launcher: by.evidence, Library: lib.name}
	}
	if err := lib.call(fnLibraryVersion, lib.textAddr(), lib.outAddr(0)); err != nil {
		return wrap(err)
	}
	rt.version = oneLine(fmt.Errorf("%s", lib.cText(lib.outInt(0))))
	if err := lib.call(fnProcessorName, lib.textAddr(), lib.outAddr(0)); err != nil {
		return wrap(err)
	}
	host := lib.cText(lib.outInt(0))
	root, err := newComm(lib, lib.abi.commWorld, host, rt.opts.PieceLimit)
	if err == nil && !rt.joined {
		err = lib.returnErrors(root.h)
	}
	if err != nil {
		return wrap(err)
	}
	if by.size > 1 && root.size == 1 {
		return &InitError{Err: ErrMismatch, Launcher: by.evidence, Library: lib.name,
			Detail: fmt.Sprintf("the launcher started %d ranks, but the library (%s) sees one", by.size, rt.version),
			Hint:   "start the program with the mpirun or mpiexec that belongs to the library (under Slurm: srun --mpi=pmix or --mpi=pmi2), or let HATAORI_MPI_LIB name the launcher's library"}
	}
	// From here on the gate is taken call by call.
	gate.Unlock()
	defer gate.Lock()
	if rt.world, err = root.Dup(); err != nil {
		return wrap(err)
	}
	rt.self = newSolo(host, &rt.ended)
	// All ranks must split long broadcasts in the same way.
	piece := []int64{int64(rt.opts.PieceLimit)}
	if err := rt.world.Allreduce(context.Background(), piece, Min); err != nil {
		return wrap(err)
	}
	rt.world.cut(int(piece[0]))
	if err := rt.findPeers(); err != nil {
		return wrap(err)
	}
	return nil
}

// findPeers learns which ranks share this host.
func (rt *Runtime) findPeers() error {
	lib, w := rt.lib, rt.world
	gate.Lock()
	err := lib.call(fnCommSplitType, w.h, num(lib.abi.typeShared), num(w.rank), lib.abi.infoNull, lib.outAddr(0))
	shared := lib.out[0]
	var node *Comm
	if err == nil {
		node, err = newComm(lib, shared, w.host, rt.opts.PieceLimit)
	}
	if err == nil {
		err = lib.returnErrors(node.h)
	}
	gate.Unlock()
	if err != nil {
		return err
	}
	ctx := context.Background()
	mask := allowedMask()
	if err := node.Allreduce(ctx, mask, Max); err != nil {
		return err
	}
	for _, allowed := range mask {
		rt.hostCPUs += int(allowed)
	}
	leader := []int64{int64(w.rank)}
	if err := node.Allreduce(ctx, leader, Min); err != nil {
		return err
	}
	leaders := make([]int64, w.size)
	leaders[w.rank] = leader[0]
	if err := w.Allreduce(ctx, leaders, Sum); err != nil {
		return err
	}
	for i, x := range leaders {
		if x != leader[0] {
			continue
		}
		if i == w.rank {
			rt.local = len(rt.peers)
		}
		rt.peers = append(rt.peers, i)
	}
	return node.Free()
}

// Lanes returns how many lanes of so many threads (at least one) this rank can have
// if the ranks of its host share the processors that they may use: at least one, and
// no more than this rank may use by itself. It says the same when called again, and
// is not collective.
func (rt *Runtime) Lanes(threads int) int {
	return lanesOf(allowedCPUs(), rt.hostCPUs, len(rt.peers), threads)
}

// lanesOf shares the processors of a host, of which a rank may use allowed, among
// ranks.
func lanesOf(allowed, host, ranks, threads int) int {
	return max(min(allowed, host/max(ranks, 1))/max(threads, 1), 1)
}

// CheckLanes tells Options.Logger about settings that cost speed, for so many lanes
// on this rank, each of so many threads, and as many on the other ranks of the host:
// more threads than processors, on this rank or, told by the first of them, on all
// ranks of the host together, and a GOMAXPROCS that leaves no room for communication.
// Init does this where Options.Lanes says how many. It is not collective. The error
// is an [*InitError]: the logger did not return.
func (rt *Runtime) CheckLanes(lanes, threads int) error {
	rank := slog.Int("rank", rt.world.rank)
	wrong := ""
	tell := func(msg string, args ...any) {
		if w := apart(func() { rt.opts.Logger.Warn(msg, append([]any{rank}, args...)...) }); wrong == "" {
			wrong = w
		}
	}
	want := lanes * threads
	crowd := []any{slog.Int("lanes", lanes), slog.Int("threadsPerLane", threads)}
	if cpus := allowedCPUs(); want > cpus {
		tell("more threads than processors this rank may use", append(crowd, slog.Int("processors", cpus), slog.String("hint", rt.room(want)))...)
	} else if n := len(rt.peers); want*n > rt.hostCPUs && rt.local == 0 {
		tell("more threads than processors the ranks of this host may use together", append(crowd, slog.Int("ranks", n), slog.Int("processors", rt.hostCPUs),
			slog.String("hint", fmt.Sprintf("start at most %d such ranks on a host, or use fewer lanes or threads", rt.hostCPUs/want)))...)
	}
	if p := runtime.GOMAXPROCS(0); p < lanes+1 {
		tell("GOMAXPROCS leaves no room for communication beside the lanes",
			slog.Int("GOMAXPROCS", p), slog.Int("lanes", lanes), slog.String("hint", fmt.Sprintf("set GOMAXPROCS=%d", lanes+1)))
	}
	if wrong != "" {
		return &InitError{Err: ErrSetting, Detail: "Options.Logger did not return: " + wrong}
	}
	return nil
}

// room says how to give a rank so many processors.
func (rt *Runtime) room(want int) string {
	switch {
	case rt.by.family == openMPI:
		return fmt.Sprintf("start with mpirun --bind-to none, or --map-by slot:PE=%d: with one or two ranks Open MPI binds each to one core", want)
	case os.Getenv("SLURM_STEP_NUM_TASKS") != "":
		return fmt.Sprintf("start with srun --cpus-per-task=%d", want)
	case rt.by.family == mpich:
		return "start with mpiexec -bind-to none, or use fewer lanes or threads"
	}
	return "use fewer lanes or threads, or give the process more processors"
}

// Finalize ends MPI, unless it was joined. It is collective. The communicators
// of this Runtime cannot be used afterwards: their calls return
// [transport.ErrFreed]. It returns ErrBusy, and does nothing, while requests are
// in flight; what a blocking form has given up it completes if that takes less
// than a second. A second call returns nil.
func (rt *Runtime) Finalize() error {
	rt.world.settleOrphans(time.Second)
	gate.Lock()
	defer gate.Unlock()
	if rt.ended {
		return nil
	}
	lib := rt.lib
	if lib == nil {
		rt.ended = true
		return nil
	}
	if err := lib.usable("Finalize"); err != nil {
		return err
	}
	if n := lib.flying.count; n > 0 {
		return &Error{Op: "Finalize", Err: ErrBusy, Text: fmt.Sprintf("%d of them", n)}
	}
	for len(lib.ahead) > 0 {
		if err := lib.ahead[0].withdraw(); err != nil {
			return err
		}
	}
	rt.ended = true
	if rt.joined {
		return rt.world.release()
	}
	err := lib.call(fnFinalize)
	lib.live = false
	if lib.level == ThreadFunneled {
		runtime.UnlockOSThread()
	}
	return err
}

// World returns the communicator of all ranks: a duplicate of MPI_COMM_WORLD,
// so that its traffic never meets that of other code in the program.
func (rt *Runtime) World() *Comm { return rt.world }

// Self returns a communicator of this rank alone.
func (rt *Runtime) Self() *Comm { return rt.self }

// Library returns the name under which the MPI library was found, or "" if none
// is in use.
func (rt *Runtime) Library() string {
	if rt.lib == nil {
		return ""
	}
	return rt.lib.name
}

// Version returns what the library says about itself.
func (rt *Runtime) Version() string { return rt.version }

// Level returns the thread level that the library grants; ThreadMultiple
// without a library.
func (rt *Runtime) Level() ThreadLevel {
	if rt.lib == nil {
		return ThreadMultiple
	}
	return rt.lib.level
}

// Joined reports whether the library had been initialised by other code.
func (rt *Runtime) Joined() bool { return rt.joined }

// Peers returns the world ranks on this rank's host, rising.
func (rt *Runtime) Peers() []int { return append([]int(nil), rt.peers...) }

// LocalRank returns the place of this rank among Peers, from 0: it tells ranks
// of one host apart, for example to share out its GPUs.
func (rt *Runtime) LocalRank() int { return rt.local }

func hostname() string {
	h, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return h
}
