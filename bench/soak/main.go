// Command soak runs calls of every kind for a long time and watches whether the
// memory of any rank grows. It runs under a launcher:
//
//	mpirun -n 4 soak [-items N] [-for D] [-rounds R] [-v]
//
// The items are spread over rounds of the same calls: one long stream, many short
// calls, some that fail or are cancelled, and collective operations. Every result
// is checked. After each round each rank is measured at rest, that is after a
// garbage collection that gives back what it can, and its peak during the round is
// taken, too. The first fifth of the rounds is warm-up. It prints one line
//
//	SOAK items=… ranks=… rounds=… rest=… heap=… peak=… goroutines=… files=… bar=5% holds|short
//
// where rest, heap and peak say by how much a rank's resident set at rest, live
// heap and largest resident set grew from the first third of the rounds to the last,
// at most of all ranks; growth of the heap by less than 32 KiB counts as none. The status is 0 if all of it holds, 1 if not, 2 if a call
// went wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/mpi"
)

type options struct {
	items, rounds int
	long          time.Duration
	verbose       bool
}

func main() {
	var o options
	flag.IntVar(&o.items, "items", 10_000_000, "number of items in all rounds")
	flag.IntVar(&o.rounds, "rounds", 100, "number of rounds, at least 10")
	flag.DurationVar(&o.long, "for", 0, "go on with rounds of the same length for this long")
	flag.BoolVar(&o.verbose, "v", false, "print every rank's memory after each round")
	flag.Parse()
	if o.items < 1 || o.rounds < 10 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "soak: at least one item and ten rounds, and no arguments")
		os.Exit(2)
	}
	short := false
	status := mpi.Program{Options: mpi.Options{Lanes: 1}}.Run(func(ctx context.Context, rt *mpi.Runtime) error {
		holds, err := soak(ctx, rt, o)
		short = !holds
		return err
	})
	switch {
	case status == mpi.ExitError:
		status = 2
	case status == 0 && short:
		status = 1
	}
	os.Exit(status)
}

// soak is one rank's part. All ranks say the same about whether memory is flat.
func soak(ctx context.Context, rt *mpi.Runtime, o options) (holds bool, err error) {
	world, err := hataori.NewWorld(rt.World())
	if err != nil {
		return false, err
	}
	s := &rank{world: world, perRound: (o.items + o.rounds - 1) / o.rounds}
	watch := newWatch()
	start := time.Now()
	for r := 0; ; r++ {
		more := r < o.rounds || time.Since(start) < o.long
		if more, err = hataori.Broadcast(ctx, world, hataori.Options{}, more); err != nil || !more {
			break
		}
		watch.begin()
		err := s.round(ctx)
		watch.end()
		if err != nil {
			return false, fmt.Errorf("round %d: %w", r, err)
		}
	}
	if err != nil {
		return false, err
	}
	all, err := hataori.Gather(ctx, world, hataori.Options{}, watch.samples)
	if err != nil {
		return false, err
	}
	if world.Rank() == 0 {
		if o.verbose {
			printSamples(os.Stdout, all)
		}
		g := judge(all)
		holds = g.holds()
		verdict := "short"
		if holds {
			verdict = "holds"
		}
		fmt.Printf("SOAK items=%d ranks=%d rounds=%d %v bar=%g%% %s # %.0f s\n",
			s.items, world.Size(), watch.rounds, g, 100*bar, verdict, time.Since(start).Seconds())
	}
	if holds, err = hataori.Broadcast(ctx, world, hataori.Options{}, holds); err != nil {
		return false, err
	}
	return holds, world.Close()
}

var errExpected = errors.New("soak: an item fails on purpose")
