// Command contraction measures contractions on the CPU engine, for
// scripts/bench.sh. For each line of its input it takes one sample and prints
// the time of one contraction in nanoseconds:
//
//	contraction file -file F [-path opt_size|opt_flops|own]  a problem file of the einsum benchmark
//	contraction batched -n N                                 1024 products of N×N
//	contraction chain -bond D                                the overlap of two matrix product states of 32 sites
//	                  [-provider blas|native] [-dtype s|d|c|z] [-width W]
//
// Two more print one figure and end:
//
//	contraction plan -file F     operations of the planner's path over those of the better stored one
//	contraction planning -file F seconds that the planner takes
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/blas"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/engine/einsum"
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
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("usage: contraction file|batched|chain|plan|planning [flags]")
	}
	var o options
	f := flag.NewFlagSet("contraction", flag.ExitOnError)
	f.StringVar(&o.file, "file", "", "problem file")
	f.StringVar(&o.path, "path", "opt_size", "opt_size, opt_flops or own")
	f.StringVar(&o.provider, "provider", "blas", "blas or native")
	f.StringVar(&o.dtype, "dtype", "d", "s, d, c or z")
	f.IntVar(&o.n, "n", 4, "order of the matrices of a batch")
	f.IntVar(&o.bond, "bond", 8, "bond dimension of a chain")
	f.IntVar(&o.width, "width", 1, "workers of the engine")
	_ = f.Parse(args[1:]) // ExitOnError
	switch args[0] {
	case "plan", "planning":
		return o.plan(args[0] == "planning")
	}
	e, err := o.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	var once func() error
	switch args[0] {
	case "file":
		once, err = o.problem(e)
	case "batched":
		once, err = o.batched(e)
	case "chain":
		once, err = o.chain(e)
	default:
		err = fmt.Errorf("no measure is called %s", args[0])
	}
	if err != nil {
		return err
	}
	return serve(once)
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

// serve prints the time of one call for each line that it reads.
func serve(once func() error) error {
	sample := func(calls int) (time.Duration, error) {
		start := time.Now()
		for range calls {
			if err := once(); err != nil {
				return 0, err
			}
		}
		return time.Since(start), nil
	}
	calls := 1
	for {
		d, err := sample(calls)
		if err != nil {
			return err
		}
		if d > 8*time.Millisecond {
			break
		}
		calls *= 2
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if calls > 1 {
			if err := once(); err != nil {
				return err
			}
		}
		d, err := sample(calls)
		if err != nil {
			return err
		}
		fmt.Printf("%.2f\n", float64(d.Nanoseconds())/float64(calls))
	}
	return nil
}

// file is a problem of the einsum benchmark.
type file struct {
	Name, Format string
	Shapes       [][]int
	Paths        map[string]struct{ Path einsum.Path }
}

func read(name string) (f file, s einsum.Subscripts, err error) {
	data, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err == nil {
		s, err = einsum.Parse(f.Format)
	}
	return f, s, err
}

func (o *options) problem(e engine.Execution) (func() error, error) {
	f, s, err := read(o.file)
	if err != nil {
		return nil, err
	}
	path := f.Paths[o.path].Path
	if o.path == "own" {
		if path, err = einsum.FindPath(s, f.Shapes, einsum.PathOptions{}); err != nil {
			return nil, err
		}
	}
	return o.prepare(e, s, f.Shapes, path, 1)
}

// prepare returns a function that runs a contraction of numbers around scale
// over the square root of each operand's elements.
func (o *options) prepare(e engine.Execution, s einsum.Subscripts, shapes [][]int, path einsum.Path, scale float64) (func() error, error) {
	p, err := einsum.NewPlan(s, shapes, path)
	if err != nil {
		return nil, err
	}
	tensors, specs := make([]*engine.Tensor, len(shapes)), make([]engine.Spec, len(shapes))
	for k, shape := range shapes {
		if tensors[k], err = o.random(e, uint64(k), scale, shape...); err != nil {
			return nil, err
		}
		specs[k] = tensors[k].Spec()
	}
	out, err := o.random(e, 0, 1, p.OutputShape()...)
	if err != nil {
		return nil, err
	}
	ready, err := p.Prepare(e, specs...)
	if err != nil {
		return nil, err
	}
	if err := ready.Load(tensors...); err != nil {
		return nil, err
	}
	return func() error { return ready.Run(out, 0) }, nil
}

func (o *options) batched(e engine.Execution) (func() error, error) {
	var t [3]*engine.Tensor
	for i := range t {
		var err error
		if t[i], err = o.random(e, uint64(i), 1, 1024, o.n, o.n); err != nil {
			return nil, err
		}
	}
	return func() error { return engine.MatMulInto(e, t[2], t[0], t[1]) }, nil
}

const sites = 32

// chain is the overlap of two matrix product states of 32 sites, with an open
// bond at either end, site by site: the environment times a tensor of the one,
// then of the other.
func (o *options) chain(e engine.Execution) (func() error, error) {
	a := func(i int) einsum.Label { return einsum.Label(3 * i) }
	b := func(i int) einsum.Label { return einsum.Label(3*i + 1) }
	spin := func(i int) einsum.Label { return einsum.Label(3*i + 2) }
	labels, shapes := [][]einsum.Label{{a(0), b(0)}}, [][]int{{o.bond, o.bond}}
	for i := range sites {
		labels = append(labels, []einsum.Label{b(i), spin(i), b(i + 1)}, []einsum.Label{a(i), spin(i), a(i + 1)})
		shapes = append(shapes, []int{o.bond, 2, o.bond}, []int{o.bond, 2, o.bond})
	}
	s, err := einsum.NewSubscripts(labels, []einsum.Label{a(sites), b(sites)})
	if err != nil {
		return nil, err
	}
	path := einsum.Path{{0, 1}}
	for left := 2 * sites; left > 1; left-- {
		path = append(path, [2]int{0, left - 1}) // the next tensor and the environment
	}
	return o.prepare(e, s, shapes, path, 1.4)
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

func (o *options) plan(timed bool) error {
	f, s, err := read(o.file)
	if err != nil {
		return err
	}
	start := time.Now()
	own, err := einsum.FindPath(s, f.Shapes, einsum.PathOptions{})
	if err != nil {
		return err
	}
	if timed {
		fmt.Printf("%.4f\n", time.Since(start).Seconds())
		return nil
	}
	operations := func(path einsum.Path) float64 {
		p, e := einsum.NewPlan(s, f.Shapes, path)
		if e != nil {
			err = errors.Join(err, e)
			return 0
		}
		return p.Cost().Operations
	}
	better := min(operations(f.Paths["opt_size"].Path), operations(f.Paths["opt_flops"].Path))
	ratio := operations(own) / better
	if err == nil {
		fmt.Printf("%.4f\n", ratio)
	}
	return err
}
