package farm

import (
	"fmt"
	"slices"
	"time"
)

// A tree is a call in two levels in one state: the root, relays, and their
// groups. The machines and the queues are the real ones; lanes, contexts and the
// network are modelled as in system. Messages keep their order between two ranks
// only.
type tree struct {
	c      *treeConfig
	nodes  []treeNode
	ran    []uint8
	result []bool
	lowest int64 // failure so far
	sick   int
	ended  bool // a context ended, or no lane was left
}

type treeConfig struct {
	name    string
	large   bool  // too many states for -short
	parents []int // of each rank but the root, 0: the root
	relays  []int // ranks that stand for a group
	lanes   []int // of each rank
	items   int
	batch   int64
	fail    uint64 // items that fail, as bits
	first   bool
	item    time.Duration

	// What may happen, for the explorer.
	cut    bool  // batches may be cut by their size
	cancel []int // ranks whose context may end
	sick   int   // lanes that may become unhealthy
}

type treeNode struct {
	parent, place int
	peers         []int
	q             *Queue
	root          *Root
	relay         *Relay
	w             *Worker
	lanes         []int64
	limit         int64
	finished      []int64
	failed        []int64
	dropped       []Range
	aborted, told bool
	up            []upMsg
	down          []downMsg
}

func newTree(c *treeConfig) *tree {
	t := &tree{c: c, ran: make([]uint8, c.items), result: make([]bool, c.items), lowest: maxIndex, sick: c.sick}
	for i, k := range c.lanes {
		x := treeNode{peers: []int{i}, q: new(Queue), limit: maxIndex, lanes: make([]int64, k)}
		for l := range x.lanes {
			x.lanes[l] = idleLane
		}
		if i > 0 {
			x.parent = c.parents[i-1]
			p := &t.nodes[x.parent]
			x.place = len(p.peers)
			p.peers = append(p.peers, i)
		}
		t.nodes = append(t.nodes, x)
	}
	for i := range t.nodes {
		x := &t.nodes[i]
		opts := Options{Size: len(x.peers), Batch: c.batch, Lanes: slices.Max(c.lanes), FirstSeen: c.first}
		switch {
		case i == 0:
			x.q.Push(Range{0, int64(c.items)}, false, nil)
			x.root = NewRoot(x.q, opts)
		case slices.Contains(c.relays, i):
			x.relay = NewRelay(x.q, opts)
		default:
			x.w = NewWorker(x.q, c.batch, 0)
		}
	}
	return t
}

func (t *tree) fails(i int64) bool { return t.c.fail>>i&1 == 1 }

// claim lets the idle lane l look for an item.
func (t *tree) claim(n, l int) error {
	x := &t.nodes[n]
	seg, i := x.q.Claim()
	switch {
	case seg == nil:
		return nil
	case i > x.limit:
		return t.drop(x, i)
	}
	x.lanes[l] = i
	if t.ran[i]++; t.ran[i] > 1 {
		return fmt.Errorf("rule 2: item %d evaluated twice", i)
	}
	return nil
}

// mayGiveUp reports whether the context of an item has ended.
func (x *treeNode) mayGiveUp(i int64) bool { return i > x.limit || x.aborted }

// end ends the item of the lane l, which gives up or comes to its end.
func (t *tree) end(n, l int, gaveUp bool) error {
	x := &t.nodes[n]
	i := x.lanes[l]
	x.lanes[l] = idleLane
	switch {
	case gaveUp:
		return t.drop(x, i)
	case t.fails(i):
		t.lowest = min(t.lowest, i)
		x.failed = append(x.failed, i)
		x.limit = min(x.limit, i)
		if t.c.first {
			x.limit = -1
		}
		if x.root != nil {
			x.q.Clip(max(x.limit, 0))
		}
	case x.root != nil:
		t.result[i] = true
	default:
		x.finished = append(x.finished, i)
	}
	return nil
}

func (t *tree) drop(x *treeNode, i int64) error {
	if i < t.lowest && !t.ended && !t.c.first {
		return fmt.Errorf("rule 3: item %d dropped, lowest failure so far is %d", i, t.lowest)
	}
	if x.root == nil {
		x.dropped = append(x.dropped, Range{i, i + 1})
	}
	return nil
}

func (x *treeNode) count() (healthy, idle int) {
	for _, l := range x.lanes {
		if l != deadLane {
			healthy++
		}
		if l == idleLane {
			idle++
		}
	}
	return healthy, idle
}

