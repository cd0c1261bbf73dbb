package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hataori/hataori-go/adapter"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi"
)

// atWork is the number of items that a rank finishes before what befalls the
// rank does: by then all ranks have some.
const atWork = 4

// firstOf is the engine that ran this process's first item.
var firstOf atomic.Pointer[cpu.Engine]

// rank is one rank's part.
type rank struct {
	*options
	*event
	me, size int
	finished atomic.Int64
	journal  *os.File // one line per finished item
	noted    sync.Map // what note has noted
}

// run is the job: squares of numbers, one engine per lane.
func run(ctx context.Context, rt *mpi.Runtime, o *options, out io.Writer) (err error) {
	world, err := hataori.NewWorld(rt.World())
	if err != nil {
		return err
	}
	r := &rank{options: o, event: eventOf(o.event), me: world.Rank(), size: world.Size()}
	if err := world.Agree(ctx, r.openJournal()); err != nil {
		return err
	}
	r.note("pid", fmt.Sprint(os.Getpid()))
	r.note("parent", fmt.Sprint(os.Getppid()))
	if r.before != nil {
		r.note("event", "")
		if stay, err := r.before(ctx, r.me, r.size); !stay {
			return err
		}
	}
	ex, engines := r.build()
	defer func() {
		for _, e := range engines {
			err = errors.Join(err, e.Close())
		}
	}()
	var items []int
	if r.me == 0 {
		items = make([]int, o.items)
		for i := range items {
			items[i] = i
		}
	}
	opts := hataori.Options{PreflightTimeout: r.patience}
	if o.log && r.me == 0 {
		opts.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	if r.sink != nil {
		if err := r.stream(ctx, world, ex, opts, items); err != nil {
			return err
		}
		return world.Close()
	}
	squares, err := hataori.PmapLanes(ctx, world, ex, opts, items, r.square)
	if err != nil {
		return err
	}
	for i, x := range squares {
		if x != i*i {
			return fmt.Errorf("faulty: %d squared is %d", i, x)
		}
	}
	if r.me == 0 {
		fmt.Fprintf(out, "faulty: ok: %d items on %d ranks\n", len(squares), r.size)
	}
	return world.Close()
}

// stream is the same job with results that go to the event's sink, in order.
func (r *rank) stream(ctx context.Context, world *hataori.World, ex lanes.Executor[*cpu.Engine], opts hataori.Options, items []int) error {
	opts.Ordered = true
	var source hataori.Source[int]
	var sink hataori.Sink[int]
	if r.me == 0 {
		source = hataori.FromSeq(slices.Values(items))
		sink = hataori.SinkFunc[int](func(_ context.Context, i int64, square int) error {
			if i == badItem {
				r.note("event", "")
			}
			return r.sink(i, square)
		})
	}
	return hataori.PmapStream(ctx, world, ex, opts, source, sink, r.square)
}

// build makes one engine per lane. A rank that cannot takes part all the same,
// and tells the others why.
func (r *rank) build() (lanes.Executor[*cpu.Engine], []*cpu.Engine) {
	var engines []*cpu.Engine
	for range r.lanes {
		e, err := cpu.Serial(cpu.Options{})
		if err == nil && r.event.build != nil {
			r.note("event", "")
			err = r.event.build(r.me, r.size)
		}
		if err != nil {
			return lanes.Failed[*cpu.Engine](fmt.Errorf("engine of lane %d: %w", len(engines), err)), engines
		}
		engines = append(engines, e)
	}
	ex, err := adapter.New(engines, adapter.Options[*cpu.Engine]{})
	if err != nil {
		return lanes.Failed[*cpu.Engine](err), engines
	}
	return ex, engines
}

// square is the function of the items.
func (r *rank) square(ctx context.Context, e *cpu.Engine, i int) (int, error) {
	select {
	case <-time.After(r.work):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if r.item != nil && i == badItem {
		r.note("event", "")
		if err := r.item(e); err != nil {
			return 0, err
		}
	}
	if r.every != nil {
		r.note("event", "")
		r.every(e, r.me)
	}
	n := r.finished.Add(1)
	if r.journal != nil {
		fmt.Fprintln(r.journal, i)
	}
	if n != atWork {
		return i * i, nil
	}
	r.note("working", "")
	if r.deaf {
		select {}
	}
	if f := r.event.rank; f != nil && r.me == r.size-1 {
		r.note("event", "")
		f()
	}
	if f := r.event.root; f != nil && r.me == 0 {
		r.note("event", "")
		f()
	}
	return i * i, nil
}

// openJournal opens the file to which the ranks append what they finished. Each
// line is one write at the end of the file, so lines do not mix.
func (r *rank) openJournal() (err error) {
	if r.dir == "" {
		return nil
	}
	r.journal, err = os.OpenFile(filepath.Join(r.dir, "finished"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return err
}

// note leaves a file that says that something happened on this rank, for those
// who look from outside. It is there whole or not at all.
func (r *rank) note(what, text string) {
	if _, twice := r.noted.LoadOrStore(what, true); twice || r.dir == "" {
		return
	}
	name := filepath.Join(r.dir, fmt.Sprintf("%s.%d", what, r.me))
	err := os.WriteFile(name+".new", []byte(text), 0o600)
	if err == nil {
		err = os.Rename(name+".new", name)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "faulty: %v\n", err)
	}
}
