package farm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A tree is a call in two levels: the root, relays, and their groups. One thing
// after the other happens to it, drawn by chance; messages keep their order
// between two ranks only.
type tree struct {
	rng    *rand.Rand
	nodes  []treeNode
	fails  []bool
	ran    []int
	result []bool
	lowest int64 // failure so far
	ended  bool  // a context ended, or no lane was left
	first  bool
	item   time.Duration
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
	done          bool
}

func newTree(seed uint64) *tree {
	rng := rand.New(rand.NewPCG(seed, 7))
	t := &tree{rng: rng, lowest: maxIndex, first: rng.IntN(8) == 0,
		item: []time.Duration{0, time.Microsecond, time.Millisecond, time.Second}[rng.IntN(4)]}
	n := rng.IntN(60)
	t.fails, t.ran, t.result = make([]bool, n), make([]int, n), make([]bool, n)
	if rng.IntN(2) == 0 {
		for range rng.IntN(4) {
			if n > 0 {
				t.fails[rng.IntN(n)] = true
			}
		}
	}
	add := func(parent int) int {
		id := len(t.nodes)
		t.nodes = append(t.nodes, treeNode{parent: parent, peers: []int{id}, q: new(Queue), limit: maxIndex, lanes: make([]int64, rng.IntN(3))})
		for l := range t.nodes[id].lanes {
			t.nodes[id].lanes[l] = idleLane
		}
		if id > 0 {
			p := &t.nodes[parent]
			t.nodes[id].place = len(p.peers)
			p.peers = append(p.peers, id)
		}
		return id
	}
	add(0)
	for range rng.IntN(3) {
		add(0) // the root's own group
	}
	batch := int64([]int{0, 0, 1, 3}[rng.IntN(4)])
	for range 1 + rng.IntN(3) {
		relay := add(0)
		for range rng.IntN(4) {
			add(relay)
		}
		x := &t.nodes[relay]
		x.relay = NewRelay(x.q, Options{Size: len(x.peers), Batch: batch, Lanes: 2, FirstSeen: t.first})
	}
	for i := range t.nodes {
		switch x := &t.nodes[i]; {
		case i == 0:
			x.q.Push(Range{0, int64(n)}, false, nil)
			x.root = NewRoot(x.q, Options{Size: len(x.peers), Batch: batch, Lanes: 2, FirstSeen: t.first})
		case x.relay == nil:
			x.w = NewWorker(x.q, batch, 0)
		}
	}
	return t
}

// happen lets something happen to the node, if the draw is possible.
func (t *tree) happen(i int) error {
	x := &t.nodes[i]
	switch k := t.rng.IntN(100); {
	case k < 40 && len(x.lanes) > 0:
		return t.lane(x, t.rng.IntN(len(x.lanes)))
	case k < 60:
		return t.step(x)
	case k < 80 && i > 0 && len(x.up) > 0:
		m := x.up[0]
		x.up = x.up[1:]
		return t.arriveUp(&t.nodes[x.parent], x.place, m)
	case k < 98 && i > 0 && len(x.down) > 0:
		m := x.down[0]
		x.down = x.down[1:]
		return t.arriveDown(x, m)
	case k == 98 && t.rng.IntN(100) == 0:
		x.aborted, t.ended = true, true
	case k == 99 && len(x.lanes) > 0 && t.rng.IntN(15) == 0:
		if l := t.rng.IntN(len(x.lanes)); x.lanes[l] == idleLane {
			x.lanes[l] = deadLane
		}
	}
	return nil
}