// step is a turn of the rank's loop: what waits has waited long enough if flush
// is set, and grants are cut by their size if cut is.
func (t *tree) step(n int, flush, cut bool) error {
	x := &t.nodes[n]
	healthy, idle := x.count()
	tell := x.aborted && !x.told
	x.told = x.told || tell
	failed, dropped := x.failed, x.dropped
	x.failed, x.dropped = nil, nil
	p := Pulse{Lanes: healthy, Idle: idle, Finished: len(x.finished) > 0, Flush: flush, Item: t.c.item}
	var rep Report
	say := false
	switch {
	case x.root != nil:
		for _, i := range failed {
			x.root.OnFailed(i)
		}
		if tell {
			x.root.OnAbort()
		}
		effects := x.root.Step(Local{Healthy: healthy, Idle: idle})
		t.ended = t.ended || x.root.NoLanes()
		err := t.order(x, x.root, effects, cut)
		x.limit = min(x.limit, x.root.Limit())
		return err
	case x.relay != nil:
		for _, i := range failed {
			x.relay.OnFailed(i)
		}
		for _, d := range dropped {
			x.relay.OnDropped(d)
		}
		if tell {
			x.relay.OnAbort()
		}
		var effects []Effect
		effects, rep, say = x.relay.Step(p)
		if err := t.order(x, x.relay.down, effects, cut); err != nil {
			return err
		}
		if x.relay.down.NoLanes() {
			return fmt.Errorf("a relay ended the call for want of lanes")
		}
		if say {
			x.relay.OnFinished(int64(len(x.finished)))
		}
		x.limit = min(x.limit, x.relay.Limit())
	default:
		for _, i := range failed {
			x.w.OnFailed(i, t.c.first)
		}
		for _, d := range dropped {
			x.w.OnDropped(d)
		}
		if tell {
			x.w.OnAbort()
		}
		if rep, say = x.w.Step(p); say {
			x.w.OnFinished(int64(len(x.finished)))
		}
		x.limit = min(x.limit, x.w.Limit())
	}
	if say {
		x.up = append(x.up, upMsg{x.finished, rep})
		x.finished = nil
	}
	return nil
}

func (t *tree) order(x *treeNode, r *Root, effects []Effect, cut bool) error {
	for _, e := range effects {
		y := &t.nodes[x.peers[e.Rank]]
		switch e.Kind {
		case Grant:
			end := e.Range.End
			if cut && e.Range.Len() > 1 {
				end = e.Range.First + 1
				if x.relay != nil {
					x.relay.OnShrunk(e.Rank, e.Range, end)
				} else {
					r.OnShrunk(e.Rank, e.Range, end)
				}
			}
			y.down = append(y.down, downMsg{grant: Range{e.Range.First, end}, pinned: e.Pinned})
		case Notify:
			y.down = append(y.down, downMsg{notice: e.Notice, n: e.N})
		case Stop:
			y.down = append(y.down, downMsg{stop: true})
			if x.root == nil {
				continue
			}
			for i, have := range t.result {
				if !have && !t.fails(int64(i)) && int64(i) < t.lowest && !t.ended && !t.c.first {
					return fmt.Errorf("rule: stop while item %d is missing", i)
				}
			}
		}
	}
	return r.checkSums()
}

// arriveUp takes in the oldest report of the rank where it goes.
func (t *tree) arriveUp(n int) error {
	y := &t.nodes[n]
	x, m := &t.nodes[y.parent], y.up[0]
	y.up = y.up[1:]
	for _, i := range m.finished {
		var err error
		if x.root != nil {
			t.result[i] = true
			err = x.root.OnResults(y.place, Range{i, i + 1})
		} else {
			x.finished = append(x.finished, i)
			err = x.relay.OnResults(y.place, Range{i, i + 1})
		}
		if err != nil {
			return err
		}
	}
	if x.root != nil {
		return x.root.OnReport(y.place, m.rep)
	}
	return x.relay.OnReport(y.place, m.rep)
}

// arriveDown lets the rank have the oldest message for it.
func (t *tree) arriveDown(n int) error {
	x := &t.nodes[n]
	m := x.down[0]
	x.down = x.down[1:]
	switch {
	case x.relay != nil && m.stop:
		return x.relay.OnStop()
	case x.relay != nil && m.notice != 0:
		return x.relay.OnNotice(m.notice, m.n)
	case x.relay != nil:
		return x.relay.OnGrant(m.grant, m.pinned)
	case m.stop:
		return x.w.OnStop()
	case m.notice != 0:
		return x.w.OnNotice(m.notice, m.n)
	}
	return x.w.OnGrant(m.grant, m.pinned, nil)
}

func (x *treeNode) done() bool {
	switch {
	case x.root != nil:
		return x.root.Done()
	case x.relay != nil:
		return x.relay.Done()
	}
	return x.w.Done()
}

func (t *tree) done() bool {
	return !slices.ContainsFunc(t.nodes, func(x treeNode) bool { return !x.done() })
}

// final checks the rules of a finished call.
func (t *tree) final() error {
	for i := range t.nodes {
		x := &t.nodes[i]
		if len(x.up)+len(x.down)+len(x.finished)+len(x.failed)+len(x.dropped) > 0 || x.q.Left() > 0 {
			return fmt.Errorf("rule 8: rank %d left something behind", i)
		}
		if slices.ContainsFunc(x.lanes, func(i int64) bool { return i >= 0 }) {
			return fmt.Errorf("rule 8: rank %d still evaluates items %v", i, x.lanes)
		}
		if x.relay != nil && (x.relay.up.held != 0 || x.relay.down.held != 0) || x.w != nil && x.w.held != 0 || x.root != nil && x.root.held != 0 {
			return fmt.Errorf("rule 8: rank %d still holds items", i)
		}
	}
	if t.ended || t.c.first && t.lowest != maxIndex {
		return nil
	}
	want := int64(maxIndex)
	for i := t.c.items - 1; i >= 0; i-- {
		if t.fails(int64(i)) {
			want = int64(i)
		}
	}
	if got := t.nodes[0].root.Limit(); got != want {
		return fmt.Errorf("rule 3: the root knows of failure %d, the lowest is %d", got, want)
	}
	for i := range t.ran {
		if int64(i) < want && (t.ran[i] != 1 || !t.result[i]) {
			return fmt.Errorf("rule 1, 2: item %d: evaluated %d times, result %v", i, t.ran[i], t.result[i])
		}
	}
	return nil
}
