package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options are the flags of the program. They are the same on all ranks.
type options struct {
	file     string
	path     string
	circuit  string
	seed     uint64
	open     int
	slices   int
	memory   size
	data     size
	lanes    int
	threads  int
	provider string
	golden   string
	out      string
	resume   bool
	trace    string
	quiet    bool
	every    time.Duration
	json     bool
	verbose  bool
}

// The default circuit: large enough to show what lanes are for, small enough
// that its state vector can check it.
const (
	defaultCircuit = "4x5x42"
	defaultOpen    = 10
	defaultSlices  = 16
)

const usage = `contract contracts a tensor network: cut into slices, the slices spread over
the ranks of an MPI job and the lanes of each rank, each lane on an engine of
its own.

  contract                                a random quantum circuit, checked
  contract --file problem.json            a network of yours, or one of the einsum benchmark
  mpirun -n 4 contract --file problem.json --lanes 2

A network of yours: {"format": "ij,jk->ik", "operands": ["a.npy", "b.npy"]}

`

// parseOptions reads the command line. For --help it prints the flags to out
// and returns flag.ErrHelp.
func parseOptions(args []string, out io.Writer) (*options, error) {
	o := &options{memory: 1 << 30, data: 8 << 30}
	f := flag.NewFlagSet("contract", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.file, "file", "", "problem `file` (JSON); without it a circuit is contracted")
	f.StringVar(&o.path, "path", "", "`name` of the contraction path in the file, or own for the planner's (default opt_size where the file has one, else own)")
	f.StringVar(&o.circuit, "circuit", defaultCircuit, "random circuit of `RxCxD`: rows and columns of qubits, cycles of gates")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the circuit's gates and output bits")
	f.IntVar(&o.open, "open", defaultOpen, "qubits of the circuit whose output is left open: 2^`n` amplitudes at once")
	f.IntVar(&o.slices, "slices", defaultSlices, "cut into at least `n` slices, as far as the labels allow")
	f.Var(&o.memory, "memory", "largest intermediate of a slice, in `bytes`; 512M, 2G and the like are understood")
	f.Var(&o.data, "data", "most `bytes` that operands and output of the problem and, without --out, the slices' outputs may take together")
	f.IntVar(&o.lanes, "lanes", 0, "`number` of lanes per rank; 0 shares the host's cores out to its ranks")
	f.IntVar(&o.threads, "threads", 1, "`number` of workers of each lane's engine")
	f.StringVar(&o.provider, "provider", "auto", "who multiplies matrices: auto, native or blas")
	f.StringVar(&o.golden, "golden", "", "compare with the values in this `file` and fail on disagreement")
	f.StringVar(&o.out, "out", "", "keep the slices' outputs in this HDF5 `file` as they come, and the whole at the end; a name in .npy takes the whole alone")
	f.BoolVar(&o.resume, "resume", false, "go on with the file of --out, if there is one: only the slices that it lacks are contracted")
	f.BoolVar(&o.json, "json", false, "print one JSON object on one line")
	f.StringVar(&o.trace, "trace", "", "record what each lane did when in this `file`, for hataori report")
	f.BoolVar(&o.quiet, "no-progress", false, "do not show how far the work has come")
	f.DurationVar(&o.every, "progress-every", 30*time.Second, "`time` between two lines of progress where standard error is no terminal")
	f.BoolVar(&o.verbose, "v", false, "print the plan as well, and everything about an error")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			f.SetOutput(out)
			fmt.Fprint(out, usage)
			f.PrintDefaults()
			return nil, err
		}
		return nil, fmt.Errorf("%w; contract --help lists the flags", err)
	}
	given := map[string]bool{}
	f.Visit(func(fl *flag.Flag) { given[fl.Name] = true })
	return o, o.check(f.Args(), given)
}

// check reports every fault of the flags at once.
func (o *options) check(rest []string, given map[string]bool) error {
	var faults []string
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	fault(len(rest) > 0, "unexpected argument %q: give the problem with --file", rest)
	for _, name := range []string{"circuit", "seed", "open"} {
		fault(given["file"] && given[name], "--file and --%s exclude each other", name)
	}
	fault(given["file"] && o.file == "", "--file is empty")
	fault(given["path"] && !given["file"], "--path needs --file: circuits are planned by the program")
	fault(given["out"] && o.out == "", "--out is empty")
	fault(given["trace"] && o.trace == "", "--trace is empty")
	fault(sameFile(o.out, o.trace), "--out and --trace name the same file")
	for _, in := range []struct{ flag, name string }{{"file", o.file}, {"golden", o.golden}} {
		fault(sameFile(o.out, in.name), "--out would overwrite the file of --%s", in.flag)
		fault(sameFile(o.trace, in.name), "--trace would overwrite the file of --%s", in.flag)
	}
	fault(o.every <= 0, "--progress-every %v: must be positive", o.every)
	fault(o.resume && !o.keeps(), "--resume needs --out with an HDF5 file, whose rows say what is there")
	fault(o.slices < 1, "--slices %d: must be at least 1", o.slices)
	fault(o.slices > mostSlices, "--slices %d: must be at most %d", o.slices, mostSlices)
	fault(o.lanes < 0, "--lanes %d: must not be negative", o.lanes)
	fault(o.threads < 1, "--threads %d: must be at least 1", o.threads)
	fault(o.memory < 1, "--memory %v: must be positive", o.memory)
	fault(o.data < 1, "--data %v: must be positive", o.data)
	providers := []string{"auto", "native", "blas"}
	fault(!slices.Contains(providers, o.provider), "--provider %q: must be one of %s", o.provider, strings.Join(providers, ", "))
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "; "))
	}
	return nil
}

// sameFile reports whether two names are those of one file.
func sameFile(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return filepath.Clean(a) == filepath.Clean(b) || errX == nil && errY == nil && os.SameFile(x, y)
}

// size is a number of bytes with an optional suffix K, M, G or T (powers of
// 1024).
type size int64

const sizeSuffixes = "KMGT"

// Set reads a size; it makes *size a flag.Value.
func (s *size) Set(text string) error {
	digits, shift := text, 0
	if n := len(text); n > 0 {
		if i := strings.IndexByte(sizeSuffixes, text[n-1]); i >= 0 {
			digits, shift = text[:n-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > (1<<62)>>shift {
		return fmt.Errorf("%q is not a size such as 800000, 512M or 2G", text)
	}
	*s = size(n << shift)
	return nil
}

func (s size) String() string {
	suffix := ""
	for i := 0; i < len(sizeSuffixes) && s != 0 && s%1024 == 0; i++ {
		s, suffix = s/1024, sizeSuffixes[i:i+1]
	}
	return strconv.FormatInt(int64(s), 10) + suffix
}
