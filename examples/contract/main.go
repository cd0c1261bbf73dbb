// Contract contracts a tensor network on the lanes of all ranks of an MPI job,
// or of one machine without MPI: the network is cut into slices, the slices are
// the items, and each lane contracts them on a warm engine of its own.
//
// The network comes from a JSON file, with operands in .npy files or, as in the
// einsum benchmark, made up:
//
//	{"format": "ij,jk->ik", "operands": ["a.npy", "b.npy"]}
//
// docs/networks.md has the whole format. Without a file it is the network of the
// amplitudes of a random quantum circuit, which the program checks against the
// circuit's state vector. With equal flags for threads, provider and
// slices the result has the same bits on any number of ranks and lanes.
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"

	"github.com/hataori/hataori-go/mpi"
)

func main() {
	o, err := parseOptions(os.Args[1:], os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	program := mpi.Program{Details: "-v"}
	if err == nil {
		program.Verbose = o.verbose
		program.Options = mpi.Options{
			Lanes: o.lanes, ThreadsPerLane: o.threads,
			Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		}
	}
	os.Exit(program.Run(func(ctx context.Context, rt *mpi.Runtime) error {
		if err != nil {
			return err // told once, not by every rank
		}
		laneCount := o.lanes
		if laneCount == 0 {
			laneCount = rt.Lanes(o.threads)
			if err := rt.CheckLanes(laneCount, o.threads); err != nil { // those that were asked for are checked
				return err
			}
		}
		return contractOn(ctx, rt.World(), o, laneCount, os.Stdout)
	}))
}
