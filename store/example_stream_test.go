//go:build unix

package store_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"

	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
	"github.com/hataori/hataori-go/store"
	"github.com/hataori/hataori-go/transport"
)

// The results of a stream go to a file as they come. A second run finds some of
// them there, and evaluates the others only.
func Example_stream() {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "cubes.h5")

	run := func(items []float64) {
		err := mpitest.New(2, mpitest.Options{}).Run(func(comm transport.Comm) error {
			stats, err := cubes(comm, path, items)
			if comm.Rank() == 0 {
				fmt.Println("evaluated", stats.Items, "found", stats.Skipped)
			}
			return err
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	run([]float64{1, 2, 3})
	run([]float64{1, 2, 3, 4, 5})
	// Output:
	// evaluated 3 found 0
	// evaluated 2 found 3
}

func cubes(comm transport.Comm, path string, items []float64) (stats hataori.Stats, err error) {
	world, err := hataori.NewWorld(comm)
	if err != nil {
		return stats, err
	}
	defer func() { err = errors.Join(err, world.Close()) }()
	var source hataori.Source[float64]
	var sink hataori.Sink[float64]
	var file *store.File
	if world.Rank() == 0 {
		file, err = store.Resume(path, store.Options{Fingerprint: "cubes, version 1"})
		if err == nil {
			source = hataori.FromSeq(slices.Values(items))
			sink, err = store.NewSink[float64](file, "cube", store.SinkOptions{Units: "m^3"})
		}
	}
	ctx := context.Background()
	if err := world.Agree(ctx, err); err != nil { // the file of one rank is everybody's concern
		return stats, err
	}
	err = hataori.PmapStream(ctx, world, lanes.New(1), hataori.Options{Stats: &stats}, source, sink,
		func(_ context.Context, _ lanes.Lane, x float64) (float64, error) { return x * x * x, nil })
	if file != nil {
		err = errors.Join(err, file.Close()) // after a failure too: what came is kept
	}
	return stats, err
}
