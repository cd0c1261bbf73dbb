package simulate

import (
	"fmt"
	"math"
	"time"

	"github.com/hataori/hataori-go/hataori/internal/farm"
)

// Rank is one rank of a world.
type Rank struct {
	Lanes int
	Slow  float64 // factor of its items' times; 0: 1
}

// Config is a world and what it is to do. Rank 0 is the root.
type Config struct {
	Ranks []Rank
	Items []time.Duration // times of the items on a rank with Slow 1
	Batch int64           // fixed size of a grant, 0: automatic
	Depth int             // grants to ask for ahead, 0: automatic
	Group int             // ranks of a group that a relay stands for, itself among them; the root is in none; 0: one level
	Costs Costs
}

// Uniform is a world of ranks that are alike.
func Uniform(ranks, lanes int) []Rank {
	w := make([]Rank, ranks)
	for i := range w {
		w[i].Lanes = lanes
	}
	return w
}

// Result is what a run came to.
type Result struct {
	Work    time.Duration   // end of the last item
	Elapsed time.Duration   // end of the call: the root has heard everybody's good-bye
	Ends    []time.Duration // of each item
	Ranks   []RankResult
	Granted farm.Sizes
	Steady  Steady
}

// RankResult is what one rank did.
type RankResult struct {
	Items    int64
	Busy     time.Duration // of its lanes, with items
	Messages int64         // its coordinator received and sent
	CPU      time.Duration // its coordinator spent on them
	MaxStore int64         // most unstarted items it had, while all its lanes worked
}

// Steady describes the middle half of the items, from the end of the first
// quarter of them to the end of the third.
type Steady struct {
	Time     time.Duration
	Rate     float64 // items per second
	Messages float64 // at the root, per second
	Root     float64 // share of the time that the root's coordinator was busy
	Lanes    float64 // share of the time that the lanes spent with items of their own
}

// Efficiency is the share of the lanes' time spent with items, until the end of the call.
func (r *Result) Efficiency(lanes int) float64 {
	var busy time.Duration
	for i := range r.Ranks {
		busy += r.Ranks[i].Busy
	}
	return float64(busy) / float64(r.Elapsed) / float64(lanes)
}

// sim is a run.
type sim struct {
	cfg   Config
	items []time.Duration
	ev    events
	nodes []node
	res   Result

	evaluated []uint8
	known     []bool // results at the root
	nKnown    int64
	marks     [2]mark
	mail      []message
	freeMail  []int32
	lastEnd   time.Duration
}

type mark struct {
	at       time.Duration
	messages int64
	cpu      time.Duration
}

type message struct {
	from     int
	kind     messageKind
	finished []farm.Range
	rep      farm.Report
	effect   farm.Effect
}

type messageKind uint8

const (
	report messageKind = iota
	order
)

// Run simulates the call. An error is a broken rule: of the machines' protocol,
// or an index that was not evaluated exactly once.
func Run(cfg Config) (*Result, error) {
	s := &sim{cfg: cfg, items: cfg.Items, evaluated: make([]uint8, len(cfg.Items)), known: make([]bool, len(cfg.Items))}
	s.res.Ends = make([]time.Duration, len(cfg.Items))
	s.build()
	if err := s.loop(); err != nil {
		return nil, fmt.Errorf("simulate: at %v: %w", s.lastEnd, err)
	}
	return s.finish()
}

