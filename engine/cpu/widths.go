package cpu

import (
	"fmt"
	"runtime"
)

// WidthError is the warning of CheckWidths. Everything works beyond the limit,
// but slower: threads take turns on the processors.
type WidthError struct {
	Widths int // sum over the engines
	Procs  int // GOMAXPROCS
	CPUs   int // processors that this process may use
}

func (e *WidthError) Error() string {
	return fmt.Sprintf("cpu: engines of %d workers in all, and one goroutine that coordinates them, on GOMAXPROCS %d and %d processors: "+
		"take narrower pools or fewer engines, or raise GOMAXPROCS to %d where there are processors", e.Widths, e.Procs, e.CPUs, e.Widths+1)
}

// CheckWidths returns a *WidthError if the engines, running at the same time
// as lanes do, want more than there is: if their widths add up to more than the
// processors, or with one for the goroutine beside them to more than
// GOMAXPROCS. A program calls it once at its start and says what it returns.
// Engines of width 1 count too.
func CheckWidths(engines ...*Engine) error {
	sum := 0
	for _, e := range engines {
		sum += e.Width()
	}
	procs, cpus := runtime.GOMAXPROCS(0), runtime.NumCPU()
	if sum+1 > procs || sum > cpus {
		return &WidthError{Widths: sum, Procs: procs, CPUs: cpus}
	}
	return nil
}
