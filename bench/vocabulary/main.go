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
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/hataori/hataori-go/adapter"
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
	call, err := measure(args[0], e)
	if err != nil {
		return err
	}
	calls := 1
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		for {
			d, err := sample(call, calls)
			if err != nil {
				return err
			}
			if d > 3*time.Millisecond || calls >= 1<<20 {
				fmt.Printf("%.1f\n", float64(d.Nanoseconds())/float64(calls))
				break
			}
			calls *= 2
		}
	}
	return nil
}

func open(workers int) (*cpu.Engine, error) {
	pool, err := cpu.NewPool(cpu.PoolOptions{Workers: workers})
	if err != nil {
		return nil, err
	}
	return cpu.New(pool, cpu.Options{})
}

func sample(call func() error, calls int) (time.Duration, error) {
	start := time.Now()
	for range calls {
		if err := call(); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

// worst alternates widths 1 and 2 over the measures and prints the greatest
// ratio of their times, behind its name.
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
		a, err := measure(n, one)
		if err != nil {
			return err
		}
		b, err := measure(n, two)
		if err != nil {
			return err
		}
		var times [2][]float64
		for range 15 {
			for w, call := range []func() error{a, b} {
				d, err := sample(call, 1)
				if err != nil {
					return err
				}
				times[w] = append(times[w], float64(d))
			}
		}
		for w := range times {
			slices.Sort(times[w])
		}
		// The lower quartiles: what neighbours take from a few samples says
		// nothing about a width, and the greatest of many ratios would be theirs.
		if r := times[1][3] / times[0][3]; r > most {
			name, most = n, r
		}
	}
	fmt.Println(name, most)
	return nil
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
			c, err := measure(name, e)
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
