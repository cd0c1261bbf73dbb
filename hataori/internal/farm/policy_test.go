package farm

import (
	"testing"
	"time"
)

func TestBatchSize(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	for _, c := range []struct {
		name       string
		left       int64
		of         Load
		all, ranks int
		last       int64
		want       int64
	}{
		{"nothing measured: one per lane", 1 << 20, Load{Lanes: 4, Idle: 4}, 8, 1, 0, 4},
		{"eight milliseconds' worth", 1 << 20, Load{Lanes: 2, Item: 10 * us}, 4, 1, 200, 1600},
		{"growth is bounded", 1 << 20, Load{Lanes: 2, Item: 10 * us}, 4, 1, 2, 32},
		{"half of the share", 100, Load{Lanes: 1, Item: us}, 4, 3, 1000, 12},
		{"at least one", 3, Load{Lanes: 1, Item: 10 * us}, 4, 3, 1000, 1},
		{"long items: idle lanes only", 1 << 20, Load{Lanes: 8, Idle: 1, Item: 50 * ms}, 32, 3, 8, 1},
		{"many ranks: more than eight milliseconds' worth", 1 << 40, Load{Lanes: 1, Item: ms}, 1000, 1000, 100, 24},
		{"many ranks: at the end no smaller than the root can serve", 100, Load{Lanes: 1, Item: ms}, 1000, 1000, 100, 3},
		{"many lanes: not one by one", 1 << 40, Load{Lanes: 50, Idle: 1, Item: 50 * ms}, 50_000, 1000, 50, 50},
	} {
		if got := batchSize(c.left, c.of, c.all, c.ranks, c.last); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// A rank that gave some items back is asked again while others are idle, one
// that had none is not.
func TestTakeBackAgain(t *testing.T) {
	q := new(Queue)
	q.Push(Range{0, 64}, false, nil)
	r := NewRoot(q, Options{Me: 0, Size: 3, Batch: 64, Lanes: 1})
	report := func(rank int, rep Report) []Effect {
		t.Helper()
		if err := r.OnReport(rank, rep); err != nil {
			t.Fatal(err)
		}
		return r.Step(Local{})
	}
	expect := func(e []Effect, kinds ...EffectKind) {
		t.Helper()
		if len(e) != len(kinds) {
			t.Fatalf("effects %+v, want of kinds %v", e, kinds)
		}
		for i, k := range kinds {
			if e[i].Kind != k {
				t.Fatalf("effects %+v, want of kinds %v", e, kinds)
			}
		}
	}
	busy := Load{Lanes: 1, Item: time.Millisecond}
	free := Load{Lanes: 1, Idle: 1, Item: time.Millisecond}
	expect(report(1, Report{Want: 1, Load: free}), Grant)
	expect(report(1, Report{Load: busy}))
	expect(report(2, Report{Want: 1, Load: free}), Notify)
	expect(report(1, Report{Load: busy, Returned: true, Back: []Range{{60, 64}}}), Grant)
	expect(report(2, Report{Load: busy}))
	if err := r.OnResults(2, Range{60, 64}); err != nil {
		t.Fatal(err)
	}
	expect(report(2, Report{Want: 1, Load: free}), Notify)
	expect(report(1, Report{Load: busy, Returned: true}))
	expect(report(2, Report{Load: free}))
}
