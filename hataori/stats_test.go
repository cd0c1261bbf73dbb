package hataori

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hataori/hataori-go/hataori/internal/wire"
	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
)

// wiretap counts what ranks send to each other during calls.
type wiretap struct {
	mu       sync.Mutex
	messages map[int]int // sent and received, by rank
	sent     map[int]int64
	received map[int]int64
	grants   []int // items in each
}

func (t *wiretap) onSend(m mpitest.Message) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m.Tag != tagWork {
		return nil
	}
	h, _, err := wire.ParseHeader(bytes.Clone(m.Bytes))
	if err != nil {
		return err
	}
	t.messages[m.Source]++
	t.messages[m.Dest]++
	t.sent[m.Source] += int64(len(m.Bytes))
	t.received[m.Dest] += int64(len(m.Bytes))
	if h.Kind == wire.Grant {
		t.grants = append(t.grants, int(h.Count))
	}
	return nil
}

// Rank 1 begins an item that ends when all others have, so that what it has in
// store goes to rank 2. What the statistics say of messages is what went over the
// wire; each item that moved was granted once more.
func TestStatsOfMessages(t *testing.T) {
	const n = 41
	for _, batch := range []int{0, 1, 4, 8} {
		tap := &wiretap{messages: map[int]int{}, sent: map[int]int64{}, received: map[int]int64{}}
		var stats [3]Stats
		var others sync.WaitGroup
		others.Add(n - 1)
		var held atomic.Bool
		onRanks(t, 3, mpitest.Options{OnSend: tap.onSend}, func(w *World) error {
			var ex lanes.Executor[lanes.Lane] = lanes.New(1)
			if w.Rank() == 0 {
				ex = nil
			}
			_, err := PmapLanes(context.Background(), w, ex, Options{Batch: batch, Stats: &stats[w.Rank()]}, count(w, 0, n), func(_ context.Context, _ lanes.Lane, x int) (int, error) {
				if w.Rank() == 1 && held.CompareAndSwap(false, true) {
					others.Wait()
					return x, nil
				}
				for w.Rank() == 2 && !held.Load() {
					time.Sleep(time.Millisecond)
				}
				others.Done()
				return x, nil
			})
			return err
		})
		for r, s := range stats {
			if s.Messages != tap.messages[r] || s.Sent != tap.sent[r] || s.Received != tap.received[r] {
				t.Errorf("batch %d, rank %d: %d messages, %d and %d bytes; over the wire went %d, %d, %d", batch, r, s.Messages, s.Sent, s.Received, tap.messages[r], tap.sent[r], tap.received[r])
			}
		}
		var sizes []int
		granted := 0
		for _, k := range tap.grants {
			granted += k
			p := bits.Len(uint(k)) - 1
			sizes = append(sizes, make([]int, max(p+1-len(sizes), 0))...)
			sizes[p]++
		}
		s := stats[0]
		if s.Batches != len(tap.grants) || s.Smallest != slices.Min(tap.grants) || s.Largest != slices.Max(tap.grants) || !slices.Equal(s.Sizes, sizes) {
			t.Errorf("batch %d: %d batches of %d to %d items, %v; over the wire went %v", batch, s.Batches, s.Smallest, s.Largest, s.Sizes, tap.grants)
		}
		if s.Moved != granted-n || batch > 1 && s.Moved == 0 {
			t.Errorf("batch %d: %d items moved, %d were granted of %d", batch, s.Moved, granted, n)
		}
		if s.Items != n || stats[1].Items+stats[2].Items != n || len(s.Lanes) != 2 || s.Lanes[0].Items != stats[1].Items || s.Lanes[1].Items != stats[2].Items {
			t.Errorf("batch %d: %d items at the root, %d and %d on the others, %v", batch, s.Items, stats[1].Items, stats[2].Items, s.Lanes)
		}
	}
}

