package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sample is a rank after a round.
type Sample struct {
	Rest       int64 // bytes resident after a garbage collection
	Heap       int64 // bytes of live objects then
	Peak       int64 // most bytes resident during the round
	Goroutines int64
	Files      int64 // open file descriptors
}

// watch takes samples, of each round at first and of every second, fourth, …
// later, so that it does not grow itself.
type watch struct {
	samples []Sample
	rounds  int
	stride  int
	quit    chan struct{}
	peak    chan int64
}

const mostSamples = 1 << 10

func newWatch() *watch { return &watch{stride: 1, samples: make([]Sample, 0, mostSamples)} }

// begin starts to look for the peak.
func (w *watch) begin() {
	w.quit, w.peak = make(chan struct{}), make(chan int64)
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		most := resident()
		for {
			select {
			case <-tick.C:
				most = max(most, resident())
			case <-w.quit:
				w.peak <- most
				return
			}
		}
	}()
}

func (w *watch) end() {
	close(w.quit)
	s := Sample{Peak: <-w.peak}
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.Rest, s.Heap, s.Goroutines = resident(), int64(m.HeapAlloc), int64(runtime.NumGoroutine())
	if fds, err := os.ReadDir("/proc/self/fd"); err == nil {
		s.Files = int64(len(fds))
	}
	w.add(s)
}

func (w *watch) add(s Sample) {
	if w.rounds++; w.rounds%w.stride != 0 {
		return
	}
	if len(w.samples) == mostSamples {
		for i := range mostSamples / 2 {
			w.samples[i] = w.samples[2*i+1]
		}
		w.samples = w.samples[:mostSamples/2]
		if w.stride *= 2; w.rounds%w.stride != 0 {
			return
		}
	}
	w.samples = append(w.samples, s)
}

// resident returns the bytes of this process that are in memory, 0 where the
// system does not say.
func resident() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(b))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// bar is how much memory may grow; a live heap that grows by less than a few
// pages has not grown.
const (
	bar   = 0.05
	slack = 32 << 10
)

// growth is the largest of any rank.
type growth struct {
	rest, heap, peak  float64 // shares
	goroutines, files int64
	unknown           bool // the system does not tell what a process has in memory
}

func (g growth) holds() bool {
	return !g.unknown && g.rest <= bar && g.heap <= bar && g.peak <= bar && g.goroutines <= 0 && g.files <= 0
}

func (g growth) String() string {
	return fmt.Sprintf("rest=%+.2f%% heap=%+.2f%% peak=%+.2f%% goroutines=%+d files=%+d", 100*g.rest, 100*g.heap, 100*g.peak, g.goroutines, g.files)
}

// judge compares medians of the last third of the rounds with those of the first,
// after the warm-up; of peaks, which depend on when garbage is collected, it
// compares what nine of ten rounds stay below.
func judge(all [][]Sample) growth {
	g := growth{rest: -1, heap: -1, peak: -1, goroutines: -(1 << 62), files: -1 << 62}
	for _, samples := range all {
		steady := samples[len(samples)/5:]
		third := (len(steady) + 2) / 3
		first, last := steady[:third], steady[len(steady)-third:]
		ratio := func(q float64, f func(Sample) int64, slack int64) float64 {
			was, is := quantile(first, q, f), quantile(last, q, f)
			is = max(is-slack, min(is, was))
			if was <= 0 {
				g.unknown = true
				return 0
			}
			return float64(is)/float64(was) - 1
		}
		g.rest = max(g.rest, ratio(0.5, func(s Sample) int64 { return s.Rest }, 0))
		g.heap = max(g.heap, ratio(0.5, func(s Sample) int64 { return s.Heap }, slack))
		g.peak = max(g.peak, ratio(0.9, func(s Sample) int64 { return s.Peak }, 0))
		more := func(f func(Sample) int64) int64 { return quantile(last, 0.5, f) - quantile(first, 0.5, f) }
		g.goroutines = max(g.goroutines, more(func(s Sample) int64 { return s.Goroutines }))
		g.files = max(g.files, more(func(s Sample) int64 { return s.Files }))
	}
	return g
}

func quantile(samples []Sample, q float64, f func(Sample) int64) int64 {
	values := make([]int64, len(samples))
	for i, s := range samples {
		values[i] = f(s)
	}
	slices.Sort(values)
	return values[int(q*float64(len(values)-1))]
}

// printSamples prints a table, in MiB.
func printSamples(w io.Writer, all [][]Sample) {
	const mib = 1 << 20
	for round := range all[0] {
		for r := range all {
			s := all[r][round]
			fmt.Fprintf(w, "round %3d rank %d: rest %6.2f heap %6.3f peak %6.2f MiB, %d goroutines, %d files\n", round, r,
				float64(s.Rest)/mib, float64(s.Heap)/mib, float64(s.Peak)/mib, s.Goroutines, s.Files)
		}
	}
}
