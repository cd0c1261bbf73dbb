package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/transport"
)

// proof is a claim and what shows it. run is called on all ranks, makes the same
// collective calls on each whatever it finds, and returns this rank's finding.
type proof struct {
	claim string
	run   func(s *station, ctx context.Context) error
}

var proofs = []proof{
	{"an engine refuses workers of its own pool", (*station).poolRefuses},
	{"every item once, in order, lane i with engine i, outside its pool", (*station).farm},
	{"the coordinator overlaps a single lane", (*station).overlap},
	{"a cancelled context releases waiting lanes on every rank", (*station).cancel},
	{"the lowest failing item is the same error on every rank", (*station).lowestFailure},
	{"the world is good for another call", (*station).farm},
}

func (s *station) named(p proof, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("mpi_smoke: not so: %s: %w", p.claim, err)
}

// answer is the result of one item.
type answer struct {
	Item, Rank, Lane int
	Twice            float64 // 2·Item, by the engine
}

// evaluate is the item of all proofs: it counts itself, checks where it runs and
// multiplies (x 1)·(1 x)ᵀ = 2x on the engine it was lent. Some items take longer,
// so that they end out of order.
func (s *station) evaluate(_ context.Context, e *cpu.Engine, item int) (answer, error) {
	s.times[item].Add(1)
	lane, err := s.place(e)
	if err != nil {
		return answer{}, err
	}
	if item%7 == 0 {
		time.Sleep(200 * time.Microsecond)
	}
	twice, err := double(e, float64(item))
	return answer{Item: item, Rank: s.world.Rank(), Lane: lane, Twice: twice}, err
}

func double(e *cpu.Engine, x float64) (_ float64, err error) {
	a, err := engine.FromSlice([]float64{x, 1}, 1, 2)
	if err != nil {
		return 0, err
	}
	b, err := engine.FromSlice([]float64{1, x}, 2, 1)
	if err != nil {
		return 0, err
	}
	c, err := engine.MatMul(e, a, b)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, e.Release(c)) }()
	out, err := engine.Download[float64](e, c)
	if err != nil {
		return 0, err
	}
	return out[0], nil
}

// items returns the items on the root, nil elsewhere, and forgets what was seen.
func (s *station) items() []int {
	s.times = make([]atomic.Int64, s.opts.items)
	if s.world.Rank() != 0 {
		return nil
	}
	items := make([]int, s.opts.items)
	for i := range items {
		items[i] = i
	}
	return items
}

// counts returns how often each item was evaluated, on all ranks together.
func (s *station) counts(ctx context.Context) ([]int64, error) {
	n := make([]int64, len(s.times))
	for i := range n {
		n[i] = s.times[i].Load()
	}
	if len(n) == 0 {
		return n, nil
	}
	return n, s.comm.Allreduce(ctx, n, transport.Sum)
}

func (s *station) farm(ctx context.Context) error {
	got, err := hataori.PmapLanes(ctx, s.world, s.ex, hataori.Options{Group: s.opts.group}, s.items(), s.evaluate)
	n, countErr := s.counts(ctx)
	if err = errors.Join(err, countErr); err != nil {
		return err
	}
	for i, n := range n {
		if n != 1 {
			return fmt.Errorf("item %d was evaluated %d times", i, n)
		}
	}
	if s.world.Rank() != 0 {
		if got != nil {
			return fmt.Errorf("%d results on a rank that is not the root", len(got))
		}
		return nil
	}
	if len(got) != s.opts.items {
		return fmt.Errorf("%d results of %d items", len(got), s.opts.items)
	}
	for i, a := range got {
		if a.Item != i || a.Twice != 2*float64(i) {
			return fmt.Errorf("result %d is %+v", i, a)
		}
		if a.Rank < 0 || a.Rank >= s.world.Size() || a.Lane < 0 || a.Lane >= s.opts.lanes {
			return fmt.Errorf("result %d came from nowhere: %+v", i, a)
		}
	}
	return nil
}

// poolRefuses shows that an item inside its engine's pool would have been
// noticed: the engine does not let a worker of its own pool in.
func (s *station) poolRefuses(context.Context) error {
	var fromWorker error
	err := s.pools[0].Enter(func(worker int) {
		if worker == 1 {
			_, fromWorker = double(s.engines[0], 1)
		}
	})
	if err != nil {
		return err
	}
	if !errors.Is(fromWorker, engine.ErrCallerInOwnPool) {
		return fmt.Errorf("a worker of the pool got %v", fromWorker)
	}
	return nil
}

// patience is how long a proof waits for what must come, before it says that it
// did not.
const patience = 10 * time.Second