// Every fourth of 40 items fails; those behind item 20 wait for the end of the call.
func TestStatsOfFailures(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		for _, cancels := range []bool{false, true} {
			ctx, cancel := context.WithCancel(context.Background())
			var failed, gaveUp atomic.Int32
			var s Stats
			var a agreement
			onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
				own := Stats{}
				_, err := PmapLanes(ctx, w, lanes.New(1), Options{Collect: true, Batch: 1, Stats: &own}, count(w, 0, 40), func(ctx context.Context, _ lanes.Lane, x int) (int, error) {
					switch {
					case x%4 == 0:
						failed.Add(1)
						return 0, errSpecial
					case cancels && x > 20:
						cancel()
						<-ctx.Done()
						gaveUp.Add(1)
						return 0, fmt.Errorf("given up: %w", ctx.Err())
					}
					return x, nil
				})
				if w.Rank() == 0 {
					s = own
				}
				a.add(w.Rank(), err)
				return again(w)
			})
			cancel()
			want := error(nil)
			if cancels {
				want = context.Canceled
			}
			if err := a.check(t, ranks); want != nil && !errors.Is(err, want) {
				t.Error(err)
			}
			if s.Failed != int(failed.Load()) || s.Cancelled != int(gaveUp.Load()) || cancels == (s.Cancelled == 0) || !cancels && (s.Items != 40 || s.Failed != 10) {
				t.Errorf("%d ranks, cancels %v: %d items, %d failed, %d cancelled; it was %d and %d", ranks, cancels, s.Items, s.Failed, s.Cancelled, failed.Load(), gaveUp.Load())
			}
			sum := [3]int{}
			for _, l := range s.Lanes {
				sum[0], sum[1], sum[2] = sum[0]+l.Items, sum[1]+l.Failed, sum[2]+l.Cancelled
			}
			if sum != [3]int{s.Items, s.Failed, s.Cancelled} {
				t.Errorf("lanes have %v, together %d, %d, %d", sum, s.Items, s.Failed, s.Cancelled)
			}
		}
	}
}

// Three items of a second on two lanes, by a clock of our own.
func TestStatsOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Stats
		onRanks(t, 1, mpitest.Options{}, func(w *World) error {
			_, err := PmapLanes(context.Background(), w, lanes.New(2), Options{Stats: &s}, count(w, 0, 3), func(_ context.Context, _ lanes.Lane, x int) (int, error) {
				time.Sleep(time.Second)
				return x, nil
			})
			return err
		})
		items := []int{s.Lanes[0].Items, s.Lanes[1].Items}
		slices.Sort(items)
		if s.Elapsed != 2*time.Second || s.Utilization() != 0.75 || math.Abs(s.Imbalance()-4./3) > 1e-9 || !slices.Equal(items, []int{1, 2}) {
			t.Errorf("%v, utilization %v, imbalance %v, items %v", s.Elapsed, s.Utilization(), s.Imbalance(), items)
		}
		for _, l := range s.Lanes {
			if l.Busy != time.Duration(l.Items)*time.Second || l.Longest != time.Second || l.Wait != 0 || l.LongestIndex < 0 || l.LongestIndex > 2 {
				t.Errorf("%+v", l)
			}
		}
	})
}

// A window of one: the source waits for each result, a second in the lane and
// another in the sink.
func TestStatsOfStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 7
		var s Stats
		onRanks(t, 1, mpitest.Options{}, func(w *World) error {
			b := &book{before: func(context.Context, int64) error { time.Sleep(time.Second); return nil }}
			return pmapStream(context.Background(), w, Options{Window: 1, Stats: &s}, numbers(n), b, func(_ context.Context, _ lanes.Lane, x int) (int, error) {
				time.Sleep(time.Second)
				return x * x, nil
			})
		})
		if s.Stalls != n || s.Stalled != 2*n*time.Second || s.Gaps != 0 || s.Elapsed < 2*n*time.Second {
			t.Errorf("%d stalls of %v, %d gaps, in %v", s.Stalls, s.Stalled, s.Gaps, s.Elapsed)
		}
	})
}

