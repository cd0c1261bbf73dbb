package farm

import (
	"fmt"
	"slices"
	"testing"
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
}

func newSystem(c *config) *system {
	s := &system{c: c, ran: make([]uint8, c.items), result: make([]bool, c.items), sick: c.sick, failed: maxIndex}
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

func (s *system) clone() *system {
	t := *s
	t.root = s.root.clone()
	t.ran, t.result = slices.Clone(s.ran), slices.Clone(s.result)
	t.ranks = slices.Clone(s.ranks)
	for r := range t.ranks {
		rs := &t.ranks[r]
		if rs.w != nil {
			rs.w = rs.w.clone()
			rs.q = rs.w.q
		} else {
			rs.q = t.root.q
		}
		rs.lanes = slices.Clone(rs.lanes)
		rs.finished, rs.failed, rs.dropped = slices.Clone(rs.finished), slices.Clone(rs.failed), slices.Clone(rs.dropped)
		rs.up, rs.down = slices.Clone(rs.up), slices.Clone(rs.down)
	}
	return &t
}

// key identifies the state. Lanes of one rank are interchangeable.
func (s *system) key() []byte {
	var b keyer
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
	return b
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

// A step is one thing that happens. It returns a broken rule, if it finds one.
type step struct {
	name string
	do   func(s *system) error
}

// steps lists what can happen.
func (s *system) steps() []step {
	var out []step
	add := func(name string, do func(s *system) error) { out = append(out, step{name, do}) }
	for r := range s.ranks {
		rs := &s.ranks[r]
		s.laneSteps(r, add)
		if slices.Contains(s.c.cancel, r) && !rs.cancelled && !s.done() {
			add(fmt.Sprintf("rank %d: context ends", r), func(s *system) error {
				s.ranks[r].cancelled, s.ended = true, true
				return nil
			})
		}
		if rs.w == nil {
			continue
		}
		add(fmt.Sprintf("rank %d: step", r), func(s *system) error { return s.stepWorker(r, false) })
		if s.c.flush && len(rs.finished) > 0 {
			add(fmt.Sprintf("rank %d: flush", r), func(s *system) error { return s.stepWorker(r, true) })
		}
		if len(rs.up) > 0 {
			add(fmt.Sprintf("rank %d: report arrives", r), func(s *system) error { return s.deliverUp(r) })
		}
		if len(rs.down) > 0 {
			add(fmt.Sprintf("rank %d: message arrives", r), func(s *system) error { return s.deliverDown(r) })
		}
	}
	if q := s.ranks[s.c.root].q; q.Open() {
		s.sourceSteps(add)
	}
	add("root: step", func(s *system) error { return s.stepRoot(false, false) })
	if s.c.copies > 0 {
		add("root: step, patient", func(s *system) error { return s.stepRoot(false, true) })
	}
	if s.c.cut {
		add("root: step, batches cut", func(s *system) error { return s.stepRoot(true, false) })
	}
	return out
}

// moves are the steps, each taken from a copy of the state.
func (s *system) moves() (out []move) {
	for _, st := range s.steps() {
		out = append(out, move{st.name, func() (world, error) {
			t := s.clone()
			return t, st.do(t)
		}})
	}
	return out
}

// sourceSteps: the source gives its items one by one, and ends early if nobody
// wants more.
func (s *system) sourceSteps(add func(string, func(*system) error)) {
	if s.given < int64(s.c.items) {
		add("source gives an item", func(s *system) error {
			s.ranks[s.c.root].q.Push(Range{s.given, s.given + 1}, false, nil)
			s.given++
			return nil
		})
	}
	if s.given == int64(s.c.items) || s.root.Limit() != maxIndex {
		add("source ends", func(s *system) error {
			s.ranks[s.c.root].q.SetOpen(false)
			return nil
		})
	}
}

func (s *system) laneSteps(r int, add func(string, func(*system) error)) {
	rs := &s.ranks[r]
	seen := map[int64]bool{}
	for l, cur := range rs.lanes {
		if seen[cur] {
			continue // an idle lane is like another
		}
		seen[cur] = true
		switch {
		case cur == idleLane:
			if s.sick > 0 {
				add(fmt.Sprintf("rank %d: lane gets sick", r), func(s *system) error {
					s.ranks[r].lanes[l] = deadLane
					s.sick--
					return nil
				})
			}
			if rs.q.Left() > 0 {
				add(fmt.Sprintf("rank %d: lane claims", r), func(s *system) error { return s.claim(r, l) })
			}
		case cur == lateLane:
			add(fmt.Sprintf("rank %d: lane looks for an item", r), func(s *system) error {
				s.ranks[r].lanes[l] = idleLane
				return nil
			})
		case cur >= 0:
			add(fmt.Sprintf("rank %d: item %d ends", r, cur), func(s *system) error { return s.finish(r, l) })
			if s.c.key(cur) > rs.limit || rs.cancelled || rs.needless>>cur&1 == 1 {
				add(fmt.Sprintf("rank %d: item %d gives up", r, cur), func(s *system) error {
					s.ranks[r].lanes[l] = idleLane
					return s.drop(r, cur)
				})
			}
		}
	}
}

func (s *system) claim(r, l int) error {
	rs := &s.ranks[r]
	seg, i := rs.q.Claim()
	if seg == nil {
		return fmt.Errorf("rule: %d indices left and none to claim", rs.q.Left())
	}
	if s.c.key(i) > rs.limit || rs.needless>>i&1 == 1 {
		return s.drop(r, i)
	}
	rs.lanes[l] = i
	if s.ran[i]++; int(s.ran[i]) > 1+s.c.copies {
		return fmt.Errorf("rule 2: item %d evaluated %d times", i, s.ran[i])
	}
	return nil
}

func (s *system) drop(r int, i int64) error {
	rs := &s.ranks[r]
	s.lost |= 1 << i
	if s.c.copies > 0 && (s.c.key(i) > s.root.limit || s.result[i]) {
		// It is above a failure that the root has judged, or done.
	} else if s.c.key(i) < s.failed && !s.ended && !s.c.first {
		return fmt.Errorf("rule 3: item %d dropped, lowest failure so far is %d", i, s.failed)
	}
	if rs.w != nil {
		rs.dropped = append(rs.dropped, Range{i, i + 1})
	}
	return nil
}

func (s *system) finish(r, l int) error {
	rs := &s.ranks[r]
	i := rs.lanes[l]
	if rs.lanes[l] = idleLane; s.c.late {
		rs.lanes[l] = lateLane
	}
	switch {
	case s.c.copies > 0 && s.c.failOn[r]>>i&1 == 1:
		rs.failed = append(rs.failed, i)
	case s.c.fail&(1<<i) != 0:
		s.failed = min(s.failed, s.c.key(i))
		rs.failed = append(rs.failed, i)
		rs.limit = min(rs.limit, s.c.key(i))
		if s.c.first {
			rs.limit = -1
		}
		if rs.w == nil {
			rs.q.Clip(max(rs.limit, 0))
		}
	case rs.w == nil:
		s.result[i] = true
	default:
		s.fine |= 1 << i
		rs.finished = append(rs.finished, i)
	}
	return nil
}

func (s *system) stepWorker(r int, flush bool) error {
	rs := &s.ranks[r]
	w := rs.w
	for _, i := range rs.failed {
		w.OnFailedKey(i, s.c.key(i), s.c.first)
	}
	for _, d := range rs.dropped {
		w.OnDropped(d)
	}
	rs.failed, rs.dropped = nil, nil
	if rs.cancelled && !rs.told {
		rs.told = true
		w.OnAbort()
	}
	rs.limit = min(rs.limit, w.Limit())
	healthy, idle := rs.count()
	rep, say := w.Step(Pulse{Lanes: healthy, Idle: idle, Finished: len(rs.finished) > 0, Flush: flush, Item: s.c.item})
	if !say {
		return nil
	}
	w.OnFinished(int64(len(rs.finished)))
	if w.held < 0 {
		return fmt.Errorf("rule: rank %d holds %d items", r, w.held)
	}
	rs.up = append(rs.up, upMsg{rs.finished, rep})
	rs.finished = nil
	return nil
}

func (s *system) deliverUp(r int) error {
	rs := &s.ranks[r]
	m := rs.up[0]
	rs.up = rs.up[1:]
	for _, i := range m.finished {
		if err := s.root.OnResults(r, Range{i, i + 1}); err != nil {
			return err
		}
		s.result[i] = true
	}
	return s.root.OnReport(r, m.rep)
}

func (s *system) deliverDown(r int) error {
	rs := &s.ranks[r]
	m := rs.down[0]
	rs.down = rs.down[1:]
	var err error
	switch {
	case m.stop:
		err = rs.w.OnStop()
	case m.notice != 0:
		if m.notice == Superseded {
			rs.needless |= 1 << m.n
		}
		err = rs.w.OnNotice(m.notice, m.n)
	default:
		err = rs.w.OnGrant(m.grant, m.pinned, nil)
	}
	rs.limit = min(rs.limit, rs.w.Limit())
	return err
}

func (s *system) stepRoot(cut, patient bool) error {
	rs := &s.ranks[s.c.root]
	for _, i := range rs.failed {
		s.root.OnFailed(s.c.key(i))
	}
	rs.failed = nil
	if rs.cancelled && !rs.told {
		rs.told = true
		s.root.OnAbort()
	}
	healthy, idle := rs.count()
	effects := slices.Clone(s.root.Step(Local{Healthy: healthy, Idle: idle, Open: rs.q.Open(), Patient: patient}))
	if err := s.root.checkSums(); err != nil {
		return err
	}
	s.ended = s.ended || s.root.NoLanes()
	for _, e := range effects {
		if err := s.effect(e, cut); err != nil {
			return err
		}
	}
	rs.limit = min(rs.limit, s.root.Limit())
	if len(effects) == 0 {
		return s.idleKnown()
	}
	return nil
}

func (s *system) effect(e Effect, cut bool) error {
	rs := &s.ranks[e.Rank]
	switch e.Kind {
	case Stop:
		rs.down = append(rs.down, downMsg{stop: true})
		lowest := s.failed
		if s.c.copies > 0 {
			lowest = s.root.limit
		}
		for i := range s.ran {
			if !s.result[i] && s.c.fail>>i&1 == 0 && s.c.key(int64(i)) < lowest && !s.ended && !s.c.first {
				return fmt.Errorf("rule: stop while item %d is missing", i)
			}
		}
	case Notify:
		rs.down = append(rs.down, downMsg{notice: e.Notice, n: e.N})
	case Grant:
		end := e.Range.End
		if cut && e.Range.Len() > 1 {
			end = e.Range.First + 1
		}
		bad := int64(-1)
		for i := e.Range.First; i < end && bad < 0; i++ {
			if s.c.badEncode&(1<<i) != 0 {
				bad, end = i, i
			}
		}
		if end < e.Range.End {
			s.root.OnShrunk(e.Rank, e.Range, end)
		}
		if bad >= 0 {
			s.failed = min(s.failed, s.c.key(bad))
			s.ranks[s.c.root].failed = append(s.ranks[s.c.root].failed, bad)
			s.root.OnFailed(s.c.key(bad))
		}
		if end > e.Range.First {
			rs.down = append(rs.down, downMsg{grant: Range{e.Range.First, end}, pinned: e.Pinned})
		}
	}
	return nil
}

// TestExplore visits the whole reachable state space of small worlds; with -short,
// of the smaller ones among them.
func TestExplore(t *testing.T) {
	total := 0
	for _, c := range []config{
		{name: "batch 1, depth 1", large: true, items: 5, lanes: []int{2, 2, 2}, batch: 1, depth: 1},
		{name: "coordinating root, prefetch", items: 3, lanes: []int{0, 2, 2}, item: time.Microsecond},
		{name: "prefetch, late lanes", items: 3, lanes: []int{0, 1, 1}, item: time.Microsecond, late: true},
		{name: "prefetch, late lanes, failure", items: 3, lanes: []int{1, 2}, item: time.Microsecond, late: true, fail: 0b010},
		{name: "copies, prefetch, late lanes", items: 2, lanes: []int{0, 1, 1}, item: time.Microsecond, late: true, copies: 1, failOn: []uint64{0, 0, 0}},
		{name: "prefetch, batch 2, returns", items: 4, lanes: []int{1, 1, 1}, batch: 2, item: time.Microsecond},
		{name: "root is rank 1, failures", large: true, items: 5, lanes: []int{1, 1, 2}, root: 1, fail: 0b11010, batch: 2},
		{name: "longest first, failures", items: 4, lanes: []int{1, 1, 1}, fail: 0b1101, batch: 2, keys: []int64{2, 0, 3, 1}},
		{name: "longest first, cut, cannot be encoded", items: 4, lanes: []int{1, 1, 1}, fail: 0b0010, badEncode: 0b0100, cut: true, batch: 3, keys: []int64{3, 2, 1, 0}},
		{name: "longest first, sick lane", items: 3, lanes: []int{1, 1, 1}, fail: 0b011, sick: 1, batch: 2, keys: []int64{1, 2, 0}},
		{name: "copies", items: 3, lanes: []int{0, 1, 1}, batch: 1, copies: 1, failOn: []uint64{0, 0, 0}},
		{name: "copies that fail", items: 2, lanes: []int{0, 1, 1}, batch: 1, copies: 1, failOn: []uint64{0, 0b11, 0b10}},
		{name: "one copy, three ranks", large: true, items: 2, lanes: []int{0, 1, 1, 1}, batch: 1, copies: 1, failOn: []uint64{0, 0b01, 0b01, 0b10}},
		{name: "two copies, failures, batch 2", large: true, items: 2, lanes: []int{0, 1, 1, 1}, batch: 2, copies: 2, failOn: []uint64{0, 0b11, 0b10, 0b11}},
		{name: "copies, sick lanes", large: true, items: 2, lanes: []int{0, 1, 2}, batch: 1, copies: 1, sick: 2, failOn: []uint64{0, 0b10, 0}},
		{name: "copies, cancel, longest first", large: true, items: 2, lanes: []int{0, 1, 1}, batch: 1, copies: 1, cancel: []int{1}, keys: []int64{1, 0}, failOn: []uint64{0, 0b01, 0b10}},
		{name: "first seen", items: 4, lanes: []int{1, 1, 1}, fail: 0b1010, first: true, batch: 2},
		{name: "cannot be encoded, cut", items: 4, lanes: []int{1, 1, 1}, fail: 0b1000, badEncode: 0b0100, cut: true, batch: 3},
		{name: "cancel and failure", large: true, items: 3, lanes: []int{1, 1, 1}, cancel: []int{1}, fail: 0b010, batch: 2},
		{name: "sick lanes", large: true, items: 3, lanes: []int{1, 1, 1}, sick: 2, batch: 2},
		{name: "all lanes sick", large: true, items: 2, lanes: []int{1, 1, 1}, sick: 3, batch: 2},
		{name: "source", large: true, items: 3, lanes: []int{1, 1, 1}, source: true, item: time.Microsecond},
		{name: "source, failure", items: 3, lanes: []int{1, 1, 1}, source: true, fail: 0b110, batch: 2},
		{name: "source, cancel, sick lanes", items: 2, lanes: []int{1, 1}, source: true, sick: 2, cancel: []int{1}},
		{name: "sick lanes and failure, flushes", items: 3, lanes: []int{0, 1, 1}, sick: 2, fail: 0b110, flush: true, batch: 1},
	} {
		if c.large && testing.Short() {
			continue
		}
		total += explore(t, c.name, newSystem(&c))
	}
	t.Logf("%d states in all", total)
	if total < 100_000 {
		t.Errorf("only %d states: the worlds are too small to show anything", total)
	}
}
