package farm

import (
	"slices"
	"time"
)

// A system is a whole call in one state: the machines, the lanes, and the
// messages on their way. The explorer takes every step that is possible from
// every state. Lanes, contexts and the network are modelled here as the package
// hataori treats them; the machines and the queue are the real ones.

type config struct {
	name      string
	large     bool // too many states for -short
	items     int
	lanes     []int // of each rank
	root      int
	batch     int64
	depth     int
	fail      uint64 // items that fail, as bits
	badEncode uint64 // items that cannot be encoded
	cut       bool   // batches may be cut by their size
	cancel    []int  // ranks whose context may end
	sick      int    // lanes that may become unhealthy
	first     bool
	flush     bool
	late      bool          // lanes put a result out before they count as idle
	source    bool          // items come one by one
	item      time.Duration // what ranks say an item takes
	keys      []int64       // of the items; nil: their indices
	copies    int           // of an item at a time; the root has no lanes of its own then
	failOn    []uint64      // by rank: items that fail there, with copies
}

// key is what decides which failure is the lowest.
func (c *config) key(i int64) int64 {
	if c.keys == nil {
		return i
	}
	return c.keys[i]
}

// order gives the keys to a queue.
func (c *config) order(q *Queue, place []int64) {
	if c.keys != nil {
		q.SetOrder(func(_ any, i int64) int64 { return c.keys[i] }, place)
	}
}

const (
	idleLane = -1
	deadLane = -2
	lateLane = -3 // its result is out, and it has not looked for the next item
)

type upMsg struct {
	finished []int64
	rep      Report
}

type downMsg struct {
	grant  Range
	pinned bool
	notice NoticeKind
	n      int64
	stop   bool
}

type rankState struct {
	w         *Worker // nil on the root
	q         *Queue
	lanes     []int64
	limit     int64 // what the lanes look at
	finished  []int64
	failed    []int64
	dropped   []Range
	cancelled bool
	told      bool
	needless  uint64 // indices that it was told to let go
	up        []upMsg
	down      []downMsg
}

type system struct {
	c      *config
	root   *Root
	ranks  []rankState
	ran    []uint8 // evaluations begun
	result []bool  // at the root
	lost   uint64  // indices given up
	fine   uint64  // indices that some evaluation brought to a result
	sick   int
	failed int64 // lowest failed so far
	given  int64 // items that the source gave
	ended  bool  // some context ended, or no lane was left

	probe *Worker // of idleKnown
}

func newSystem(c *config) *system {
	s := &system{c: c, ran: make([]uint8, c.items), result: make([]bool, c.items), sick: c.sick, failed: maxIndex,
		probe: NewWorker(new(Queue), 0, 0)}
	for r, k := range c.lanes {
		rs := rankState{q: new(Queue), limit: maxIndex, lanes: make([]int64, k)}
		for i := range rs.lanes {
			rs.lanes[i] = idleLane
		}
		if r != c.root {
			rs.w = NewWorker(rs.q, c.batch, c.depth)
			if c.order(rs.q, nil); c.copies > 0 {
				rs.w.Defer()
			}
		}
		s.ranks = append(s.ranks, rs)
	}
	q := s.ranks[c.root].q
	place := make([]int64, len(c.keys))
	for i, k := range c.keys {
		place[k] = int64(i)
	}
	c.order(q, place)
	if q.SetOpen(c.source); !c.source {
		s.given = int64(c.items)
		q.Push(Range{0, s.given}, false, nil)
	}
	s.root = NewRoot(q, Options{Me: c.root, Size: len(c.lanes), Batch: c.batch, Lanes: slices.Max(c.lanes), FirstSeen: c.first, Copies: c.copies})
	return s
}

// copyTo makes a copy, in the memory of t unless it is nil.
//
//go:norace
func (s *system) copyTo(t *system) *system {
	if t == nil {
		t = &system{root: new(Root), probe: NewWorker(new(Queue), 0, 0)}
	}
	old := *t
	*t = *s
	t.root, t.probe = old.root, old.probe
	t.ran, t.result = append(old.ran[:0], s.ran...), append(old.result[:0], s.result...)
	t.ranks = old.ranks
	if len(t.ranks) == 0 {
		t.ranks = make([]rankState, len(s.ranks))
	}
	for r := range s.ranks {
		s.ranks[r].copyTo(&t.ranks[r])
	}
	s.root.copyTo(t.root, t.ranks[s.c.root].q)
	return t
}

//go:norace
func (rs *rankState) copyTo(c *rankState) {
	old := *c
	*c = *rs
	if c.q = old.q; c.q == nil {
		c.q = new(Queue)
	}
	rs.q.copyTo(c.q)
	if rs.w != nil {
		if c.w = old.w; c.w == nil {
			c.w = new(Worker)
		}
		rs.w.copyTo(c.w, c.q)
	}
	c.lanes, c.finished = append(old.lanes[:0], rs.lanes...), append(old.finished[:0], rs.finished...)
	c.failed, c.dropped = append(old.failed[:0], rs.failed...), append(old.dropped[:0], rs.dropped...)
	c.up, c.down = append(old.up[:0], rs.up...), append(old.down[:0], rs.down...)
}