// While an item of rank 1 may be tried again no rank is let go, although all other
// items are done and one of higher index has failed.
func TestNobodyIsStoppedBeforeARetry(t *testing.T) {
	for _, fails := range []bool{false, true} {
		var done, returned, tries atomic.Int32
		var a agreement
		onRanks(t, 3, mpitest.Options{}, func(w *World) error {
			_, err := PmapLanes(context.Background(), w, lanes.New(1), Options{Retries: 2, Batch: 1, ErrorCodec: Sentinels(errSpecial)}, count(w, 0, 12),
				func(_ context.Context, _ lanes.Lane, x int) (int, error) {
					switch {
					case x == 11 && fails:
						done.Add(1)
						return 0, errors.New("too high")
					case x > 0:
						done.Add(1)
						return x, nil
					}
					for k := 0; done.Load() < 11 && k < 20000; k++ { // for liveness only
						time.Sleep(time.Millisecond)
					}
					time.Sleep(10 * time.Millisecond) // the others have nothing left to do
					if returned.Load() > 0 {
						t.Error("a rank returned before the retries")
					}
					if tries.Add(1) < 3 {
						return 0, Retryable(errSpecial)
					}
					if fails {
						return 0, errSpecial
					}
					return 0, nil
				})
			returned.Add(1)
			a.add(w.Rank(), err)
			return again(w)
		})
		if tries.Load() != 3 {
			t.Errorf("item 0 was tried %d times", tries.Load())
		}
		var item *ItemError
		if !fails {
			for r, err := range a.errs {
				if err != nil {
					t.Errorf("rank %d: %v", r, err)
				}
			}
		} else if err := a.check(t, 3, errSpecial); !errors.As(err, &item) || item.Index != 0 {
			t.Error(err)
		}
	}
}

// Results of copies are compared bit by bit: zeros of two signs differ, equal NaNs
// do not.
func TestCopiesAreComparedByBits(t *testing.T) {
	for _, c := range []struct {
		first, second float64
		differ        bool
	}{{0, math.Copysign(0, -1), true}, {math.NaN(), math.NaN(), false}, {math.NaN(), math.Float64frombits(math.Float64bits(math.NaN()) ^ 1), true}, {math.Inf(1), math.Inf(1), false}} {
		var a agreement
		var ran, running atomic.Int32
		second := make(chan struct{})
		onRanks(t, 2, mpitest.Options{}, func(w *World) error {
			_, err := PmapLanes(context.Background(), w, lanes.New(1), Options{Copies: 1, Batch: 1}, count(w, 0, 6), func(_ context.Context, _ lanes.Lane, x int) (float64, error) {
				running.Add(1)
				defer running.Add(-1)
				if x != 3 {
					return float64(x), nil
				}
				if ran.Add(1) == 2 {
					close(second)
					return c.second, nil
				}
				<-second                         // and does not look at its context
				time.Sleep(5 * time.Millisecond) // it comes second
				return c.first, nil
			})
			if err == nil && w.Rank() == 0 && running.Load() > 0 {
				t.Error("the root returned before the evaluation that lost")
			}
			a.add(w.Rank(), err)
			return again(w)
		})
		for r, err := range a.errs {
			if errors.Is(err, ErrCopiesDiffer) != c.differ || !c.differ && err != nil {
				t.Errorf("%v and %v, rank %d: %v", c.first, c.second, r, err)
			}
		}
	}
}

// The root saves a file between calls, until its folder is gone: every rank leaves
// the loop in the same turn, with the same error.
func TestAgreeEndsALoop(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		dir := t.TempDir()
		var a agreement
		var turns [3]int
		onRanks(t, ranks, mpitest.Options{Seed: 4}, func(w *World) error {
			for turn := range 10 {
				sums, err := PmapLanes(context.Background(), w, lanes.New(1), Options{}, count(w, 0, 5), same)
				if err == nil && w.Rank() == 0 {
					if turn == 4 {
						err = os.RemoveAll(dir)
					}
					if err == nil {
						err = os.WriteFile(filepath.Join(dir, fmt.Sprint(turn)), fmt.Append(nil, sums), 0o600)
					}
				}
				if err := w.Agree(context.Background(), err); err != nil {
					a.add(w.Rank(), err)
					break
				}
				turns[w.Rank()]++
			}
			return again(w)
		})
		var re *RankError
		if err := a.check(t, ranks, fs.ErrNotExist); !errors.As(err, &re) || re.Rank != 0 {
			t.Error(err)
		}
		for r := range ranks {
			if turns[r] != 4 {
				t.Errorf("rank %d left after %d turns", r, turns[r])
			}
		}
	}
}
