package mpitest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hataori/hataori-go/transport"
)

// Errors of in-memory ranks, besides those of package transport. They arrive
// inside an *[Error].
var (
	// ErrDead is returned by calls of a rank that was killed and, with
	// Options.ReportDead, by calls that need that rank.
	ErrDead = errors.New("mpitest: rank is dead")

	// ErrAborted is returned by every call after any rank called Abort.
	ErrAborted = errors.New("mpitest: job was aborted")

	// ErrMismatch is returned by a collective call whose kind, length,
	// operator or root differs from what another rank passed.
	ErrMismatch = errors.New("mpitest: ranks disagree about a collective call")
)

// Error says which call of which rank failed.
type Error struct {
	Op   string // name of the method
	Rank int    // rank that called it
	Err  error  // cause, for errors.Is
	Text string // what was wrong, may be empty
}

func (e *Error) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("%s on rank %d: %v", e.Op, e.Rank, e.Err)
	}
	return fmt.Sprintf("%s on rank %d: %v: %s", e.Op, e.Rank, e.Err, e.Text)
}

func (e *Error) Unwrap() error { return e.Err }

// Message describes one message on its way.
type Message struct {
	Comm   int // 0 for the world; others count from 1 in order of creation
	Source int // rank on Comm
	Dest   int // rank on Comm
	Tag    int
	Seq    int // 0 for the first message from Source to Dest on this Comm
	Bytes  []byte
}

func (m Message) String() string {
	return fmt.Sprintf("comm %d: %d → %d tag %d #%d, %d bytes", m.Comm, m.Source, m.Dest, m.Tag, m.Seq, len(m.Bytes))
}

// Options of a [Net]. The zero value is a fast, orderly network.
type Options struct {
	// MaxTag is the largest tag. 0 means 32767, the least that MPI promises.
	MaxTag int

	// Eager is the length in bytes up to which a send completes without its
	// receiver. 0 means 4096; negative means that no send does.
	Eager int

	// Seed, when not 0, turns on lateness and reordering: messages become
	// visible, and requests complete, only after they were looked for a few
	// times, and a probe of any source picks among the sources at random.
	// What is chosen for a message depends only on Seed and its place in the
	// stream between its two ranks.
	Seed uint64

	// Delay, when not nil, tells how long a message travels. Order between
	// two ranks on one tag is kept whatever it returns. Bytes must not be
	// kept. It may be called by any rank's goroutine, one at a time.
	Delay func(m Message) time.Duration

	// OnSend, when not nil, sees each message before it is sent; an error
	// makes Isend fail with it. Use it to inject failures and to refuse
	// messages that the code under test must not send. Bytes must not be
	// kept. It may be called by any rank's goroutine, one at a time.
	OnSend func(m Message) error

	// ReportDead makes calls that need a dead rank fail with ErrDead. By
	// default they never complete, as in MPI without a launcher that ends
	// the job.
	ReportDead bool

	// Funneled makes AnyThread report false and refuses calls of a rank from
	// any goroutine but the one that made its first call.
	Funneled bool

	// Host names the host of a rank. nil means "host0" for all of them.
	Host func(rank int) string
}

// Net is a group of ranks in one process. Make one with [New].
type Net struct {
	opts Options
	n    int

	mu      sync.Mutex
	cond    *sync.Cond // state that Private, Free or Abort wait for has changed
	world   *group
	live    []*group // groups some rank has not freed
	lost    []stray  // on groups that were freed
	dead    []bool
	owner   []uint64 // goroutine of each rank, when Funneled
	open    []int    // requests not tested until done, by rank
	comms   int
	aborted *abortion
}

type abortion struct{ rank, status int }

// New makes n ranks, n ≥ 1; it panics if n is smaller.
func New(n int, opts Options) *Net {
	if n < 1 {
		panic("mpitest: New with fewer than one rank")
	}
	if opts.MaxTag == 0 {
		opts.MaxTag = 32767
	}
	if opts.Eager == 0 {
		opts.Eager = 4096
	}
	if opts.Host == nil {
		opts.Host = func(int) string { return "host0" }
	}
	net := &Net{opts: opts, n: n, dead: make([]bool, n), owner: make([]uint64, n), open: make([]int, n)}
	net.cond = sync.NewCond(&net.mu)
	procs := make([]int, n)
	for i := range procs {
		procs[i] = i
	}
	net.world = net.newGroup(procs)
	return net
}

