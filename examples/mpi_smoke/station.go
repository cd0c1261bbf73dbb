package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/hataori/hataori-go/adapter"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi"
)

// station is one rank's engines, lanes and world, and what it has seen.
type station struct {
	opts    options
	comm    *mpi.Comm
	world   *hataori.World
	engines []*cpu.Engine
	pools   []*cpu.Pool
	ex      lanes.Executor[*cpu.Engine]
	single  lanes.Executor[*cpu.Engine] // over the first engine alone

	home  uint64          // the goroutine that makes the calls
	lane  []atomic.Uint64 // the goroutine of each lane in this run
	times []atomic.Int64  // how often this rank evaluated each item
}

// newStation is collective. Engines that cannot be built on one rank are an
// error on all of them.
func newStation(ctx context.Context, rt *mpi.Runtime, o options) (*station, error) {
	s := &station{opts: o, comm: rt.World(), home: goroutine(), lane: make([]atomic.Uint64, o.lanes)}
	w, err := hataori.NewWorld(rt.World())
	if err != nil {
		return nil, err
	}
	s.world = w
	if err := w.Agree(ctx, s.build()); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// build makes one engine for each lane, of widths 2, 1, 2, 1, …, so that there
// are pools with threads to stay out of.
func (s *station) build() error {
	for i := range s.opts.lanes {
		pool, err := cpu.NewPool(cpu.PoolOptions{Workers: widestEngine - i%2})
		if err != nil {
			return fmt.Errorf("pool of lane %d: %w", i, err)
		}
		e, err := cpu.New(pool, cpu.Options{})
		if err != nil {
			return fmt.Errorf("engine of lane %d: %w", i, err)
		}
		s.pools, s.engines = append(s.pools, pool), append(s.engines, e)
	}
	var err error
	opts := adapter.Options[*cpu.Engine]{OnStart: s.onStart}
	if s.ex, err = adapter.New(s.engines, opts); err != nil {
		return err
	}
	s.single, err = adapter.New(s.engines[:1], opts)
	return err
}

// close is collective.
func (s *station) close() {
	for _, e := range s.engines {
		e.Close()
	}
	s.world.Close()
}

// onStart notes which goroutine a lane runs on.
func (s *station) onStart(lane lanes.Lane, e *cpu.Engine) error {
	id := goroutine()
	if id == s.home {
		return errors.New("the lane is on the caller's goroutine")
	}
	if s.engines[lane] != e {
		return fmt.Errorf("the lane was lent engine %d", slices.Index(s.engines, e))
	}
	s.lane[lane].Store(id)
	return nil
}

// place returns the lane that e belongs to, if the caller is on that lane's
// goroutine.
func (s *station) place(e *cpu.Engine) (int, error) {
	lane := slices.Index(s.engines, e)
	if lane < 0 {
		return 0, errors.New("an engine that nobody gave")
	}
	if id, want := goroutine(), s.lane[lane].Load(); id != want {
		return 0, fmt.Errorf("engine %d on goroutine %d, its lane is goroutine %d", lane, id, want)
	}
	return lane, nil
}

// goroutine is the number of the calling goroutine, from the head of its stack
// trace: "goroutine 7 [running]: …".
func goroutine() uint64 {
	var buf [64]byte
	fields := bytes.Fields(buf[:runtime.Stack(buf[:], false)])
	if len(fields) < 2 {
		return 0
	}
	id, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// hosts returns the names of all hosts, sorted, on rank 0.
func (s *station) hosts(ctx context.Context) ([]string, error) {
	all, err := s.comm.Gather(ctx, []byte(s.comm.Host()), 0)
	if err != nil || all == nil {
		return nil, err
	}
	names := make([]string, len(all))
	for i, h := range all {
		names[i] = string(h)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
