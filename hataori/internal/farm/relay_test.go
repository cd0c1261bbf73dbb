package farm

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// randomTree is a world with relays, and with ranks that the root grants to
// itself.
func randomTree(rng *rand.Rand) *tree {
	c := &treeConfig{first: rng.IntN(8) == 0, items: rng.IntN(60), batch: int64([]int{0, 0, 1, 3}[rng.IntN(4)]),
		item: []time.Duration{0, time.Microsecond, time.Millisecond, time.Second}[rng.IntN(4)], lanes: []int{rng.IntN(3)}}
	if rng.IntN(2) == 0 && c.items > 0 {
		for range rng.IntN(4) {
			c.fail |= 1 << rng.IntN(c.items)
		}
	}
	add := func(parent int) {
		c.parents = append(c.parents, parent)
		c.lanes = append(c.lanes, rng.IntN(3))
	}
	for range rng.IntN(3) {
		add(0)
	}
	for range 1 + rng.IntN(3) {
		relay := len(c.lanes)
		c.relays = append(c.relays, relay)
		add(0)
		for range rng.IntN(4) {
			add(relay)
		}
	}
	return newTree(c)
}

// happen lets something happen to the rank, if the draw is possible.
func (t *tree) happen(rng *rand.Rand, n int) error {
	x := &t.nodes[n]
	switch k := rng.IntN(100); {
	case k < 40 && len(x.lanes) > 0:
		l := rng.IntN(len(x.lanes))
		switch i := x.lanes[l]; {
		case i == idleLane:
			return t.claim(n, l)
		case i >= 0:
			return t.end(n, l, x.mayGiveUp(i) && rng.IntN(2) == 0)
		}
	case k < 60:
		return t.step(n, rng.IntN(4) == 0, rng.IntN(10) == 0)
	case k < 80 && len(x.up) > 0:
		return t.arriveUp(n)
	case k < 98 && len(x.down) > 0:
		return t.arriveDown(n)
	case k == 98 && rng.IntN(100) == 0:
		x.aborted, t.ended = true, true
	case k == 99 && len(x.lanes) > 0 && rng.IntN(15) == 0:
		if l := rng.IntN(len(x.lanes)); x.lanes[l] == idleLane {
			x.lanes[l] = deadLane
		}
	}
	return nil
}

func TestRelay(t *testing.T) {
	histories := uint64(3000)
	if testing.Short() {
		histories = 300
	}
	var whole, failed, ended int
	for seed := range histories {
		rng := rand.New(rand.NewPCG(seed, 7))
		x := randomTree(rng)
		steps := 0
		for ; !x.done(); steps++ {
			if steps > 500_000 {
				t.Fatalf("seed %d: the call does not end", seed)
			}
			if err := x.happen(rng, rng.IntN(len(x.nodes))); err != nil {
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
