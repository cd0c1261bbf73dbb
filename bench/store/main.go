// Command store measures package store:
//
//	store rows FILE [-rows n]      rows of ten float64 per second, the file on disk at the end
//	store cost FILE [-items n]     what storing adds to a run of items of a millisecond, in % of the items' own time
//
// Each prints one number. The rival is bench/rivals/store.py with the same
// rows, chunks and filters.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hataori/hataori-go/store"
)

func main() {
	figure, err := measure(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "store:", err)
		os.Exit(1)
	}
	fmt.Println(figure)
}

func measure(args []string) (float64, error) {
	if len(args) < 2 {
		return 0, errors.New("usage: store rows|cost FILE [flags]")
	}
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	rows := flags.Int("rows", 100_000, "rows to write")
	items := flags.Int("items", 3000, "items of a millisecond")
	processor := flags.Bool("processor", false, "cost in processor time, which other programs and the disk do not disturb")
	_ = flags.Parse(args[2:]) // ExitOnError
	defer os.Remove(args[1])
	switch args[0] {
	case "rows":
		seconds, err := write(args[1], *rows, nil)
		return float64(*rows) / seconds, err
	case "cost":
		return cost(args[1], *items, *processor)
	}
	return 0, fmt.Errorf("no measure is called %s", args[0])
}

const width = 10

type row [width]float64

func rowAt(i int) (r row) {
	for k := range r {
		r[k] = float64(k + i)
	}
	return r
}

// cost is the time of everything but the items, opening and closing the file
// included, in percent of the items' time.
func cost(path string, items int, processor bool) (float64, error) {
	runtime.LockOSThread() // whose processor time is read
	defer runtime.UnlockOSThread()
	var work, workCPU time.Duration
	startCPU := cpu()
	all, err := write(path, items, func() {
		start, startCPU := time.Now(), cpu()
		for cpu()-startCPU < time.Millisecond {
		}
		work += time.Since(start)
		workCPU += cpu() - startCPU
	})
	if processor {
		return 100 * (float64(cpu()-startCPU)/float64(workCPU) - 1), err
	}
	return 100 * (all/work.Seconds() - 1), err
}

// cpu is the processor time that this thread has used.
func cpu() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// write makes a file and returns the seconds it took. work precedes each row.
func write(path string, rows int, work func()) (float64, error) {
	if err := os.RemoveAll(path); err != nil {
		return 0, err
	}
	start := time.Now()
	f, err := store.Create(path, store.Options{})
	if err != nil {
		return 0, err
	}
	s, err := store.NewSink[row](f, "data", store.SinkOptions{})
	if err != nil {
		return 0, err
	}
	ctx := context.Background()
	for i := range rows {
		if work != nil {
			work()
		}
		if err := s.Put(ctx, int64(i), rowAt(i)); err != nil {
			return 0, err
		}
	}
	if err := f.Close(); err != nil {
		return 0, err
	}
	return time.Since(start).Seconds(), nil
}
