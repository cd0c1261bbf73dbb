// Hataori looks at the machine that a job would run on, at jobs that ran, and
// at the files that they left:
//
//	hataori doctor           what is found, what is wrong, and the cure
//	hataori report TRACE     pictures and words of a file of hataori.Options.Trace
//	hataori recover FILE     folds the journal of an interrupted run into its HDF5 file
//	hataori version          versions of the program, of Go, and of its modules
//
// Under mpirun or srun the doctor makes one report of all ranks.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"
)

type cli struct {
	Doctor  doctorCmd  `cmd:"" help:"Say what MPI, processors, BLAS, HDF5 and GPUs are found here, what is wrong with them, and the cure. Start it as the job is started: mpirun -n 4 hataori doctor --lanes 2."`
	Report  reportCmd  `cmd:"" help:"Say in words what limited a run, and draw what its lanes did (PNG, SVG, JSON for Perfetto)."`
	Recover recoverCmd `cmd:"" help:"Fold the journal that an interrupted run left beside its HDF5 file into the file, without the program that wrote it."`
	Version versionCmd `cmd:"" help:"Print versions."`
}

// errFound ends the program with status 1 after everything was said.
var errFound = errors.New("faults were found")

// Exit statuses.
const (
	exitFault = 1 // something is wrong
	exitUsage = 2 // the command line cannot be understood
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	var c cli
	ended := -1
	parser, err := kong.New(&c, kong.Name("hataori"), kong.Writers(stdout, stderr), kong.Exit(func(code int) { ended = code }),
		kong.Description("Looks at the machine that a hataori job would run on, at jobs that ran, and at the files that they left."), kong.UsageOnError(),
		kong.BindTo(stdout, (*io.Writer)(nil)))
	if err != nil {
		fmt.Fprintln(stderr, "hataori:", err) // a defect of the struct above
		return exitUsage
	}
	ctx, err := parser.Parse(args)
	if ended >= 0 { // --help
		return ended
	}
	if err != nil {
		fmt.Fprintf(stderr, "hataori: %v; hataori --help shows what there is\n", err)
		return exitUsage
	}
	switch err := ctx.Run(); {
	case errors.Is(err, errFound):
		return exitFault
	case err != nil:
		fmt.Fprintln(stderr, "hataori:", err)
		return exitFault
	}
	return 0
}
