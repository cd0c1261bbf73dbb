package gonumx_test

import (
	"fmt"
	"log"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/engine/einsum"
	"github.com/hataori/hataori-go/engine/gonumx"
)

// truncate splits theta[l,s,t,r] into u[l,s,k] and v[k,t,r] of the bond dimension that is
// asked for, and returns the norm of what is cut off.
func truncate(e engine.Execution, theta *engine.Tensor, bond int) (u, v *engine.Tensor, lost float64, err error) {
	l, s, t, r := theta.Shape().At(0), theta.Shape().At(1), theta.Shape().At(2), theta.Shape().At(3)
	matrix, err := theta.Reshape(l*s, t*r) // a view; where axes have to be exchanged first, engine.FuseAxes
	if err != nil {
		return nil, nil, 0, err
	}
	defer matrix.EndView()
	dense, err := gonumx.Dense(matrix)
	if err != nil {
		return nil, nil, 0, err
	}
	var svd mat.SVD
	if !svd.Factorize(dense, mat.SVDThin) {
		return nil, nil, 0, fmt.Errorf("no singular values of %v", matrix)
	}
	values := svd.Values(nil)
	bond = min(bond, len(values))
	var left, right mat.Dense
	svd.UTo(&left)
	svd.VTo(&right)
	for _, x := range values[bond:] {
		lost = math.Hypot(lost, x)
	}
	// The first columns of both, and the singular values into the left one.
	if u, err = gonumx.FromDense(left.Slice(0, l*s, 0, bond).(*mat.Dense)); err != nil {
		return nil, nil, 0, err
	}
	if v, err = gonumx.FromDense(right.Slice(0, t*r, 0, bond).(*mat.Dense)); err != nil {
		return nil, nil, 0, err
	}
	scale, err := engine.FromSlice(values[:bond], bond)
	if err != nil {
		return nil, nil, 0, err
	}
	if u, err = einsum.Contract(e, "ik,k->ik", u, scale); err != nil {
		return nil, nil, 0, err
	}
	if u, err = u.Reshape(l, s, bond); err != nil {
		return nil, nil, 0, err
	}
	if v, err = einsum.Contract(e, "jk->kj", v); err != nil {
		return nil, nil, 0, err
	}
	v, err = v.Reshape(bond, t, r)
	return u, v, lost, err
}

// A tensor of two sites is split by a singular value decomposition and truncated,
// as in the evolution of a matrix product state.
func Example_truncate() {
	e, err := cpu.Serial(cpu.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	theta, err := engine.Rand(e, engine.Random{Distribution: engine.Normal, Seed: 1}, engine.Float64, 8, 2, 2, 8)
	if err != nil {
		log.Fatal(err)
	}
	u, v, lost, err := truncate(e, theta, 10)
	if err != nil {
		log.Fatal(err)
	}
	again, err := einsum.Contract(e, "lsk,ktr->lstr", u, v)
	if err != nil {
		log.Fatal(err)
	}
	difference, err := engine.Apply(e, engine.Sub, again, theta)
	if err != nil {
		log.Fatal(err)
	}
	norm, err := engine.Apply(e, engine.Reduce{F: engine.Norm2, Axes: engine.AxesOf(0, 1, 2, 3)}, difference, nil)
	if err != nil {
		log.Fatal(err)
	}
	x, err := engine.Data[float64](norm)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(u.Shape(), v.Shape(), math.Abs(x[0]-lost) < 1e-12*lost)
	// Output: [8 2 10] [10 2 8] true
}
