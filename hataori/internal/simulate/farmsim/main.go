// Command farmsim prints what the scheduler does in worlds larger than the
// machine at hand, by simulation:
//
//	farmsim balance                makespans against list scheduling without any cost
//	farmsim root [-budget N]       how busy the root is, for items of 100 µs to 100 ms on up to 10,000 ranks
//	farmsim groups [-budget N]     efficiency without groups and in groups of about the square root of the number of ranks
//	farmsim saturation [-budget N] the number of ranks at which the root is busy all the time, one item per message
//
// The costs are those of simulate.Typical. The budget is the number of items of
// one run; root takes some minutes with the default.
package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/hataori/hataori-go/hataori/internal/simulate"
)

const ms = time.Millisecond

func main() {
	f := flag.NewFlagSet("farmsim", flag.ExitOnError)
	budget := f.Int("budget", 1_000_000, "items of one run")
	modes := map[string]func(int) error{"balance": balance, "root": root, "groups": groups, "saturation": saturation}
	if len(os.Args) < 2 || modes[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: farmsim balance|root|groups|saturation [flags]")
		os.Exit(2)
	}
	_ = f.Parse(os.Args[2:]) // ExitOnError
	if err := modes[os.Args[1]](*budget); err != nil {
		fmt.Fprintln(os.Stderr, "farmsim:", err)
		os.Exit(1)
	}
}

func balance(int) error {
	fmt.Println("ranks  lanes  items                       greedy ms   × greedy  batches  taken back")
	for _, w := range []struct{ ranks, lanes int }{{2, 1}, {2, 4}, {16, 1}, {64, 1}, {64, 4}} {
		n := 200 * w.ranks * w.lanes
		for _, c := range []struct {
			name  string
			items []time.Duration
		}{
			{"equal, 1 ms", simulate.Constant(n, ms)},
			{"equal, 100 µs", simulate.Constant(10*n, ms/10)},
			{"ascending to 2 ms", simulate.Ascending(n, ms)},
			{"descending from 2 ms", simulate.Descending(n, ms)},
			{"Pareto 1.5, 0.3 ms up", simulate.Pareto(n, 3*ms/10, 1.5, 1)},
			{"Pareto 1.5, 3 ms up", simulate.Pareto(n, 3*ms, 1.5, 2)},
			{"1 ms and one of 3 s", simulate.WithOne(n, ms, n/2, 3000*ms)},
		} {
			ranks := simulate.Uniform(w.ranks, w.lanes)
			r, err := simulate.Run(simulate.Config{Ranks: ranks, Items: c.items, Costs: simulate.Typical})
			if err != nil {
				return err
			}
			g := simulate.Greedy(c.items, simulate.Lanes(ranks))
			fmt.Printf("%5d  %5d  %-24s  %10.1f  %9.4f  %7d  %10d\n", w.ranks, w.lanes, c.name, g.Seconds()*1e3,
				float64(r.Elapsed)/float64(g), r.Granted.Batches, r.Granted.TakenBack)
		}
	}
	return nil
}

func root(budget int) error {
	fmt.Println("item     ranks  group  items/rank  messages/s  root busy  relay busy  lanes busy  efficiency")
	for _, d := range []time.Duration{ms / 10, ms, 10 * ms, 100 * ms} {
		for _, ranks := range []int{100, 1000, 10_000} {
			for _, group := range []int{0, 100} {
				if group == ranks {
					continue
				}
				l, err := simulate.Saturate(ranks, d, 2*time.Second, 0, group, budget)
				if err != nil {
					return err
				}
				s := l.Result.Steady
				fmt.Printf("%-7v %6d  %5d  %10d  %10.0f  %9.3f  %10.3f  %10.3f  %10.3f\n", d, ranks, group, l.PerRun, s.Messages, s.Root, l.Relay,
					min(s.Lanes, 1), l.Result.Efficiency(ranks))
			}
		}
	}
	return nil
}

func groups(budget int) error {
	fmt.Println("item     ranks  group  items/rank  efficiency without  in groups")
	for _, d := range []time.Duration{ms / 10, ms, 10 * ms} {
		for _, ranks := range []int{128, 256, 512, 1024, 4096} {
			group := int(math.Ceil(math.Sqrt(float64(ranks))))
			one, err := simulate.Saturate(ranks, d, time.Second/2, 0, 0, budget)
			if err != nil {
				return err
			}
			two, err := simulate.Saturate(ranks, d, time.Second/2, 0, group, budget)
			if err != nil {
				return err
			}
			fmt.Printf("%-7v %6d  %5d  %10d  %18.3f  %9.3f\n", d, ranks, group, one.PerRun, one.Result.Efficiency(ranks), two.Result.Efficiency(ranks))
		}
	}
	return nil
}

func saturation(budget int) error {
	const most = 20_000
	fmt.Println("item     one level   groups of 16  groups of 64  (ranks at which the root is busy all the time, one item per message)")
	for _, d := range []time.Duration{ms / 10, ms, 10 * ms, 100 * ms} {
		fmt.Printf("%-7v", d)
		for _, group := range []int{0, 16, 64} {
			n, err := simulate.Saturated(most, d, time.Second, 1, group, budget)
			if err != nil {
				return err
			}
			if n > most {
				fmt.Printf("  > %9d", most)
			} else {
				fmt.Printf("  %11d", n)
			}
		}
		fmt.Println()
	}
	return nil
}
