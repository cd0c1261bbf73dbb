package main

import (
	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/einsum"
)

// product is C = A·B through a bound kernel.
func (o *options) product(e engine.Execution) (func() error, error) {
	var t [3]*engine.Tensor
	for i := range t {
		var err error
		if t[i], err = o.random(e, uint64(i)+1, 1, o.n, o.n); err != nil {
			return nil, err
		}
	}
	in, out := t[:2], t[2:]
	op := engine.DotGeneral{ContractL: engine.AxesOf(1), ContractR: engine.AxesOf(0)}
	k, err := e.Bind(op, []engine.Spec{in[0].Spec(), in[1].Spec()}, []engine.Spec{out[0].Spec()})
	if err != nil {
		return nil, err
	}
	return func() error { return e.Run(k, out, in) }, nil
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