func (s *sim) build() {
	s.nodes = make([]node, len(s.cfg.Ranks))
	most := 0
	for _, r := range s.cfg.Ranks {
		most = max(most, r.Lanes)
	}
	group := max(s.cfg.Group, 1)
	for i, r := range s.cfg.Ranks {
		n := &s.nodes[i]
		*n = node{id: i, parent: max(i-1, 0)/group*group + 1, peers: []int{i}, q: new(farm.Queue), slow: r.Slow, lanes: make([]lane, r.Lanes), limit: math.MaxInt64, enough: math.MaxInt64}
		if n.slow == 0 {
			n.slow = 1
		}
		for k := range n.lanes {
			n.lanes[k].group = 1
			n.idle = append(n.idle, k)
		}
		if n.parent == i || s.cfg.Group == 0 {
			n.parent = 0
		}
		if i > 0 {
			p := &s.nodes[n.parent]
			n.place = len(p.peers)
			p.peers = append(p.peers, i)
		}
	}
	for i := range s.nodes {
		n := &s.nodes[i]
		n.flush = farm.FlushTime(len(s.nodes[n.parent].peers))
		opts := farm.Options{Me: 0, Size: len(n.peers), Batch: s.cfg.Batch, Lanes: most}
		switch {
		case i == 0:
			n.q.Push(farm.Range{First: 0, End: int64(len(s.items))}, false, nil)
			n.r = farm.NewRoot(n.q, opts)
		case n.parent == 0 && s.cfg.Group > 0:
			n.relay = farm.NewRelay(n.q, opts)
		default:
			n.w = farm.NewWorker(n.q, s.cfg.Batch, s.cfg.Depth)
		}
	}
	for i := range s.nodes {
		n := &s.nodes[i]
		s.feed(n, 0)
		n.wakeAt = 0
		s.ev.add(0, wakeUp, i, 0)
	}
}

func (s *sim) loop() error {
	for !s.nodes[0].done {
		if len(s.ev.heap) == 0 {
			return fmt.Errorf("nothing can happen, and the call is not over")
		}
		e := s.ev.next()
		s.lastEnd = e.at
		n := &s.nodes[e.node]
		switch e.kind {
		case itemEnd:
			s.end(n, int(e.arg), e.at)
		case arrival:
			n.inbox = append(n.inbox, e.arg)
			s.poke(n, e.at, n.dry(&s.mail[e.arg]))
		case flush:
			s.poke(n, e.at, false)
		case wakeUp:
			if n.wakeAt != e.at || n.done {
				continue
			}
			n.wakeAt = never
			if err := s.pass(n, e.at); err != nil {
				return fmt.Errorf("rank %d: %w", n.id, err)
			}
		}
	}
	return nil
}

// learn takes in that the root has results.
func (s *sim) learn(r farm.Range, now time.Duration) error {
	for i := r.First; i < r.End; i++ {
		if s.known[i] {
			return fmt.Errorf("a second result of item %d", i)
		}
		s.known[i] = true
		s.nKnown++
		n := int64(len(s.items))
		for k, at := range [2]int64{n / 4, n - n/4} {
			if s.nKnown == at {
				s.marks[k] = mark{now, s.nodes[0].messages, s.nodes[0].cpu}
			}
		}
	}
	return nil
}

func (s *sim) finish() (*Result, error) {
	r := &s.res
	for i, k := range s.evaluated {
		if k != 1 || !s.known[i] {
			return nil, fmt.Errorf("simulate: item %d was evaluated %d times, its result came: %v", i, k, s.known[i])
		}
	}
	lanes := 0
	for i := range s.nodes {
		n := &s.nodes[i]
		rr := RankResult{Busy: n.busy, Messages: n.messages, CPU: n.cpu, MaxStore: n.maxStore}
		for k := range n.lanes {
			rr.Items += n.lanes[k].count
		}
		lanes += len(n.lanes)
		r.Ranks = append(r.Ranks, rr)
	}
	r.Granted = s.nodes[0].r.Granted
	a, b := s.marks[0], s.marks[1]
	if d := b.at - a.at; d > 0 {
		half := len(s.items) - 2*(len(s.items)/4)
		var busy time.Duration
		for i := range r.Ranks {
			busy += r.Ranks[i].Busy
		}
		mean := busy.Seconds() / float64(len(s.items))
		r.Steady = Steady{Time: d, Rate: float64(half) / d.Seconds(), Messages: float64(b.messages-a.messages) / d.Seconds(),
			Root: float64(b.cpu-a.cpu) / float64(d), Lanes: float64(half) * mean / d.Seconds() / float64(lanes)}
	}
	return r, nil
}
