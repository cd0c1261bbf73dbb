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

// stopwatch is a transport that measures, on a rank that has one request in
// flight, how long the root takes to answer: from the start of the send to the
// look that finds the answer.
type stopwatch struct {
	watched
	inner   *stopwatch // what Private gave
	waiting bool
	asked   time.Duration
	answers []time.Duration
}

func (s *stopwatch) Private() (transport.Comm, error) {
	c, err := s.watched.Private()
	if err != nil {
		return nil, err
	}
	s.inner = &stopwatch{watched: c.(watched)}
	return s.inner, nil
}

func (s *stopwatch) Give(p []byte, dest, tag int) (transport.Request, error) {
	s.waiting, s.asked = true, monotonic()
	return s.watched.Give(p, dest, tag)
}

func (s *stopwatch) Take(p []byte, looks int) (st transport.Status, found, taken bool, err error) {
	st, found, taken, err = s.watched.Take(p, looks)
	if found && s.waiting {
		s.waiting = false
		s.answers = append(s.answers, monotonic()-s.asked)
	}
	return st, found, taken, err
}

// reply returns the 99th percentile, in µs, of the time that the root takes to
// answer a request while all its lanes compute. The other rank's items sleep, so
// that the root can have every processor; it asks for one item after the other and
// waits for the answer hot.
func reply(ctx context.Context, rt *mpi.Runtime, o options) (float64, error) {
	if rt.World().Size() != 2 {
		return 0, errors.New("farm: reply wants two ranks")
	}
	watch := &stopwatch{watched: rt.World()}
	world, err := hataori.NewWorld(watch)
	if err != nil {
		return 0, err
	}
	defer world.Close()
	root := world.Rank() == 0
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
	all, err := hataori.Gather(ctx, world, hataori.Options{}, watch.inner.answers)
	if err != nil || !root {
		return 0, err
	}
	// The first answer waits for the root to come to the call, the last ones are
	// the end of the work.
	answers := all[1]
	if len(answers) < 200 {
		return 0, fmt.Errorf("farm: only %d answers; more -items", len(answers))
	}
	answers = slices.Sorted(slices.Values(answers[1 : len(answers)-3]))
	return float64(answers[len(answers)*99/100].Nanoseconds()) / 1000, nil
}
