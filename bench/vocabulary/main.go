// Command vocabulary measures operations on the CPU engine, for
// scripts/bench.sh. For each line of its input it takes one sample and prints
// the time of one call, into an output that exists, in nanoseconds:
//
//	vocabulary NAME [-workers N]
//	vocabulary lanes [-engines N] [-rounds N]   rounds of work per second of N engines in N lanes
//	vocabulary workers                          the worst time on two workers, as a part of that on one
//
// bench/rivals/vocabulary.py and permute.c do the same elsewhere.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
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
		return fmt.Errorf("usage: vocabulary NAME|lanes|workers [flags]")
	}
	f := flag.NewFlagSet("vocabulary", flag.ExitOnError)
	workers := f.Int("workers", 1, "width of the engine")
	engines := f.Int("engines", 2, "engines, one in each lane")
	rounds := f.Int("rounds", 40, "rounds of work of each lane")
	_ = f.Parse(args[1:]) // ExitOnError
	switch args[0] {
	case "lanes":
		return lanes(*engines, *rounds)
	case "workers":
		return worst()
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

// worst alternates widths 1 and 2 over the measures, on the same operands, and
// prints the ratios of their times, the greatest last.
func worst() error {
	one, err := open(1)
	if err != nil {
		return err
	}
	defer one.Close()
	two, err := open(2)
	if err != nil {
		return err
	}
	defer two.Close()
	name, most := "", 0.0
	for _, n := range names() {
		r, err := ratio(n, one, two)
		if err == nil && r > 0.9 { // the median of three, each with other pages of memory
			rs := []float64{r, 0, 0}
			for i := 1; i < len(rs) && err == nil; i++ {
				rs[i], err = ratio(n, one, two)
			}
			slices.Sort(rs)
			r = rs[1]
		}
		if err != nil {
			return err
		}
		fmt.Println(n, r)
		if r > most {
			name, most = n, r
		}
	}
	fmt.Println("worst:", name, most)
	return nil
}

// ratio is the time of a measure on two workers as a part of that on one: of the
// lower quartiles of 31 pairs, because what neighbours take from some samples
// says nothing about a width, and the greatest of many ratios would be theirs.
func ratio(name string, one, two *cpu.Engine) (float64, error) {
	bind, err := measure(name, one)
	if err != nil {
		return 0, err
	}
	var calls [2]func() error
	for w, e := range []*cpu.Engine{one, two} {
		if calls[w], err = bind(e); err != nil {
			return 0, err
		}
	}
	var times [2][]float64
	for pair := range 31 {
		for i := range calls {
			w := (pair + i) % 2 // who goes first changes
			start := time.Now()
			if err := calls[w](); err != nil {
				return 0, err
			}
			times[w] = append(times[w], float64(time.Since(start)))
		}
	}
	for w := range times {
		slices.Sort(times[w])
	}
	return times[1][7] / times[0][7], nil
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
