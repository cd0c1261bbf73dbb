package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/einsum"
)

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
	path, err := o.pathOf(f, s)
	if err != nil {
		return nil, err
	}
	return o.prepare(e, s, f.Shapes, path, 1)
}

func (o *options) pathOf(f file, s einsum.Subscripts) (einsum.Path, error) {
	if o.path == "own" {
		return einsum.FindPath(context.Background(), s, f.Shapes, einsum.PathOptions{})
	}
	p, ok := f.Paths[o.path]
	if !ok {
		return nil, fmt.Errorf("-path %s: %s has none of that name", o.path, f.Name)
	}
	return p.Path, nil
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

// stored prints the stored path that takes less time by the model of bar, which
// counts memory too: by operations alone it may be one that takes rivals thrice
// as long.
func (o *options) stored() error {
	f, _, err := read(o.file)
	if err != nil {
		return err
	}
	better, least := "", 0.0
	for _, name := range []string{"opt_size", "opt_flops"} {
		took := 0.0
		for _, st := range steps(f, f.Paths[name].Path) {
			took += st.took(2, 8)
		}
		if better == "" || took < least {
			better, least = name, took
		}
	}
	fmt.Println(better)
	return nil
}

func operations(s einsum.Subscripts, f file, path einsum.Path) (float64, error) {
	p, err := einsum.NewPlan(s, f.Shapes, path)
	if err != nil {
		return 0, err
	}
	return p.Cost().Operations, nil
}

// bar prints what two workers may take of the time of one: 0.6 for steps of more
// than 10 operations per byte, 1 for others, weighted by what each takes at 50
// operations and 10 bytes per nanosecond; 1.05 if that is 1, since equal times come
// out equal to a twentieth.
func (o *options) bar() error {
	f, s, err := read(o.file)
	if err != nil {
		return err
	}
	path, err := o.pathOf(f, s)
	if err != nil {
		return err
	}
	size, each := 8.0, 2.0
	if o.dtype == "z" {
		size, each = 16, 8
	}
	total, allowed := 0.0, 0.0
	for _, st := range steps(f, path) {
		took := st.took(each, size)
		total += took
		if each*st.loops > 10*size*st.elements {
			took *= 0.6
		}
		allowed += took
	}
	limit := allowed / total
	if allowed == total {
		limit = 1.05
	}
	fmt.Printf("%.2f\n", limit)
	return nil
}

// step is a step of a path: how many terms are added up, and how many elements
// the operands and the result have.
type step struct{ loops, elements float64 }

// took is about what the step takes, in nanoseconds, of so many operations a term
// and bytes an element.
func (s step) took(operations, bytes float64) float64 {
	return operations*s.loops/50 + bytes*s.elements/10
}

func steps(f file, path einsum.Path) []step {
	left, output, _ := strings.Cut(f.Format, "->")
	sizes := make(map[rune]int)
	var tensors [][]rune
	for k, term := range strings.Split(left, ",") {
		labels := []rune(term)
		for axis, l := range labels {
			sizes[l] = f.Shapes[k][axis]
		}
		tensors = append(tensors, labels)
	}
	elements := func(labels []rune) float64 {
		n := 1.0
		for _, l := range labels {
			n *= float64(sizes[l])
		}
		return n
	}
	var list []step
	for _, pair := range path {
		i, j := max(pair[0], pair[1]), min(pair[0], pair[1])
		a, b := tensors[i], tensors[j]
		tensors = slices.Delete(slices.Delete(tensors, i, i+1), j, j+1)
		all := slices.Concat(a, b)
		slices.Sort(all)
		all = slices.Compact(all)
		var kept []rune
		for _, l := range all {
			if strings.ContainsRune(output, l) || slices.ContainsFunc(tensors, func(t []rune) bool { return slices.Contains(t, l) }) {
				kept = append(kept, l)
			}
		}
		tensors = append(tensors, kept)
		list = append(list, step{elements(all), elements(a) + elements(b) + elements(kept)})
	}
	return list
}

func (o *options) plan(timed bool) error {
	f, s, err := read(o.file)
	if err != nil {
		return err
	}
	start := time.Now()
	own, err := einsum.FindPath(context.Background(), s, f.Shapes, einsum.PathOptions{})
	if err != nil {
		return err
	}
	if timed {
		fmt.Printf("%.4f\n", time.Since(start).Seconds())
		return nil
	}
	ratio, err := operations(s, f, own)
	if err != nil {
		return err
	}
	size, err := operations(s, f, f.Paths["opt_size"].Path)
	if err != nil {
		return err
	}
	flops, err := operations(s, f, f.Paths["opt_flops"].Path)
	if err == nil {
		fmt.Printf("%.4f\n", ratio/min(size, flops))
	}
	return err
}