func (t *tree) lane(x *treeNode, l int) error {
	i := x.lanes[l]
	if i == idleLane {
		seg, i := x.q.Claim()
		switch {
		case seg == nil:
		case i > x.limit:
			return t.drop(x, i)
		default:
			x.lanes[l] = i
			if t.ran[i]++; t.ran[i] > 1 {
				return fmt.Errorf("item %d evaluated twice", i)
			}
		}
		return nil
	}
	if i < 0 {
		return nil
	}
	x.lanes[l] = idleLane
	switch {
	case (i > x.limit || x.aborted) && t.rng.IntN(2) == 0:
		return t.drop(x, i)
	case t.fails[i]:
		t.lowest = min(t.lowest, i)
		x.failed = append(x.failed, i)
		x.limit = min(x.limit, i)
		if t.first {
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
	if i < t.lowest && !t.ended && !t.first {
		return fmt.Errorf("item %d dropped, lowest failure so far is %d", i, t.lowest)
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

func (t *tree) step(x *treeNode) error {
	healthy, idle := x.count()
	tell := x.aborted && !x.told
	x.told = x.told || tell
	failed, dropped := x.failed, x.dropped
	x.failed, x.dropped = nil, nil
	p := Pulse{Lanes: healthy, Idle: idle, Finished: len(x.finished) > 0, Flush: t.rng.IntN(4) == 0, Item: t.item}
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
		err := t.order(x, x.root, x.root.Step(Local{Healthy: healthy, Idle: idle}))
		t.ended = t.ended || x.root.NoLanes()
		x.limit, x.done = min(x.limit, x.root.Limit()), x.root.Done()
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
		if err := t.order(x, x.relay.down, effects); err != nil {
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
			x.w.OnFailed(i, t.first)
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
		x.done = rep.Bye
	}
	return nil
}

func (t *tree) order(x *treeNode, r *Root, effects []Effect) error {
	for _, e := range slices.Clone(effects) {
		y := &t.nodes[x.peers[e.Rank]]
		switch e.Kind {
		case Grant:
			end := e.Range.End
			if e.Range.Len() > 1 && t.rng.IntN(10) == 0 { // too many bytes
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
		}
	}
	return r.checkSums()
}

func (t *tree) arriveUp(x *treeNode, place int, m upMsg) error {
	for _, i := range m.finished {
		var err error
		if x.root != nil {
			t.result[i] = true
			err = x.root.OnResults(place, Range{i, i + 1})
		} else {
			x.finished = append(x.finished, i)
			err = x.relay.OnResults(place, Range{i, i + 1})
		}
		if err != nil {
			return err
		}
	}
	if x.root != nil {
		return x.root.OnReport(place, m.rep)
	}
	return x.relay.OnReport(place, m.rep)
}

func (t *tree) arriveDown(x *treeNode, m downMsg) error {
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

func (t *tree) over() bool {
	return !slices.ContainsFunc(t.nodes, func(x treeNode) bool { return !x.done })
}

// final checks the rules of a finished call.
func (t *tree) final() error {
	for i := range t.nodes {
		x := &t.nodes[i]
		if len(x.up)+len(x.down)+len(x.finished)+len(x.failed)+len(x.dropped) > 0 || x.q.Left() > 0 {
			return fmt.Errorf("rank %d left something behind", i)
		}
		if x.relay != nil && (x.relay.up.held != 0 || x.relay.down.held != 0) || x.w != nil && x.w.held != 0 || x.root != nil && x.root.held != 0 {
			return fmt.Errorf("rank %d still holds items", i)
		}
	}
	if t.ended || t.first && t.lowest != maxIndex {
		return nil
	}
	want := int64(slices.Index(t.fails, true))
	if want < 0 {
		want = maxIndex
	}
	if got := t.nodes[0].root.Limit(); got != want {
		return fmt.Errorf("the root knows of failure %d, the lowest is %d", got, want)
	}
	for i := range t.ran {
		if int64(i) < want && (t.ran[i] != 1 || !t.result[i]) {
			return fmt.Errorf("item %d: evaluated %d times, result %v", i, t.ran[i], t.result[i])
		}
	}
	return nil
}

func TestRelay(t *testing.T) {
	const histories = 3000
	var whole, failed, ended int
	for seed := range uint64(histories) {
		x := newTree(seed)
		steps := 0
		for ; !x.over(); steps++ {
			if steps > 500_000 {
				t.Fatalf("seed %d: the call does not end", seed)
			}
			if err := x.happen(x.rng.IntN(len(x.nodes))); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, steps, err)
			}
		}
		if err := x.final(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		switch {
		case x.ended:
			ended++
		case x.lowest != maxIndex:
			failed++
		default:
			whole++
		}
	}
	t.Logf("%d histories: %d whole, %d with failures, %d ended early", histories, whole, failed, ended)
	if whole == 0 || failed == 0 || ended == 0 {
		t.Error("the histories do not show all endings")
	}
}

// What the root tells a relay, the relay's group hears; what one rank of the
// group hoards, idle ones get although the root may still send more.
func TestRelayTellsItsGroup(t *testing.T) {
	relay := NewRelay(new(Queue), Options{Size: 3, Batch: 50, Lanes: 1})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	step := func() []Effect { e, _, _ := relay.Step(Pulse{}); return slices.Clone(e) }
	step() // asks
	free, busy := Load{Lanes: 1, Idle: 1, Item: time.Millisecond}, Load{Lanes: 1, Item: time.Millisecond}
	check(relay.OnReport(1, Report{Want: 1, Load: free}))
	step()
	check(relay.OnGrant(Range{100, 150}, false))
	if e := step(); len(e) != 1 || e[0].Kind != Grant || e[0].Range != (Range{100, 150}) {
		t.Fatalf("%+v, want a grant of all", e)
	}
	check(relay.OnReport(1, Report{Load: busy}))
	check(relay.OnReport(2, Report{Want: 1, Load: free}))
	if e := step(); len(e) != 1 || e[0].Kind != Notify || e[0].Notice != Return || e[0].Rank != 1 {
		t.Fatalf("%+v, want rank 1 asked for unstarted items", e)
	}
	check(relay.OnNotice(CancelAbove, 110))
	if e := step(); len(e) != 1 || e[0].Kind != Notify || e[0].Notice != CancelAbove || e[0].N != 110 {
		t.Fatalf("%+v, want rank 1 told of the limit", e)
	}
	check(relay.OnNotice(Abort, 0))
	if e := step(); len(e) != 1 || e[0].Kind != Notify || e[0].Notice != Abort {
		t.Fatalf("%+v, want rank 1 told to give up", e)
	}
}
