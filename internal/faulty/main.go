// Faulty is a small job on which anything can go wrong on demand. It is written
// as users write theirs, on mpi.Program and hataori.PmapLanes with one engine per
// lane, so that what it shows of launchers, statuses and messages holds for them.
// scripts/faults.sh runs its events under every launcher and compares with the
// table in docs/endings.md.
//
//	mpirun -n 3 faulty --event item-error; echo $?
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hataori/hataori-go/mpi"
)

type options struct {
	event     string
	items     int
	work      time.Duration
	timeLimit time.Duration
	lanes     int
	dir       string
	job       string
	log       bool
}

func main() {
	o, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(64)
	}
	p := mpi.Program{Options: mpi.Options{Lanes: o.lanes}, Grace: 3 * time.Second}
	os.Exit(p.Run(func(ctx context.Context, rt *mpi.Runtime) error {
		if o.timeLimit > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, o.timeLimit)
			defer cancel()
		}
		return run(ctx, rt, o, os.Stdout)
	}))
}

func parse(args []string) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("faulty", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.event, "event", "ok", "what goes wrong")
	f.IntVar(&o.items, "items", 60, "number of items")
	f.DurationVar(&o.work, "work", 20*time.Millisecond, "how long an item takes")
	f.DurationVar(&o.timeLimit, "time-limit", 0, "after which the job ends itself, 0: none")
	f.IntVar(&o.lanes, "lanes", 2, "number of lanes per rank")
	f.StringVar(&o.dir, "dir", "", "where ranks write what they did, nowhere if empty")
	f.StringVar(&o.job, "job", "", "ignored: a mark by which the job's processes are found")
	f.BoolVar(&o.log, "log", false, "let the root log warnings")
	if err := f.Parse(args); err != nil {
		return nil, fmt.Errorf("faulty: %w", err)
	}
	if !slices.Contains(eventNames(), o.event) {
		return nil, fmt.Errorf("faulty: --event %s: there are %s", o.event, strings.Join(eventNames(), ", "))
	}
	if o.lanes < 1 || o.items < 0 {
		return nil, fmt.Errorf("faulty: %d lanes, %d items", o.lanes, o.items)
	}
	return o, nil
}
