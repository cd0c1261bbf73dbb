package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hataori/hataori-go/adapter"
	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/blas"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/engine/einsum"
	"github.com/hataori/hataori-go/engine/native"
	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/transport"
)

// contractOn is one rank's share of the program. Every rank comes with the same
// options; the root, rank 0, prints the result. What fails on one rank is
// returned by all of them.
func contractOn(ctx context.Context, comm transport.Comm, o *options, laneCount int, out io.Writer) (err error) {
	world, err := hataori.NewWorld(comm)
	if err != nil {
		return err
	}
	defer func() {
		if closing := world.Close(); err == nil {
			err = closing
		}
	}()
	in, err := openInput(o)
	if err == nil && world.Rank() == 0 && o.outNpy() {
		err = tryNpy(o.out)
	}
	if err := world.Agree(ctx, err); err != nil {
		return err
	}
	if in.dtype() == engine.Complex128 {
		return solve[complex128](ctx, world, o, in, laneCount, out)
	}
	return solve[float64](ctx, world, o, in, laneCount, out)
}

// solve makes the job and the lanes, contracts the slices over all ranks and, on
// the root, puts them together, checks and prints.
func solve[T number](ctx context.Context, world *hataori.World, o *options, in *input, laneCount int, out io.Writer) error {
	p, err := problemOf[T](in, o)
	if err := world.Agree(ctx, err); err != nil {
		return err
	}
	began := time.Now()
	plan, err := planOn(ctx, world, o, in, p)
	if err != nil {
		return err
	}
	planned := time.Now()
	j, crew, err := prepare(o, p, plan, laneCount)
	prepared := time.Now()
	defer func() {
		for _, c := range crew {
			_ = c.Close() // nothing is left that could be lost
		}
	}()
	if err := world.Agree(ctx, err); err != nil {
		return err
	}
	executor, err := adapter.New(crew, adapter.Options[*contractor[T]]{})
	if err := world.Agree(ctx, err); err != nil {
		return err
	}
	watch, err := newWatch(o, world.Rank() == 0)
	if err := world.Agree(ctx, err); err != nil {
		return err
	}
	var k *keeper[T]
	if world.Rank() == 0 && o.keeps() {
		k, err = openKeeper(o, j, crew[0].Target(), world.Size(), laneCount)
	}
	if err := world.Agree(ctx, err); err != nil {
		return err
	}
	var stats hataori.Stats
	start := time.Now()
	parts, err := evaluate(ctx, world, executor, watch.attach(hataori.Options{Stats: &stats}), j, o.keeps(), k)
	saved := world.Agree(context.WithoutCancel(ctx), watch.close())
	if err != nil {
		return explain(ctx, world, o, j, k, err)
	}
	if world.Rank() == 0 {
		r := newReport(j, world.Size(), o, &stats, crew[0].Target(), time.Since(start))
		r.Planning, r.Preparing = planned.Sub(began).Seconds(), prepared.Sub(planned).Seconds()
		err = finish(o, in, j, k, parts, r, out)
	}
	return cmp.Or(world.Agree(ctx, err), saved) // the result is out where the recording could not be written
}

// evaluate contracts the slices on all ranks and returns their outputs on the
// root. With kept they go to the root's file instead.
func evaluate[T number](ctx context.Context, world *hataori.World, executor lanes.Executor[*contractor[T]], opts hataori.Options,
	j *job[T], kept bool, k *keeper[T]) ([][]T, error) {
	f := func(_ context.Context, c *contractor[T], slice int) ([]T, error) { return c.contract(slice) }
	if kept {
		var source hataori.Source[int]
		var sink hataori.Sink[[]T]
		if k != nil {
			source, sink = j.source(), k.sink
		}
		return nil, hataori.PmapStream(ctx, world, executor, opts, source, sink, f)
	}
	var items []int
	if world.Rank() == 0 {
		items = j.items()
	}
	return hataori.PmapLanes(ctx, world, executor, opts, items, f)
}

// explain adds, on all ranks, what a failed run has kept to its error.
func explain[T number](ctx context.Context, world *hataori.World, o *options, j *job[T], k *keeper[T], failure error) error {
	hint := ""
	if k != nil {
		var err error
		if hint, err = k.close(j, true); err != nil {
			hint = err.Error()
		}
	}
	if !o.keeps() || errors.Is(failure, hataori.ErrWorldBroken) {
		return failure
	}
	hint, err := hataori.Broadcast(context.WithoutCancel(ctx), world, hataori.Options{}, hint)
	if err != nil {
		return failure
	}
	return fmt.Errorf("%w; %s", failure, hint)
}

