// Command vocabulary measures operations on the CPU engine, for
// scripts/bench.sh. For each line of its input it takes one sample and prints
// the time of one call, into an output that exists, in nanoseconds:
//
//	vocabulary NAME [-workers N]
//	vocabulary lanes [-engines N] [-rounds N]   rounds of work per second of N engines in N lanes
//
// bench/rivals/vocabulary.py and permute.c do the same elsewhere.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/hataori/hataori-go/adapter"
	"github.com/hataori/hataori-go/bench/internal/serve"
	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/hataori"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "vocabulary:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("usage: vocabulary NAME|lanes [flags]")
	}
	f := flag.NewFlagSet("vocabulary", flag.ExitOnError)
	workers := f.Int("workers", 1, "width of the engine")
	engines := f.Int("engines", 2, "engines, one in each lane")
	rounds := f.Int("rounds", 40, "rounds of work of each lane")
	_ = f.Parse(args[1:]) // ExitOnError
	if args[0] == "lanes" {
		return lanes(*engines, *rounds)
	}
	e, err := open(*workers)
	if err != nil {
		return err
	}
	defer e.Close()
	bind, err := measure(args[0], e)
	if err != nil {
		return err
	}
	call, err := bind(e)
	if err != nil {
		return err
	}
	return serve.Samples(call)
}

func open(workers int) (*cpu.Engine, error) {
	pool, err := cpu.NewPool(cpu.PoolOptions{Workers: workers})
	if err != nil {
		return nil, err
	}
	return cpu.New(pool, cpu.Options{})
}

// lanes lends an engine to each lane and lets each do the same rounds of work.
func lanes(n, rounds int) error {
	engines := make([]engine.Execution, n)
	for i := range engines {
		e, err := cpu.Serial(cpu.Options{})
		if err != nil {
			return err
		}
		defer e.Close()
		engines[i] = e
	}
	ex, err := adapter.New(engines, adapter.Options[engine.Execution]{})
	if err != nil {
		return err
	}
	work := func(e engine.Execution, rounds int) error {
		var calls []func() error
		for _, name := range []string{"exp-f64", "add-f64", "product"} {
			bind, err := measure(name, e)
			if err != nil {
				return err
			}
			c, err := bind(e)
			if err != nil {
				return err
			}
			calls = append(calls, c)
		}
		for range rounds {
			for _, c := range calls {
				if err := c(); err != nil {
					return err
				}
			}
		}
		return nil
	}
	items := make([]int, n)
	each := func(rounds int) error {
		_, err := hataori.MapLanes(context.Background(), ex, items,
			func(_ context.Context, e engine.Execution, _ int) (int, error) { return 0, work(e, rounds) })
		return err
	}
	if err := each(1); err != nil {
		return err
	}
	start := time.Now()
	if err := each(rounds); err != nil {
		return err
	}
	fmt.Println(float64(n*rounds) / time.Since(start).Seconds())
	return nil
}