// overlap passes a token between a single lane and the coordinator: each waits
// for the other, so that neither could run alone.
func (s *station) overlap(context.Context) error {
	const rounds = 1000
	there, back := make(chan int), make(chan int, 1)
	late := time.After(patience)
	err := s.single.RunWithCoordinator(
		func(ctl *lanes.Control, _ lanes.Lane, e *cpu.Engine) error {
			for range rounds {
				select {
				case k := <-there:
					back <- k + 1
				case <-ctl.Done():
					return ctl.Cause()
				case <-late:
					return errors.New("the lane waits in vain for the coordinator")
				}
			}
			_, err := double(e, 1)
			return err
		},
		func(ctl *lanes.Control) error {
			if id := goroutine(); id != s.home {
				return fmt.Errorf("the coordinator is on goroutine %d, was called from %d", id, s.home)
			}
			for k := range rounds {
				select {
				case there <- k:
				case <-ctl.LanesDone():
					return errors.New("the lane ended early")
				}
				select {
				case got := <-back:
					if got != k+1 {
						return fmt.Errorf("sent %d, got %d", k, got)
					}
				case <-ctl.Done():
					return ctl.Cause()
				}
			}
			<-ctl.LanesDone()
			return nil
		})
	return err
}

// cancel fills every rank's single lane with an item that waits for its context.
// The last rank's item ends the context of its rank; only the coordinators,
// beside those lanes, can carry that to the others.
func (s *station) cancel(ctx context.Context) error {
	own, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop, last := errors.New("told to stop"), s.world.Size()-1
	var inVain atomic.Bool
	var items []int
	if s.world.Rank() == 0 {
		items = make([]int, 4*s.world.Size())
	}
	_, err := hataori.PmapLanes(own, s.world, s.single, hataori.Options{Batch: 1, Group: s.opts.group}, items,
		func(ctx context.Context, _ *cpu.Engine, _ int) (int, error) {
			if s.world.Rank() == last {
				cancel(stop)
			}
			select {
			case <-ctx.Done():
				return 0, context.Cause(ctx)
			case <-time.After(patience):
				inVain.Store(true)
				return 0, errors.New("not told to stop")
			}
		})
	var ce *hataori.CancelError
	if !errors.As(err, &ce) || !errors.Is(err, context.Canceled) || ce.Rank != last || ce.Cause != stop.Error() {
		err = fmt.Errorf("the call returned: %w", orMissing(err))
	} else {
		err = nil
	}
	if inVain.Load() {
		err = errors.Join(err, errors.New("an item waited in vain for the end of its context"))
	}
	return errors.Join(err, s.sameEverywhere(ctx, fmt.Sprint(ce)))
}

var errMissing = errors.New("no error")

func orMissing(err error) error {
	if err == nil {
		return errMissing
	}
	return err
}

var errInjected = errors.New("injected failure")

// lowestFailure makes two items fail, the lower one later.
func (s *station) lowestFailure(ctx context.Context) error {
	if s.opts.items == 0 {
		return nil
	}
	low, high := s.opts.items/3, 2*s.opts.items/3
	items := s.items()
	_, err := hataori.PmapLanes(ctx, s.world, s.ex, hataori.Options{Group: s.opts.group, ErrorCodec: hataori.Sentinels(errInjected)}, items,
		func(ctx context.Context, e *cpu.Engine, item int) (answer, error) {
			a, err := s.evaluate(ctx, e, item)
			switch {
			case err != nil:
			case item == low:
				time.Sleep(5 * time.Millisecond)
				err = errInjected
			case item == high:
				err = errInjected
			}
			return a, err
		})
	n, countErr := s.counts(ctx)
	var ie *hataori.ItemError
	if !errors.As(err, &ie) || ie.Index != low || !errors.Is(err, errInjected) {
		err = fmt.Errorf("items %d and %d fail, the call returned: %w", low, high, orMissing(err))
	} else {
		err = nil
	}
	for i, n := range n {
		if n > 1 || n == 0 && i <= low {
			err = errors.Join(err, fmt.Errorf("item %d was evaluated %d times", i, n))
		}
	}
	return errors.Join(err, countErr, s.sameEverywhere(ctx, fmt.Sprint(ie)))
}

// sameEverywhere checks that all ranks pass the same text.
func (s *station) sameEverywhere(ctx context.Context, text string) error {
	h := fnv.New64a()
	io.WriteString(h, text)
	sum := int64(h.Sum64() >> 2)
	least, most := []int64{sum}, []int64{sum}
	err := errors.Join(s.comm.Allreduce(ctx, least, transport.Min), s.comm.Allreduce(ctx, most, transport.Max))
	if err == nil && !slices.Equal(least, most) {
		err = fmt.Errorf("the ranks' errors differ: this one's is %q", text)
	}
	return err
}

// failForGood is what --fail-at asks for: item k fails, and the call's error is
// the program's.
func (s *station) failForGood(ctx context.Context, k int) error {
	_, err := hataori.PmapLanes(ctx, s.world, s.ex, hataori.Options{Group: s.opts.group}, s.items(),
		func(ctx context.Context, e *cpu.Engine, item int) (answer, error) {
			a, err := s.evaluate(ctx, e, item)
			if err == nil && item == k {
				err = errInjected
			}
			return a, err
		})
	if err == nil {
		return fmt.Errorf("mpi_smoke: item %d did not fail", k)
	}
	return err
}
