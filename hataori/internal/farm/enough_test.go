package farm

import (
	"testing"
	"time"
)

// A rank looks seldom only while it neither waits for an answer nor has to ask soon.
func TestEnoughOfAWorker(t *testing.T) {
	var q Queue
	w := NewWorker(&q, 0, 0)
	pulse := Pulse{Lanes: 1, Idle: 1, Item: time.Millisecond}
	want := func(when string, n int64) {
		t.Helper()
		if got := w.Enough(); got != n {
			t.Errorf("%s: %d are enough, want %d", when, got, n)
		}
	}
	want("at first", maxIndex)
	if _, say := w.Step(pulse); !say {
		t.Fatal("a rank without items does not ask")
	}
	want("while it waits for a grant", maxIndex)
	if err := w.OnGrant(Range{First: 0, End: 8}, false, nil); err != nil {
		t.Fatal(err)
	}
	pulse.Idle = 0
	w.Step(pulse)
	want("with a grant of 8 ms", 4) // half of it; prefetchTime is 3 items
	for range 5 {
		q.Claim()
	}
	if _, say := w.Step(pulse); !say {
		t.Fatal("a rank with little in store does not ask")
	}
	want("while it waits with items in store", maxIndex)
	if err := w.OnGrant(Range{First: 8, End: 16}, false, nil); err != nil {
		t.Fatal(err)
	}
	w.Step(pulse)
	want("with the next grant", 4)
	pulse.Item = 0
	w.Step(pulse)
	want("of items that nobody has timed", maxIndex)
	pulse.Item = time.Millisecond
	w.OnAbort()
	w.Step(pulse)
	want("after an abort", maxIndex)
}

// The root looks seldom only if every rank got a long grant and none waits.
func TestEnoughOfTheRoot(t *testing.T) {
	var q Queue
	q.Push(Range{First: 0, End: 1000}, false, nil)
	r := NewRoot(&q, Options{Me: 0, Size: 3, Lanes: 1})
	want := func(when string, n int64) {
		t.Helper()
		if got := r.Enough(); got != n {
			t.Errorf("%s: %d are enough, want %d", when, got, n)
		}
	}
	report := func(rank int, item time.Duration) (granted int64) {
		t.Helper()
		if err := r.OnReport(rank, Report{Want: 1, Load: Load{Lanes: 1, Item: item}}); err != nil {
			t.Fatal(err)
		}
		for _, e := range r.Step(Local{Healthy: 1}) {
			granted += e.Range.Len()
		}
		return granted
	}
	want("before anybody reported", maxIndex)
	if n := report(1, time.Millisecond); n < 5 {
		t.Fatalf("granted %d items of a millisecond", n)
	}
	want("while rank 2 has nothing", maxIndex)
	report(2, 100*time.Microsecond)
	want("with long grants everywhere", 0)
	for q.Left() > 0 {
		report(1, time.Millisecond)
	}
	want("with short grants at the end", maxIndex)
}
