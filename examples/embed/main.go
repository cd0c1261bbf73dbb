// Embed is a simulation that owns its communicator and uses the scheduler for
// one part of each step. It initialises and finalises MPI itself, keeps its own
// messages on its own communicator, and decides itself what an error, a signal
// or the end of the process mean; the library only takes part in the calls.
//
// The simulation: particles in a harmonic trap, drawn to the origin by a force
// whose evaluation is uneven work. Each rank owns the time stepping of all;
// the forces of a step are shared out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"

	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi"
)

func main() {
	steps := flag.Int("steps", 100, "time steps")
	particles := flag.Int("particles", 50, "number of particles")
	verbose := flag.Bool("v", false, "tell everything about an error")
	flag.Parse()
	err := fmt.Errorf("-particles %d: must not be negative", *particles)
	if *particles >= 0 {
		err = simulate(*steps, *particles)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "embed:", mpi.Program{Details: "-v", Verbose: *verbose}.Text(err))
		os.Exit(1) // the program's decision, not the library's
	}
}

// simulate owns MPI from Init to Finalize.
func simulate(steps, particles int) (err error) {
	rt, err := mpi.Init(mpi.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rt.Finalize()) }()
	comm := rt.World() // the code's own communicator, with its own traffic

	// The scheduler takes a private duplicate, once: its messages never meet ours.
	world, err := hataori.NewWorld(comm)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, world.Close()) }()

	ctx := context.Background()
	executor := lanes.New(1) // what this rank computes with; nothing runs between calls
	x, v := make([]float64, particles), make([]float64, particles)
	for i := range x {
		x[i] = 1 + float64(i)/float64(particles)
	}
	const dt = 0.01
	for range steps {
		if err := step(ctx, comm, world, executor, x, v, dt); err != nil {
			return err // the same on every rank: all leave the loop together
		}
	}
	energy := []float64{0}
	for i := comm.Rank(); i < particles; i += comm.Size() {
		energy[0] += x[i]*x[i]/2 + v[i]*v[i]/2
	}
	if err := comm.AllreduceFloat64(ctx, energy, mpi.Sum); err != nil {
		return err
	}
	if comm.Rank() == 0 {
		fmt.Printf("%d steps of %d particles on %d ranks: x0 %.6f, energy %.6f\n", steps, particles, comm.Size(), x[0], energy[0])
	}
	return nil
}

// step advances by the semi-implicit Euler method. The forces come through the scheduler: the root
// gets them, and passes them on with a broadcast of its own.
func step(ctx context.Context, comm *mpi.Comm, world *hataori.World, executor lanes.Executor[lanes.Lane], x, v []float64, dt float64) error {
	var items []float64
	if comm.Rank() == 0 {
		items = x
	}
	forces, err := hataori.PmapLanes(ctx, world, executor, hataori.Options{}, items,
		func(_ context.Context, _ lanes.Lane, x float64) (float64, error) { return force(x), nil })
	if err != nil {
		return err
	}
	if forces, err = hataori.Broadcast(ctx, world, hataori.Options{}, forces); err != nil {
		return err
	}
	for i, f := range forces {
		v[i] += dt * f
		x[i] += dt * v[i]
	}
	return nil
}

// force is −x, by a sum whose length depends on x.
func force(x float64) float64 {
	f, term := 0.0, -x/2
	for ; math.Abs(term) > 1e-18; term /= 2 {
		f += term
	}
	return f
}