// key identifies the state. Lanes of one rank are interchangeable.
//
//go:norace
func (s *system) key(b *keyer) {
	b.root(s.root)
	b.flag(s.ended)
	b.num(int64(s.sick), s.failed, int64(s.lost), int64(s.fine), s.given)
	for i := range s.ran {
		b.num(int64(s.ran[i]))
		b.flag(s.result[i])
	}
	for i := range s.ranks {
		rs := &s.ranks[i]
		b.queue(rs.q)
		b.sorted(rs.lanes)
		b.num(rs.limit, int64(rs.needless))
		b.sorted(rs.finished)
		b.list(rs.failed)
		b.ranges(rs.dropped)
		b.flag(rs.cancelled, rs.told)
		if rs.w != nil {
			b.worker(rs.w)
		}
		b.messages(rs.up, rs.down)
	}
}

func (rs *rankState) count() (healthy, idle int) {
	for _, l := range rs.lanes {
		if l != deadLane {
			healthy++
		}
		if l == idleLane {
			idle++
		}
	}
	return healthy, idle
}

// moves are what can happen.
func (s *system) moves(to []move[*system]) []move[*system] {
	add := func(rank int, what string, item int64, do func(s *system) error) {
		to = append(to, move[*system]{rank, what, item, do})
	}
	for r := range s.ranks {
		rs := &s.ranks[r]
		s.laneMoves(r, add)
		if slices.Contains(s.c.cancel, r) && !rs.cancelled && !s.done() {
			add(r, "context ends", noItem, func(s *system) error {
				s.ranks[r].cancelled, s.ended = true, true
				return nil
			})
		}
		if rs.w == nil {
			continue
		}
		add(r, "step", noItem, func(s *system) error { return s.stepWorker(r, false) })
		if s.c.flush && len(rs.finished) > 0 {
			add(r, "flush", noItem, func(s *system) error { return s.stepWorker(r, true) })
		}
		if len(rs.up) > 0 {
			add(r, "report arrives", noItem, func(s *system) error { return s.deliverUp(r) })
		}
		if len(rs.down) > 0 {
			add(r, "message arrives", noItem, func(s *system) error { return s.deliverDown(r) })
		}
	}
	if q := s.ranks[s.c.root].q; q.Open() {
		s.sourceMoves(add)
	}
	add(-1, "root: step", noItem, func(s *system) error { return s.stepRoot(false, false) })
	if s.c.copies > 0 {
		add(-1, "root: step, patient", noItem, func(s *system) error { return s.stepRoot(false, true) })
	}
	if s.c.cut {
		add(-1, "root: step, batches cut", noItem, func(s *system) error { return s.stepRoot(true, false) })
	}
	return to
}

type addMove func(rank int, what string, item int64, do func(s *system) error)

// sourceMoves: the source gives its items one by one, and ends early if nobody
// wants more.
func (s *system) sourceMoves(add addMove) {
	if s.given < int64(s.c.items) {
		add(-1, "source gives an item", noItem, func(s *system) error {
			s.ranks[s.c.root].q.Push(Range{s.given, s.given + 1}, false, nil)
			s.given++
			return nil
		})
	}
	if s.given == int64(s.c.items) || s.root.Limit() != maxIndex {
		add(-1, "source ends", noItem, func(s *system) error {
			s.ranks[s.c.root].q.SetOpen(false)
			return nil
		})
	}
}

func (s *system) laneMoves(r int, add addMove) {
	rs := &s.ranks[r]
	for l, cur := range rs.lanes {
		if slices.Contains(rs.lanes[:l], cur) {
			continue // an idle lane is like another
		}
		switch {
		case cur == idleLane:
			if s.sick > 0 {
				add(r, "lane gets sick", noItem, func(s *system) error {
					s.ranks[r].lanes[l] = deadLane
					s.sick--
					return nil
				})
			}
			if rs.q.Left() > 0 {
				add(r, "lane claims", noItem, func(s *system) error { return s.claim(r, l) })
			}
		case cur == lateLane:
			add(r, "lane looks for an item", noItem, func(s *system) error {
				s.ranks[r].lanes[l] = idleLane
				return nil
			})
		case cur >= 0:
			add(r, "item %d ends", cur, func(s *system) error { return s.finish(r, l) })
			if s.c.key(cur) > rs.limit || rs.cancelled || rs.needless>>cur&1 == 1 {
				add(r, "item %d gives up", cur, func(s *system) error {
					s.ranks[r].lanes[l] = idleLane
					return s.drop(r, cur)
				})
			}
		}
	}
}
