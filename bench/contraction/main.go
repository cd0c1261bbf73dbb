// Command contraction measures products and contractions on the CPU engine, for
// scripts/bench.sh. For each line of its input it takes one sample and prints
// the time of one contraction in nanoseconds:
//
//	contraction product -n N                                 one product of N×N
//	contraction batched -n N                                 1024 products of N×N
//	contraction chain -bond D                                the overlap of two matrix product states of 32 sites
//	contraction file -file F [-path opt_size|opt_flops|own]  a problem file of the einsum benchmark
//	                  [-provider blas|native] [-dtype s|d|c|z] [-width W]
//
// Others print one figure and end:
//
//	contraction blas               the path of the BLAS in use, its kernels and the engine's own
//	contraction stored -file F     which of the stored paths takes less time, judged by operations and bytes
//	contraction bar -file F …      what two workers may take of the time of one
//	contraction allocs -file F …   allocations of a warm run
//	contraction plan -file F       operations of the planner's path over those of the better stored one
//	contraction planning -file F   seconds that the planner takes
//	contraction beside -n N        p99 over median of products on two workers beside a coordinator that polls [-alone: without]
package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"

	"github.com/hataori/hataori-go/bench/internal/serve"
	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/blas"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/engine/native"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "contraction:", err)
		os.Exit(1)
	}
}

type options struct {
	file, path, provider, dtype string
	n, bond, width              int
	alone                       bool
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("usage: contraction NAME [flags]")
	}
	var o options
	f := flag.NewFlagSet("contraction", flag.ExitOnError)
	f.StringVar(&o.file, "file", "", "problem file")
	f.StringVar(&o.path, "path", "opt_size", "opt_size, opt_flops or own")
	f.StringVar(&o.provider, "provider", "blas", "blas or native")
	f.StringVar(&o.dtype, "dtype", "d", "s, d, c or z")
	f.IntVar(&o.n, "n", 4, "order of the matrices")
	f.IntVar(&o.bond, "bond", 8, "bond dimension of a chain")
	f.IntVar(&o.width, "width", 1, "workers of the engine")
	f.BoolVar(&o.alone, "alone", false, "beside: without the coordinator")
	_ = f.Parse(args[1:]) // ExitOnError
	switch args[0] {
	case "blas":
		return libraries()
	case "stored":
		return o.stored()
	case "bar":
		return o.bar()
	case "plan", "planning":
		return o.plan(args[0] == "planning")
	case "beside":
		o.width = 2
	}
	e, err := o.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	once, err := o.measure(e, args[0])
	if err != nil {
		return err
	}
	switch args[0] {
	case "allocs":
		return allocations(once)
	case "beside":
		return beside(once, o.alone)
	}
	return serve.Samples(once)
}

// measure returns what a measure does again and again.
func (o *options) measure(e engine.Execution, name string) (func() error, error) {
	switch name {
	case "product", "beside":
		return o.product(e)
	case "batched":
		return o.batched(e)
	case "chain":
		return o.chain(e)
	case "file", "allocs":
		return o.problem(e)
	}
	return nil, fmt.Errorf("no measure is called %s", name)
}

func libraries() error {
	p, err := blas.Open(blas.Options{})
	if err == nil {
		fmt.Println(p.Info().Path, p.Info().Kernel, native.Best(native.Auto))
	}
	return err
}

func (o *options) engine() (*cpu.Engine, error) {
	var opts cpu.Options
	if o.provider == "blas" {
		p, err := blas.Open(blas.Options{})
		if err != nil {
			return nil, err
		}
		opts.Provider = p
	}
	pool, err := cpu.NewPool(cpu.PoolOptions{Workers: o.width})
	if err != nil {
		return nil, err
	}
	return cpu.New(pool, opts)
}

// allocations prints the allocations of a warm run; at least 10⁻⁹, since figures
// are positive.
func allocations(once func() error) error {
	const runs = 10
	var before, after runtime.MemStats
	for range 2 {
		if err := once(); err != nil {
			return err
		}
	}
	runtime.ReadMemStats(&before)
	for range runs {
		if err := once(); err != nil {
			return err
		}
	}
	runtime.ReadMemStats(&after)
	fmt.Println(max(1e-9, float64(after.Mallocs-before.Mallocs)/runs))
	return nil
}

var dtypes = map[string]engine.DType{"s": engine.Float32, "d": engine.Float64, "c": engine.Complex64, "z": engine.Complex128}

func (o *options) random(e engine.Execution, seed uint64, scale float64, shape ...int) (*engine.Tensor, error) {
	d, ok := dtypes[o.dtype]
	if !ok {
		return nil, fmt.Errorf("-dtype %s: it is s, d, c or z", o.dtype)
	}
	spec := engine.SpecOf(d, shape...)
	t, err := e.Alloc(spec)
	if err != nil {
		return nil, err
	}
	by := scale / math.Sqrt(float64(spec.Elements()))
	switch d {
	case engine.Float32:
		fill[float32](t, seed, func(x float64) float32 { return float32(x * by) })
	case engine.Float64:
		fill[float64](t, seed, func(x float64) float64 { return x * by })
	case engine.Complex64:
		fill[complex64](t, seed, func(x float64) complex64 { return complex(float32(x*by), 0) })
	default:
		fill[complex128](t, seed, func(x float64) complex128 { return complex(x*by, 0) })
	}
	return t, nil
}

func fill[T engine.Element](t *engine.Tensor, seed uint64, of func(float64) T) {
	data, _ := engine.Data[T](t) // of this dtype, compact and live
	for i := range data {
		seed = seed*6364136223846793005 + 1442695040888963407
		data[i] = of(0.5 + float64(seed>>11)/(1<<53))
	}
}