// planOn plans on the root and gives the plan to all ranks.
func planOn[T number](ctx context.Context, world *hataori.World, o *options, in *input, p *problem[T]) (plan *einsum.Plan, err error) {
	if world.Rank() == 0 {
		plan, err = p.plan(ctx, o)
		if err == nil && in.golden != nil {
			err = in.golden.fits(p.name, plan.OutputShape())
		}
	}
	if err := world.Agree(ctx, err); err != nil {
		return nil, err
	}
	return hataori.Broadcast(ctx, world, hataori.Options{}, plan)
}

// prepare makes the job and one contractor per lane.
func prepare[T number](o *options, p *problem[T], plan *einsum.Plan, laneCount int) (*job[T], []*contractor[T], error) {
	j, err := newJob(p, plan)
	if err != nil {
		return nil, nil, err
	}
	provider, err := newProvider(o.provider)
	if err != nil {
		return nil, nil, err
	}
	var crew []*contractor[T]
	for range laneCount {
		e, err := newEngine(provider, o.threads)
		if err != nil {
			return j, crew, err
		}
		c, err := j.newContractor(e)
		if err != nil {
			return j, crew, errors.Join(err, e.Close())
		}
		crew = append(crew, c)
	}
	return j, crew, nil
}

// newProvider finds who multiplies matrices. auto takes a BLAS library where
// one is installed that lanes can call side by side, whatever their number, so
// that the choice does not depend on it; one that the user named has to be there.
func newProvider(name string) (engine.Provider, error) {
	if name == "native" {
		return native.New(native.Options{}), nil
	}
	p, err := blas.Open(blas.Options{})
	var missing *blas.NotFoundError
	switch {
	case err == nil && (name == "blas" || !p.Info().TakesTurns):
		return p, nil
	case err == nil || name == "auto" && errors.As(err, &missing) && missing.Asked == "":
		return native.New(native.Options{}), nil
	}
	return nil, fmt.Errorf("--provider %s: %w", name, err)
}

// newEngine builds the engine of one lane: on the lane's own goroutine, or with
// a pool of workers.
func newEngine(provider engine.Provider, threads int) (engine.Execution, error) {
	options := cpu.Options{Provider: provider}
	if threads == 1 {
		return cpu.Serial(options)
	}
	pool, err := cpu.NewPool(cpu.PoolOptions{Workers: threads})
	if err != nil {
		return nil, err
	}
	return cpu.New(pool, options)
}

// newReport says who did what in which time.
func newReport[T number](j *job[T], ranks int, o *options, stats *hataori.Stats, target engine.Target, elapsed time.Duration) *report {
	r := &report{
		Name: j.name, Ranks: ranks, Lanes: len(stats.Lanes), Threads: o.threads,
		Items: j.plan.Slices(), Shape: j.plan.OutputShape(),
		Seconds: elapsed.Seconds(), Utilization: stats.Utilization(),
		Provider: target.Provider, Kernel: target.Detail,
		ItemsOfLane: make([][]int, ranks),
	}
	for _, l := range stats.Lanes {
		r.ItemsOfLane[l.Rank] = append(r.ItemsOfLane[l.Rank], l.Items)
	}
	return r
}

// finish is the root's last part: the whole output, its check, its files and
// its print.
func finish[T number](o *options, in *input, j *job[T], k *keeper[T], parts [][]T, r *report, out io.Writer) (err error) {
	if k != nil {
		defer func() {
			_, closing := k.close(j, false)
			err = errors.Join(err, closing)
		}()
		r.Kept = k.had
	}
	start := time.Now()
	output, err := k.assemble(j, parts)
	if err != nil {
		return err
	}
	describe(r, output)
	if r.Check, err = j.verify(r, in.golden, output); err != nil {
		return err
	}
	r.Checking = time.Since(start).Seconds()
	switch {
	case k != nil:
		err = k.write(j, r.Check, output)
	case o.outNpy():
		err = writeNpy(o.out, j, output)
	}
	if err != nil {
		err = fmt.Errorf("--out: %w", err)
	}
	if o.verbose && !o.json {
		_, printing := fmt.Fprintln(out, j.plan)
		err = cmp.Or(err, printing)
	}
	return cmp.Or(err, r.print(out, o.json)) // also where the file could not be written
}
