// Command engine measures one matrix product on the CPU engine, for
// scripts/bench.sh. For each line of its input it takes one sample and prints
// the time of one call in nanoseconds:
//
//	engine gemm [-provider blas|native] [-dtype s|d|c|z] [-n N]
//	engine blas                     prints the path of the BLAS in use and its kernel
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/blas"
	"github.com/hataori/hataori-go/engine/cpu"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "engine:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	f := flag.NewFlagSet("engine", flag.ExitOnError)
	provider := f.String("provider", "blas", "blas or native")
	dtype := f.String("dtype", "d", "s, d, c or z")
	n := f.Int("n", 256, "order of the square matrices")
	if len(args) == 0 {
		return fmt.Errorf("usage: engine gemm|blas [flags]")
	}
	_ = f.Parse(args[1:]) // ExitOnError
	var opts cpu.Options
	if args[0] == "blas" || *provider == "blas" {
		p, err := blas.Open(blas.Options{})
		if err != nil {
			return err
		}
		if args[0] == "blas" {
			fmt.Println(p.Info().Path, p.Info().Kernel)
			return nil
		}
		opts.Provider = p
	}
	e, err := cpu.Serial(opts)
	if err != nil {
		return err
	}
	defer e.Close()
	switch *dtype {
	case "s":
		return product[float32](e, *n)
	case "d":
		return product[float64](e, *n)
	case "c":
		return product[complex64](e, *n)
	case "z":
		return product[complex128](e, *n)
	}
	return fmt.Errorf("-dtype %s: it is s, d, c or z", *dtype)
}

// product times C = A·B through a bound kernel.
func product[T float32 | float64 | complex64 | complex128](e engine.Execution, n int) error {
	fill := func(seed uint64) []T {
		x := make([]T, n*n)
		for i := range x {
			seed = seed*6364136223846793005 + 1442695040888963407
			switch p := any(&x[i]).(type) {
			case *float32:
				*p = float32(seed>>40)/(1<<24) - 0.5
			case *float64:
				*p = float64(seed>>11)/(1<<53) - 0.5
			case *complex64:
				*p = complex(float32(seed>>40)/(1<<24)-0.5, 0.25)
			case *complex128:
				*p = complex(float64(seed>>11)/(1<<53)-0.5, 0.25)
			}
		}
		return x
	}
	var tensors [3]*engine.Tensor
	for i := range tensors {
		var err error
		if tensors[i], err = engine.FromSlice(fill(uint64(i)+1), n, n); err != nil {
			return err
		}
	}
	in, out := tensors[:2], tensors[2:]
	op := engine.DotGeneral{ContractL: engine.AxesOf(1), ContractR: engine.AxesOf(0)}
	k, err := e.Bind(op, []engine.Spec{in[0].Spec(), in[1].Spec()}, []engine.Spec{out[0].Spec()})
	if err != nil {
		return err
	}
	run := func(calls int) (time.Duration, error) {
		start := time.Now()
		for range calls {
			if err := e.Run(k, out, in); err != nil {
				return 0, err
			}
		}
		return time.Since(start), nil
	}
	calls := 1
	for {
		d, err := run(calls)
		if err != nil {
			return err
		}
		if d > 8*time.Millisecond {
			break
		}
		calls *= 2
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if _, err := run(1); err != nil {
			return err
		}
		d, err := run(calls)
		if err != nil {
			return err
		}
		fmt.Printf("%.2f\n", float64(d.Nanoseconds())/float64(calls))
	}
	return nil
}
