package mpi_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/hataori/hataori-go/mpi"
)

// The same program runs alone and under mpirun. A main function would call
// mpi.Main(run), or os.Exit(mpi.Program{…}.Run(run)).
func Example() {
	run := func(ctx context.Context, rt *mpi.Runtime) error {
		w := rt.World()
		ones := []int64{1}
		if err := w.Allreduce(ctx, ones, mpi.Sum); err != nil {
			return err
		}
		if w.Rank() == 0 {
			fmt.Println("ranks:", ones[0])
		}
		return nil
	}
	fmt.Println("exit status:", mpi.Program{}.Run(run))
	// Output:
	// ranks: 1
	// exit status: 0
}

// A child process must not take itself for a rank of this job.
func ExampleChildEnv() {
	cmd := exec.Command("echo", "a child of its own")
	cmd.Env = mpi.ChildEnv()
	cmd.Stdout = os.Stdout
	if err := cmd.Run(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// a child of its own
}
