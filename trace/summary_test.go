package trace

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

// lane makes a lane of items that follow one another, each of them given as a
// wait and a time in milliseconds.
func lane(first int64, pairs ...int) Lane {
	var l Lane
	var now time.Duration
	for k := 0; k < len(pairs); k += 2 {
		now += time.Duration(pairs[k]) * time.Millisecond
		d := time.Duration(pairs[k+1]) * time.Millisecond
		l.Spans = append(l.Spans, Span{Start: now, End: now + d, Busy: d, Longest: d, Items: 1, Index: first + int64(k/2)})
		now += d
	}
	return l
}

func times(n int, pair ...int) (all []int) {
	for range n {
		all = append(all, pair...)
	}
	return all
}

func cpus(n int) (list []int) {
	for k := range n {
		list = append(list, k)
	}
	return list
}

// Each call is made so that one thing limits it, by known shares.
func TestSummary(t *testing.T) {
	ms := time.Millisecond
	two := func(a, b Lane) []Rank {
		return []Rank{{Rank: 0, Host: "n0", CPUs: cpus(2), CPU: time.Hour, Lanes: []Lane{a}}, {Rank: 1, Host: "n1", CPUs: cpus(2), CPU: time.Hour, Lanes: []Lane{b}}}
	}
	crowded := two(lane(0, times(10, 0, 100)...), Lane{})[:1]
	crowded[0].Lanes = append(crowded[0].Lanes, lane(10, times(10, 0, 100)...))
	crowded[0].CPUs, crowded[0].CPU = cpus(1), time.Second
	waiting := two(lane(0, times(10, 0, 100)...), Lane{})[:1]
	waiting[0].Lanes = append(waiting[0].Lanes, lane(10, times(10, 0, 100)...))
	waiting[0].CPUs, waiting[0].CPU = cpus(1), 10*ms
	busyRoot := two(lane(0, times(10, 10, 90)...), lane(10, times(10, 10, 90)...))
	busyRoot[0].Coordinator = 600 * ms
	busyRelay := two(lane(0, times(10, 10, 90)...), lane(10, times(10, 10, 90)...))
	busyRelay[0].Coordinator, busyRelay[1].Coordinator = 600*ms, 700*ms
	failing := two(lane(0, times(10, 0, 100)...), lane(10, times(10, 0, 100)...))
	failing[1].Lanes[0].Spans[3].Failed, failing[1].Lanes[0].Spans[3].FailedIndex = 1, 13
	failing[1].Lanes[0].Spans[5].Failed, failing[1].Lanes[0].Spans[5].FailedIndex = 1, 15
	for _, x := range []struct {
		name  string
		call  Call
		limit Limit
		loss  float64
		says  []string
	}{
		{"busy", Call{Kind: "PmapLanes", Elapsed: time.Second, Ranks: two(lane(0, times(10, 0, 100)...), lane(10, times(10, 0, 100)...))},
			LimitNone, 0, []string{"20 items on 2 ranks, 2 lanes", "busy for 100 %", "imbalance 1.00"}},
		{"too short", Call{Elapsed: 19 * ms, Ranks: two(lane(0, times(2, 5, 1)...), lane(2, times(2, 0, 1)...))},
			LimitShort, 0, []string{"limited by: nothing that could be told: 19ms is too short to judge"}},
		{"just long enough", Call{Elapsed: 20 * ms, Ranks: two(lane(0, times(2, 5, 1)...), lane(2, times(2, 0, 1)...))},
			LimitFewItems, 0.65, []string{"limited by: few items"}},
		{"slow rank", Call{Elapsed: time.Second, Ranks: two(lane(0, times(40, 0, 25)...), lane(40, times(10, 0, 100)...))},
			LimitSlowRank, 0.375, []string{"rank 1 (n1) is slow: an item takes 100ms there and 25ms", "4.0 times", "limited by: a slow rank"}},
		{"tail", Call{Elapsed: time.Second, Ranks: two(lane(0, times(10, 0, 50)...), lane(10, append(times(10, 0, 10), 0, 900)...))},
			LimitTail, 0.25, []string{"limited by: the tail", "The last was item 20 with 900ms on rank 1 lane 0", "longest: item 20 900ms (rank 1 lane 0)"}},
		{"few", Call{Elapsed: time.Second, Ranks: two(lane(0, 0, 400), lane(1, 0, 1000))},
			LimitFewItems, 0.3, []string{"few items: 2 for 2 lanes"}},
		{"messages", Call{Elapsed: time.Second, Ranks: two(lane(0, times(10, 10, 90)...), lane(10, times(10, 30, 70)...))},
			LimitMessages, 0.2, []string{"limited by: messages", "18 % between"}},
		{"root", Call{Elapsed: time.Second, Ranks: busyRoot}, LimitRoot, 0.1, []string{"the root: its coordinator was busy for 60 %"}},
		{"relay", Call{Elapsed: time.Second, Ranks: busyRelay}, LimitRelay, 0.1, []string{"limited by: rank 1: its coordinator was busy for 70 %", "Options.Group"}},
		{"sink", Call{Kind: "PmapStream", Stalls: 7, Stalled: 500 * ms, Elapsed: time.Second, Ranks: two(lane(0, times(10, 30, 70)...), lane(10, times(10, 30, 70)...))},
			LimitSink, 0.3, []string{"waited for it 7 times, 500ms in all"}},
		{"source", Call{Kind: "PmapStream", Elapsed: time.Second, Ranks: two(lane(0, times(10, 30, 70)...), lane(10, times(10, 30, 70)...))},
			LimitSource, 0.3, []string{"the source"}},
		{"binding", Call{Elapsed: time.Second, Ranks: crowded}, LimitBinding, 0.5,
			[]string{"rank 0 on n0 has 1 processor for 2 lanes", "--bind-to none"}},
		{"waiting for a disk", Call{Elapsed: time.Second, Ranks: waiting}, LimitNone, 0, nil},
		{"failures", Call{Elapsed: time.Second, Error: "item 13: ouch\nstack", Ranks: failing}, LimitNone, 0,
			[]string{"2 items failed, the first is item 13", "ended early: item 13: ouch …\n"}},
		{"nothing at all", Call{}, LimitNone, 0, nil},
	} {
		s := x.call.Summary()
		if s.Limit != x.limit || math.Abs(s.Loss-x.loss) > 1e-9 {
			t.Errorf("%s: limited by %s, loss %v", x.name, s.Limit, s.Loss)
		}
		text := s.String()
		for _, says := range x.says {
			if !strings.Contains(text, says) {
				t.Errorf("%s: %q is missing in\n%s", x.name, says, text)
			}
		}
		if sum := s.Busy + s.Before + s.Between + s.After; s.Lanes > 0 && math.Abs(sum-1) > 1e-9 {
			t.Errorf("%s: shares come to %v", x.name, sum)
		}
	}
}

func TestPerfetto(t *testing.T) {
	for _, c := range append(sample().Calls, &Call{}) {
		var b bytes.Buffer
		if err := c.WritePerfetto(&b); err != nil {
			t.Fatal(err)
		}
		var got struct{ TraceEvents []map[string]any }
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatalf("%v: %s", err, b.Bytes())
		}
		phases := map[any]int{}
		for _, e := range got.TraceEvents {
			phases[e["ph"]]++
			if e["ph"] == "X" && e["name"] == "item 5" && (e["ts"] != 0.01 || e["dur"] != 0.01 || e["pid"] != 0.0 || e["tid"] != 1.0) {
				t.Errorf("%v", e)
			}
		}
		if len(c.Ranks) == 2 && (phases["X"] != 3 || phases["M"] != 5 || phases["i"] != 2) {
			t.Errorf("%v", phases)
		}
	}
}
