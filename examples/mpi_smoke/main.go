// Command mpi_smoke proves that an installation works: MPI, lanes, engines and
// the scheduler between them. On success it prints one line, on the root, that
// begins with "mpi_smoke: ok", and nothing else; on failure it says on standard
// error what did not hold and on which rank, and exits non-zero.
//
//	go run ./examples/mpi_smoke
//	mpirun -n 4 mpi_smoke --lanes 2
//	mpirun -n 4 mpi_smoke --fail-at 7     # must fail, naming item 7
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/mpi"
)

type options struct {
	lanes  int
	items  int
	failAt int
	group  int
	json   bool
	v      bool
}

const noFailure = -1

// widestEngine is the number of workers of the widest engine that a lane gets.
const widestEngine = 2

func main() {
	o, parseErr := parse(os.Args[1:])
	p := mpi.Program{Options: mpi.Options{Lanes: o.lanes}, Details: "-v", Verbose: o.v}
	os.Exit(p.Run(func(ctx context.Context, rt *mpi.Runtime) error {
		// Refused here rather than before, so that one rank says it for all.
		switch {
		case errors.Is(parseErr, flag.ErrHelp):
			if rt.World().Rank() == 0 {
				usage(os.Stdout)
			}
			return nil
		case parseErr != nil:
			return parseErr
		}
		return smoke(ctx, rt, o, os.Stdout)
	}))
}

func flags(o *options) *flag.FlagSet {
	f := flag.NewFlagSet("mpi_smoke", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.IntVar(&o.lanes, "lanes", 1, "`number` of lanes per rank, each with an engine of its own")
	f.IntVar(&o.items, "items", 100, "`number` of items")
	f.IntVar(&o.failAt, "fail-at", noFailure, "make item `K` fail for good; the program then fails too")
	f.IntVar(&o.group, "group", 0, "`number` of ranks of a group that the root grants to as to one; 1: none, -1: by host, 0: by size")
	f.BoolVar(&o.json, "json", false, "print one JSON object on one line")
	f.BoolVar(&o.v, "v", false, "tell everything about an error")
	return f
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "mpi_smoke proves that MPI, lanes, engines and scheduler work together.")
	f := flags(new(options))
	f.SetOutput(w)
	f.PrintDefaults()
}

// parse reads the command line and reports every fault of it at once.
func parse(args []string) (options, error) {
	o := options{}
	f := flags(&o)
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return options{}, fmt.Errorf("mpi_smoke: %w; --help lists the flags", err)
	}
	var faults []string
	if f.NArg() > 0 {
		faults = append(faults, fmt.Sprintf("unexpected arguments %q", f.Args()))
	}
	if o.lanes < 1 {
		faults = append(faults, fmt.Sprintf("--lanes %d: must be at least 1", o.lanes))
	}
	if o.items < 0 {
		faults = append(faults, fmt.Sprintf("--items %d: must not be negative", o.items))
	}
	if o.group < hataori.GroupByHost {
		faults = append(faults, fmt.Sprintf("--group %d: must not be below %d", o.group, hataori.GroupByHost))
	}
	if o.failAt != noFailure && (o.failAt < 0 || o.failAt >= o.items) {
		faults = append(faults, fmt.Sprintf("--fail-at %d: there are items 0 to %d", o.failAt, o.items-1))
	}
	if len(faults) > 0 {
		return options{}, fmt.Errorf("mpi_smoke: %s", strings.Join(faults, "; "))
	}
	return o, nil
}

// report is what the root prints.
type report struct {
	Name    string   `json:"name"`
	OK      bool     `json:"ok"`
	Ranks   int      `json:"ranks"`
	Lanes   int      `json:"lanes"`
	Items   int      `json:"items"`
	Hosts   []string `json:"hosts"`
	Library string   `json:"library"`
	Level   string   `json:"level"`
	Proofs  []string `json:"proofs"`
	Seconds float64  `json:"seconds"`
}

func (r *report) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	_, err := fmt.Fprintf(out, "mpi_smoke: ok: %s on %s, %s each, %s; %s, %s; %.3f s\n", count(r.Ranks, "rank"),
		count(len(r.Hosts), "host"), count(r.Lanes, "lane"), count(r.Items, "item"), r.Library, r.Level, r.Seconds)
	return err
}

// library is the name and release of the MPI library: the first item of what the
// library says of itself, which may go on to how it was compiled.
func library(rt *mpi.Runtime) string {
	if rt.Library() == "" {
		return "no MPI library"
	}
	name, _, _ := strings.Cut(rt.Version(), ",")
	return strings.Join(strings.Fields(name), " ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// smoke runs all proofs on this rank.
func smoke(ctx context.Context, rt *mpi.Runtime, o options, out io.Writer) error {
	start := time.Now()
	s, err := newStation(ctx, rt, o)
	if err != nil {
		return err
	}
	defer s.close()
	if o.failAt != noFailure {
		return s.failForGood(ctx, o.failAt)
	}
	r := &report{Name: "mpi_smoke", OK: true, Ranks: s.world.Size(), Lanes: o.lanes, Items: o.items,
		Library: library(rt), Level: rt.Level().String()}
	for _, p := range proofs {
		// What fails on one rank fails on all, with the words of the lowest.
		if err := s.world.Agree(ctx, s.named(p, p.run(s, ctx))); err != nil {
			return err
		}
		r.Proofs = append(r.Proofs, p.claim)
	}
	if r.Hosts, err = s.hosts(ctx); err != nil || s.world.Rank() != 0 {
		return err
	}
	r.Seconds = time.Since(start).Seconds()
	return r.print(out, o.json)
}
