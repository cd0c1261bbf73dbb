package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/mpi"
	"github.com/hataori/hataori-go/transport"
)

// watched is what a transport of MPI offers: a stopwatch that hid some of it would
// measure another scheduler.
type watched interface {
	transport.Comm
	transport.Express
	transport.OwnProcess
}

// stopwatch is a transport that notes when a rank begins to send a message, and
// when it has sent one, by the clock that all ranks of a host share.
type stopwatch struct {
	watched
	inner        *stopwatch    // what Private gave
	nap          time.Duration // after a look that found nothing
	begins, ends []time.Duration
}

func (s *stopwatch) Private() (transport.Comm, error) {
	c, err := s.watched.Private()
	if err != nil {
		return nil, err
	}
	s.inner = &stopwatch{watched: c.(watched), nap: s.nap}
	return s.inner, nil
}

func (s *stopwatch) Give(p []byte, dest, tag int) (transport.Request, error) {
	s.begins = append(s.begins, monotonic())
	req, err := s.watched.Give(p, dest, tag)
	s.ends = append(s.ends, monotonic())
	return req, err
}

func (s *stopwatch) Take(p []byte, looks int) (st transport.Status, found, taken bool, err error) {
	st, found, taken, err = s.watched.Take(p, looks)
	if !found && err == nil && s.nap > 0 {
		doze(s.nap)
	}
	return st, found, taken, err
}

// reply returns the 99th percentile, in µs, of the time that the root takes to
// answer a request while all its lanes compute: from where the other rank begins
// to send it to where the root has sent the answer. The other rank's items sleep, so
// that the root can have every processor, and it is nice and waits for the answer by
// naps, as the twin does, so that it does not poll on a processor that the root needs:
// as if it were on another host. It asks for one item after the other.
func reply(ctx context.Context, rt *mpi.Runtime, o options) (float64, error) {
	if rt.World().Size() != 2 {
		return 0, errors.New("farm: reply wants two ranks")
	}
	watch := &stopwatch{watched: rt.World()}
	if rt.World().Rank() != 0 {
		watch.nap = 50 * time.Microsecond
	}
	world, err := hataori.NewWorld(watch)
	if err != nil {
		return 0, err
	}
	defer world.Close()
	root := world.Rank() == 0
	if !root {
		if err := beNice(); err != nil {
			return 0, err
		}
	}
	opts := hataori.Options{Batch: 1, Depth: 1, Lanes: 1}
	var items []int64
	if root {
		items, opts.Lanes = indices(o.items), o.lanes
	}
	_, err = hataori.Pmap(ctx, world, opts, items, func(_ context.Context, x int64) (int64, error) {
		if !root {
			time.Sleep(time.Millisecond)
			return x, nil
		}
		return work(x, o.spin), nil
	})
	if err != nil {
		return 0, err
	}
	asked, err := hataori.Gather(ctx, world, hataori.Options{}, watch.inner.begins)
	if err != nil || !root {
		return 0, err
	}
	// The first answer waits for the root to come to the call, the last ones are
	// the end of the work.
	requests := asked[1]
	if len(requests) < 200 {
		return 0, fmt.Errorf("farm: only %d answers; more -items", len(requests))
	}
	var answers []time.Duration
	for _, at := range requests[1 : len(requests)-3] {
		k, _ := slices.BinarySearch(watch.inner.ends, at)
		answers = append(answers, watch.inner.ends[k]-at)
	}
	slices.Sort(answers)
	return float64(answers[len(answers)*99/100].Nanoseconds()) / 1000, nil
}
