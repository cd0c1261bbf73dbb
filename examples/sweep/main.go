// Sweep evaluates an ordinary Go function over a list of parameters, on every
// core of every rank: the period of a pendulum for many amplitudes, each by
// integrating its motion. There is no engine and nothing to set up.
//
//	sweep -n 20
//	mpirun -n 4 --bind-to none sweep -n 2000
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"

	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/mpi"
)

func main() {
	n := flag.Int("n", 20, "number of amplitudes between 0 and π")
	step := flag.Float64("step", 1e-5, "time step of the integration, in units of √(length/gravity)")
	verbose := flag.Bool("v", false, "tell everything about an error")
	flag.Parse()
	p := mpi.Program{Details: "-v", Verbose: *verbose}
	os.Exit(p.Run(func(ctx context.Context, rt *mpi.Runtime) error { return sweep(ctx, rt, *n, *step) }))
}

func sweep(ctx context.Context, rt *mpi.Runtime, n int, step float64) (err error) {
	world, err := hataori.NewWorld(rt.World())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, world.Close()) }()

	if n < 0 {
		return fmt.Errorf("-n %d: must not be negative", n)
	}
	var amplitudes []float64 // of the root, which is rank 0
	if world.Rank() == 0 {
		for i := range n {
			amplitudes = append(amplitudes, math.Pi*(float64(i)+0.5)/float64(n))
		}
	}
	periods, err := hataori.Pmap(ctx, world, hataori.Options{}, amplitudes, func(ctx context.Context, amplitude float64) (float64, error) {
		return period(ctx, amplitude, step)
	})
	if err != nil {
		return err
	}
	for i, t := range periods {
		fmt.Fprintf(os.Stdout, "%.6f %.9f\n", amplitudes[i], t)
	}
	return nil
}

// period is that of θ″ = −sin θ released at rest at an amplitude: four times the
// time until θ = 0, by velocity Verlet. Large amplitudes take longer, so the
// items are uneven.
func period(ctx context.Context, amplitude, step float64) (float64, error) {
	if !(step > 0) {
		return 0, fmt.Errorf("step %v: must be positive", step)
	}
	theta, omega := amplitude, 0.0
	for k := 0; ; k++ {
		if k%(1<<20) == 0 && ctx.Err() != nil { // another item has failed, or the job is to end
			return 0, ctx.Err()
		}
		half := omega - step/2*math.Sin(theta)
		next := theta + step*half
		if next <= 0 {
			return 4 * step * (float64(k) + theta/(theta-next)), nil
		}
		theta, omega = next, half-step/2*math.Sin(next)
	}
}
