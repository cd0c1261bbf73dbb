package trace

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sample is a recording with something in every field.
func sample() *Recording {
	span := func(start, end, busy, longest, index, items, failed, lowest int64) Span {
		return Span{Start: time.Duration(start), End: time.Duration(end), Busy: time.Duration(busy), Longest: time.Duration(longest),
			Index: index, Items: items, Failed: failed, FailedIndex: lowest}
	}
	return &Recording{Calls: []*Call{
		{Kind: "PmapLanes", Number: 3, Root: 1, Began: time.Unix(1_700_000_000, 123), Elapsed: 5 * time.Second, Batches: 7,
			Ranks: []Rank{
				{Rank: 0, Host: "n1", CPUs: []int{0, 1, 5}, Procs: 3, CPU: time.Second, Coordinator: 20 * time.Millisecond,
					Messages: 12, Sent: 1 << 40, Received: 77, ClockError: 900, Lanes: []Lane{
						{Spans: []Span{span(10, 20, 10, 10, 5, 1, 0, 0), span(25, 99, 40, 30, 2, 17, 2, 1)}}, {}}},
				{Rank: 4, Host: "n2", Lanes: []Lane{{Spans: []Span{span(0, 1<<40, 1<<39, 0, -1, 9, 9, 0)}}}},
			}},
		{Kind: "PmapStream", Began: time.Unix(0, 0), Error: "it ended", Stalls: 4, Stalled: time.Minute},
	}}
}

func TestFile(t *testing.T) {
	want := sample()
	var b bytes.Buffer
	if n, err := want.WriteTo(&b); err != nil || n != int64(b.Len()) {
		t.Fatal(n, err)
	}
	got, err := Read(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	// Files put one behind the other are one file.
	twice, err := Read(bytes.NewReader(append(b.Bytes(), b.Bytes()...)))
	if err != nil || len(twice.Calls) != 4 {
		t.Errorf("%d calls, %v", len(twice.Calls), err)
	}
	// Cut anywhere, and with any byte changed, it is refused or shorter.
	whole := b.Bytes()
	for n := range whole {
		rec, err := Read(bytes.NewReader(whole[:n]))
		if err == nil && len(rec.Calls) == 2 || err != nil && !errors.Is(err, ErrFormat) {
			t.Errorf("cut at %d: %d calls, %v", n, len(rec.Calls), err)
		}
		bad := bytes.Clone(whole)
		bad[n] ^= 0x20
		if _, err := Read(bytes.NewReader(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("byte %d changed: %v", n, err)
		}
	}
}

func FuzzDecodeRank(f *testing.F) {
	for _, c := range sample().Calls {
		for _, r := range c.Ranks {
			f.Add(r.Append(nil))
		}
	}
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := DecodeRank(b)
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Errorf("%v", err)
			}
			return
		}
		for _, l := range r.Lanes {
			var end time.Duration
			for _, s := range l.Spans {
				if s.Start < end || s.End < s.Start || s.Busy < 0 || s.Busy > s.End-s.Start || s.Longest < 0 || s.Longest > s.Busy || s.Items < 1 {
					t.Errorf("%+v", s)
				}
				end = s.End
			}
		}
		again, err := DecodeRank(r.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(r, again); d != "" {
			t.Error(d)
		}
	})
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	if _, err := sample().WriteTo(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		rec, err := Read(bytes.NewReader(b))
		if err != nil && !errors.Is(err, ErrFormat) {
			t.Error(err)
		}
		if err != nil {
			return
		}
		for _, c := range rec.Calls {
			_ = c.Summary().String()
		}
	})
}

// A recorder of 64 spans takes a hundred thousand: their number stays within the
// bound, sums stay exact, long items stay alone, and gaps are still gaps.
func TestRecorderThins(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	r := NewRecorder(64)
	var now, busy time.Duration
	var longest Span
	for i := range int64(100_000) {
		now += time.Duration(rng.IntN(300))
		d := time.Duration(rng.IntN(10_000))
		if i == 60_000 {
			d = time.Second
		}
		s := Span{Start: now, End: now + d, Busy: d, Items: 1, Longest: d, Index: i}
		if i == 50_000 || i == 40_000 {
			s.Failed, s.FailedIndex = 1, i
		}
		if d > longest.Longest {
			longest = s
		}
		now, busy = now+d, busy+d
		r.Add(s)
	}
	spans := r.Spans()
	if len(spans) > 64 || len(spans) < 16 {
		t.Errorf("%d spans", len(spans))
	}
	var sum Span
	for k, s := range spans {
		if k > 0 && s.Start < spans[k-1].End {
			t.Errorf("span %d begins before the end of the one before", k)
		}
		if s.Busy > s.End-s.Start {
			t.Errorf("%+v", s)
		}
		if k == 0 {
			sum = s
		} else {
			sum.join(&s)
		}
	}
	if sum.Items != 100_000 || sum.Busy != busy || sum.Failed != 2 || sum.FailedIndex != 40_000 || sum.Index != 60_000 || sum.End != now {
		t.Errorf("%+v, busy %v, until %v", sum, busy, now)
	}
	alone := false
	for _, s := range spans {
		alone = alone || s.Items == 1 && s.Index == 60_000
	}
	if !alone {
		t.Error("the item of a second does not stand alone")
	}
}

// Two clocks that differ by an hour and drift apart by a thousandth; answers take
// different ways there and back.
func TestAlign(t *testing.T) {
	root := func(local time.Duration) time.Duration { return time.Hour + local + local/1000 }
	at := func(local time.Duration) (o Offset) {
		for _, way := range [][2]time.Duration{{500, 9000}, {300, 100}, {8000, 4000}} {
			o = o.Better(local, root(local+way[0]), local+way[0]+way[1])
		}
		return o
	}
	first, last := at(0), at(100*time.Second)
	r := Rank{Lanes: []Lane{{Spans: []Span{
		{Start: 40 * time.Second, End: 50 * time.Second, Busy: 10 * time.Second, Items: 1, Longest: 10 * time.Second},
		{Start: 0, End: time.Microsecond, Busy: time.Microsecond, Items: 1}}}}}
	began := time.Hour + time.Second
	r.Align(first, last, began)
	if r.ClockError != 200 {
		t.Errorf("error %v", r.ClockError)
	}
	s := r.Lanes[0].Spans[0]
	for _, x := range [][2]time.Duration{{s.Start, root(40*time.Second) - began}, {s.End, root(50*time.Second) - began}} {
		if d := (x[0] - x[1]).Abs(); d > r.ClockError {
			t.Errorf("at %v, right is %v", x[0], x[1])
		}
	}
	if s := r.Lanes[0].Spans[1]; s.Start != 0 || s.End != 0 || s.Busy != 0 {
		t.Errorf("before the beginning: %+v", s)
	}
}
