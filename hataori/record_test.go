package hataori

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
	"github.com/hataori/hataori-go/trace"
)

// Items of a second, on rank 2 of three; item 7 fails. What each rank recorded is
// compared with what the items themselves saw.
func TestTraceRecordsWhatItemsSaw(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		for _, root := range []int{0, ranks - 1} {
			synctest.Test(t, func(t *testing.T) { traceOf(t, ranks, root) })
		}
	}
}

func traceOf(t *testing.T, ranks, root int) {
	const n, laneCount = 30, 2
	recs := make([]trace.Recording, ranks)
	starts := make([]time.Time, n)
	where := make([][2]int, n)
	onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
		w.pause = func(time.Duration) { time.Sleep(5 * time.Millisecond) }
		o := Options{Root: root, Collect: true, Trace: &recs[w.Rank()]}
		_, err := PmapLanes(context.Background(), w, lanes.New(laneCount), o, count(w, root, n), func(_ context.Context, l lanes.Lane, x int) (int, error) {
			starts[x], where[x] = time.Now(), [2]int{w.Rank(), int(l)}
			time.Sleep(time.Second)
			if x == 7 {
				return 0, errSpecial
			}
			return x, nil
		})
		if e := new(*ItemErrors); !errors.As(err, e) {
			return fmt.Errorf("got %v", err)
		}
		return nil
	})
	for rank, rec := range recs {
		if len(rec.Calls) != 1 {
			t.Fatalf("rank %d: %d calls", rank, len(rec.Calls))
		}
		want := []int{rank}
		if rank == root {
			want = []int{0, 1, 2}[:ranks]
		}
		var got []int
		for _, r := range rec.Calls[0].Ranks {
			got = append(got, r.Rank)
		}
		if !slices.Equal(got, want) {
			t.Errorf("rank %d has the traces of ranks %d", rank, got)
		}
	}
	call := recs[root].Calls[0]
	seen := 0
	for _, r := range call.Ranks {
		if len(r.Lanes) != laneCount || r.Procs < 1 || r.ClockError > 20*time.Millisecond {
			t.Errorf("%+v", r)
		}
		for l, lane := range r.Lanes {
			for _, s := range lane.Spans {
				seen++
				i := s.Index
				if where[i] != [2]int{r.Rank, l} || s.Items != 1 || s.Busy != s.End-s.Start || s.Longest != s.Busy || (s.Failed == 1) != (i == 7) {
					t.Errorf("rank %d lane %d: %+v, item %d ran on %d", r.Rank, l, s, i, where[i])
				}
				if off := call.Began.Add(s.Start).Sub(starts[i]).Abs(); off > r.ClockError+20*time.Millisecond {
					t.Errorf("item %d began %v away from where it is", i, off)
				}
				if d := s.Busy - time.Second; d.Abs() > 20*time.Millisecond {
					t.Errorf("item %d took %v", i, s.Busy)
				}
			}
		}
	}
	if seen != n || call.Kind != "PmapLanes" || call.Root != root || call.Error != "" || call.Elapsed < n*time.Second/time.Duration(ranks*laneCount) {
		t.Errorf("%d items in %+v", seen, call)
	}
}

// A stream, a failure and a cancelled call leave a trace too, and the next call
// adds to it. Short items are recorded in groups.
func TestTraceOfEndings(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		recs := make([]trace.Recording, ranks)
		const n = 50_000
		onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
			o := Options{Trace: &recs[w.Rank()]}
			if err := pmapStream(context.Background(), w, o, numbers(100), &book{}, square); err != nil {
				return err
			}
			_, err := PmapLanes(context.Background(), w, lanes.New(1), o, count(w, 0, 10), func(context.Context, lanes.Lane, int) (int, error) {
				return 0, errSpecial
			})
			if e := new(*ItemError); !errors.As(err, e) {
				return fmt.Errorf("got %v", err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if _, err = PmapLanes(ctx, w, lanes.New(1), o, count(w, 0, 10), same); !errors.Is(err, context.Canceled) {
				return fmt.Errorf("got %v", err)
			}
			_, err = PmapLanes(context.Background(), w, lanes.New(2), o, count(w, 0, n), same)
			return err
		})
		calls := recs[0].Calls
		if len(calls) != 4 {
			t.Fatalf("%d calls", len(calls))
		}
		items := make([]int64, 4)
		failed := make([]int64, 4)
		for k, c := range calls {
			for _, r := range c.Ranks {
				for _, l := range r.Lanes {
					for _, s := range l.Spans {
						items[k] += s.Items
						failed[k] += s.Failed
					}
					if len(l.Spans) > defaultSpansForTest {
						t.Errorf("%d spans", len(l.Spans))
					}
				}
			}
		}
		if items[0] != 100 || failed[1] < 1 || items[2] != 0 || items[3] != n {
			t.Errorf("%d items, %d failed", items, failed)
		}
		if calls[0].Kind != "PmapStream" || calls[0].Error != "" || calls[1].Error == "" || calls[2].Error == "" {
			t.Errorf("%+v", calls)
		}
	}
}

const defaultSpansForTest = 4096

// In groups each rank records its own coordinator, a relay too, which has more
// messages than those that it grants to.
func TestTraceOfGroups(t *testing.T) {
	const ranks, root, n = 6, 2, 300
	var rec trace.Recording
	onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
		o := Options{Root: root, Group: 2, Batch: 1, Trace: &trace.Recording{}}
		if w.Rank() == root {
			o.Trace = &rec
		}
		_, err := PmapLanes(context.Background(), w, lanes.New(1), o, count(w, root, n), func(_ context.Context, _ lanes.Lane, x int) (int, error) {
			time.Sleep(100 * time.Microsecond) // everybody gets some
			return x, nil
		})
		return err
	})
	call := rec.Calls[0]
	items := int64(0)
	for _, r := range call.Ranks {
		for _, s := range r.Lanes[0].Spans {
			items += s.Items
		}
		if r.Coordinator <= 0 || r.Coordinator > call.Elapsed || r.Messages == 0 || r.Sent == 0 || r.Received == 0 {
			t.Errorf("rank %d: its coordinator worked for %v of %v, %d messages, %d bytes sent, %d received", r.Rank, r.Coordinator, call.Elapsed, r.Messages, r.Sent, r.Received)
		}
	}
	for _, pair := range [][2]int{{0, 1}, {3, 4}} { // see TestMessagesKeepToTheTree
		if relay, other := call.Ranks[pair[0]], call.Ranks[pair[1]]; relay.Messages <= other.Messages {
			t.Errorf("the relay, rank %d, had %d messages, rank %d had %d", pair[0], relay.Messages, pair[1], other.Messages)
		}
	}
	if items != n || len(call.Ranks) != ranks {
		t.Errorf("%d items on %d ranks", items, len(call.Ranks))
	}
}

// Ranks that disagree about recording are told so.
func TestTraceOnSomeRanks(t *testing.T) {
	onRanks(t, 2, mpitest.Options{}, func(w *World) error {
		o := Options{}
		if w.Rank() == 0 {
			o.Trace = &trace.Recording{}
		}
		_, err := PmapLanes(context.Background(), w, lanes.New(1), o, count(w, 0, 10), same)
		if !errors.Is(err, ErrMismatch) {
			return fmt.Errorf("got %v", err)
		}
		return nil
	})
}