// Size returns the number of ranks.
func (net *Net) Size() int { return net.n }

// Rank returns the handle of rank i on the world. Each call returns the same
// handle.
func (net *Net) Rank(i int) *Comm { return net.world.comms[i] }

// Run calls body once for every rank, each on a goroutine of its own, and
// waits for all of them. It returns the errors, each with its rank, joined. A
// panic of a body is raised again after all have ended, that of the lowest rank
// first.
func (net *Net) Run(body func(c transport.Comm) error) error {
	errs := make([]error, net.n)
	panics := make([]any, net.n)
	var wg sync.WaitGroup
	for i := range net.n {
		wg.Go(func() {
			defer func() { panics[i] = recover() }()
			if err := body(net.Rank(i)); err != nil {
				errs[i] = fmt.Errorf("rank %d: %w", i, err)
			}
		})
	}
	wg.Wait()
	for i, p := range panics {
		if p != nil {
			panic(fmt.Sprintf("mpitest: rank %d: %v", i, p))
		}
	}
	return errors.Join(errs...)
}

// Kill makes a rank dead: its own calls fail with ErrDead, messages to it
// vanish, and what the others have already received stays valid.
func (net *Net) Kill(rank int) {
	net.mu.Lock()
	defer net.mu.Unlock()
	net.dead[rank] = true
	net.cond.Broadcast()
}

// Aborted reports the rank that called Abort first, and its status.
func (net *Net) Aborted() (rank, status int, aborted bool) {
	net.mu.Lock()
	defer net.mu.Unlock()
	if net.aborted == nil {
		return 0, 0, false
	}
	return net.aborted.rank, net.aborted.status, true
}

// Unmatched returns the messages that were sent and never received, on all
// communicators, freed ones included. Messages to dead ranks do not count.
func (net *Net) Unmatched() []Message {
	net.mu.Lock()
	defer net.mu.Unlock()
	return net.unmatched()
}

func (net *Net) unmatched() []Message {
	strays := slices.Clone(net.lost)
	for _, g := range net.live {
		strays = append(strays, g.unmatched()...)
	}
	var all []Message
	for _, s := range strays {
		if !net.dead[s.proc] {
			all = append(all, s.Message)
		}
	}
	return all
}

// Check reports what the code under test left behind: messages that nobody
// received, requests not tested until done, communicators not freed. It is
// called after the ranks have ended.
func (net *Net) Check() error {
	net.mu.Lock()
	defer net.mu.Unlock()
	var errs []error
	for _, m := range net.unmatched() {
		errs = append(errs, fmt.Errorf("mpitest: never received: %v", m))
	}
	for i, n := range net.open {
		if n > 0 && !net.dead[i] {
			errs = append(errs, fmt.Errorf("mpitest: rank %d left %d requests not tested until done", i, n))
		}
	}
	for _, g := range net.live {
		if g != net.world {
			errs = append(errs, fmt.Errorf("mpitest: communicator %d freed by %d of %d ranks", g.id, g.freed, g.size()))
		}
	}
	return errors.Join(errs...)
}

// newGroup makes a communicator of the processes, by rank.
func (net *Net) newGroup(procs []int) *group {
	g := &group{net: net, id: net.comms, boxes: make([]box, len(procs)), rounds: make(map[int]*round), seqs: make(map[[2]int]int),
		place: make([]int, net.n)}
	net.comms++
	for i := range g.place {
		g.place[i] = -1
	}
	for rank, proc := range procs {
		g.place[proc] = rank
		g.comms = append(g.comms, &Comm{g: g, rank: rank, proc: proc, host: net.opts.Host(proc)})
	}
	net.live = append(net.live, g)
	return g
}

// chance returns a number in [0, n) that depends only on the seed and the key.
func (net *Net) chance(n int, key ...int) int {
	if net.opts.Seed == 0 {
		return 0
	}
	x := net.opts.Seed
	for _, k := range key {
		x += uint64(k) + 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return int(x % uint64(n))
}
