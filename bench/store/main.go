// Command store measures package store beside h5py on the same rows, and what
// storing costs a run of items of a millisecond. Both sides write the same
// dataset with the same chunks and filters and bring it to the disk.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hataori/hataori-go/store"
)

func main() {
	rows := flag.Int("rows", 100_000, "rows per file")
	pairs := flag.Int("pairs", 5, "alternating pairs")
	items := flag.Int("items", 5000, "items of a millisecond")
	python := flag.String("python", "/usr/bin/python3", "Python with h5py; empty: no rival")
	rival := flag.String("rival", "bench/store/h5py_append.py", "the rival's script")
	dir := flag.String("dir", "", "where the files are written; empty: a temporary directory")
	flag.Parse()
	if err := run(*rows, *pairs, *items, *python, *rival, *dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const width = 10

type row [width]float64

func rowAt(i int) (r row) {
	for k := range r {
		r[k] = float64(k + i)
	}
	return r
}

func run(rows, pairs, items int, python, rival, dir string) error {
	tmp, err := os.MkdirTemp(dir, "store")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	name, version, err := store.Version("")
	if err != nil {
		return err
	}
	fmt.Printf("store: HDF5 %s (%s), %d rows of %d float64, %d pairs\n", version, name, rows, width, pairs)

	kinds := []string{"resize", "sized", "blocks"}
	var ours []float64
	theirs := map[string][]float64{}
	for range pairs {
		s, err := write(filepath.Join(tmp, "ours.h5"), rows, nil)
		if err != nil {
			return err
		}
		ours = append(ours, s)
		if python == "" {
			continue
		}
		for _, kind := range kinds {
			s, err := h5py(python, rival, filepath.Join(tmp, "theirs.h5"), rows, kind)
			if err != nil {
				return err
			}
			theirs[kind] = append(theirs[kind], s)
		}
	}
	report("store rows/s", float64(rows), ours)
	for _, kind := range kinds {
		if len(theirs[kind]) == 0 {
			continue
		}
		report("h5py "+kind+" rows/s", float64(rows), theirs[kind])
		ratios := make([]float64, pairs)
		for i := range ratios {
			ratios[i] = theirs[kind][i] / ours[i]
		}
		report("store / h5py "+kind, 0, ratios)
	}
	return cost(tmp, items, pairs)
}

// cost is the share of time that the calls into the store take in a run of
// millisecond items, opening and closing included: by the clock, which counts
// what the disk and other programs take, and in processor time, which does not.
func cost(tmp string, items, pairs int) error {
	runtime.LockOSThread() // whose processor time is read
	defer runtime.UnlockOSThread()
	var clock, processor []float64
	for range pairs {
		var work, workCPU time.Duration
		startCPU := cpu()
		all, err := write(filepath.Join(tmp, "ours.h5"), items, func(i int) {
			start, startCPU := time.Now(), cpu()
			spin(i)
			work += time.Since(start)
			workCPU += cpu() - startCPU
		})
		if err != nil {
			return err
		}
		allCPU := cpu() - startCPU
		clock = append(clock, 100*(all-work.Seconds())/work.Seconds())
		processor = append(processor, 100*float64(allCPU-workCPU)/float64(workCPU))
	}
	report("cost at 1 ms items, clock, %", 0, clock)
	report("cost at 1 ms items, processor, %", 0, processor)
	return nil
}

// cpu is the processor time that this thread has used.
func cpu() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// spin is a millisecond of work, in processor time.
func spin(int) {
	for start := cpu(); cpu()-start < time.Millisecond; {
	}
}

// write makes a file and returns the seconds it took. work precedes each row.
func write(path string, rows int, work func(i int)) (float64, error) {
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
			work(i)
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

func h5py(python, script, path string, rows int, kind string) (float64, error) {
	out, err := exec.Command(python, script, path, strconv.Itoa(rows), strconv.Itoa(width), kind).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s: %w: %s", script, err, out)
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}

// report prints median, least and greatest of the values, or of total/value.
func report(name string, total float64, values []float64) {
	v := slices.Clone(values)
	if total != 0 {
		for i := range v {
			v[i] = total / v[i]
		}
	}
	slices.Sort(v)
	fmt.Printf("%-32s median %.4g  least %.4g  greatest %.4g\n", name, v[len(v)/2], v[0], v[len(v)-1])
}
