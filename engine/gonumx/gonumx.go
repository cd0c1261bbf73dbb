// Package gonumx carries host tensors to gonum's matrices and back. Nothing is
// copied: both sides share the elements, so the tensor must outlive the matrix
// and the other way round, and a write on one side shows on the other.
//
//	m, err := gonumx.Dense(t)       // rank 2, float64, rows contiguous
//	t, err := gonumx.FromDense(m)
//
// A layout that gonum cannot express (columns apart, rows backwards or
// overlapping) is a *engine.ShapeError: engine.Clone makes it compact.
package gonumx

import (
	"fmt"

	"github.com/hataori/hataori-go/engine"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/cblas128"
	"gonum.org/v1/gonum/mat"
)

// matrix is a row-major matrix inside a slice.
type matrix[T any] struct {
	rows, cols, stride int
	data               []T
}

// view returns a rank-2 host tensor as gonum sees matrices: element (i, j) at
// i·stride + j, stride ≥ cols, stride ≥ 1.
func view[T engine.Element](op string, t *engine.Tensor) (m matrix[T], err error) {
	bad := func(axis int, format string, args ...any) error {
		return &engine.ShapeError{Op: op, Operand: engine.Input(0), Axis: axis, Reason: fmt.Sprintf(format, args...)}
	}
	switch d := engine.DTypeOf[T](); {
	case t == nil:
		return m, &engine.ArgError{Op: op, Operand: engine.Input(0), Reason: "no tensor given"}
	case t.DType() != d:
		return m, &engine.DTypeError{Op: op, Operand: engine.Input(0), Got: t.DType(), Want: d.String()}
	case t.Spec().Domain.Kind != engine.Host:
		return m, &engine.DomainError{Op: op, Operand: engine.Input(0), Got: t.Spec().Domain}
	case t.Rank() != 2:
		return m, bad(engine.NoAxis, "rank %d, a matrix has 2: reshape it", t.Rank())
	}
	if err := t.Live(); err != nil {
		return m, err
	}
	s := t.Spec().AppendStrides(nil)
	m.rows, m.cols = t.Shape().At(0), t.Shape().At(1)
	m.stride = s[0]
	if m.rows <= 1 {
		m.stride = max(m.cols, 1)
	}
	if t.Elements() == 0 {
		m.stride = max(m.cols, 1)
		return m, nil
	}
	if m.cols > 1 && s[1] != 1 {
		return m, bad(1, "elements of a row are %d apart, gonum wants 1: clone or permute it", s[1])
	}
	if m.stride < m.cols {
		return m, bad(0, "rows of %d elements are %d apart, gonum wants them not to overlap: clone it", m.cols, m.stride)
	}
	all, at := engine.HostSlice[T](t)
	m.data = all[at : at+(m.rows-1)*m.stride+m.cols]
	return m, nil
}

// tensor returns a matrix as a rank-2 tensor over its data.
func tensor[T engine.Element](m matrix[T]) (*engine.Tensor, error) {
	shape := engine.ShapeOf(m.rows, m.cols)
	if m.rows == 0 || m.cols == 0 {
		return engine.FromSlice([]T{}, m.rows, m.cols)
	}
	return engine.FromStrided(m.data, 0, shape, engine.StridesOf(m.stride, 1))
}

// General is a rank-2 float64 tensor as a blas64.General over the same elements.
func General(t *engine.Tensor) (blas64.General, error) {
	m, err := view[float64]("gonumx.General", t)
	return blas64.General{Rows: m.rows, Cols: m.cols, Stride: m.stride, Data: m.data}, err
}

// CGeneral is a rank-2 complex128 tensor as a cblas128.General over the same
// elements.
func CGeneral(t *engine.Tensor) (cblas128.General, error) {
	m, err := view[complex128]("gonumx.CGeneral", t)
	return cblas128.General{Rows: m.rows, Cols: m.cols, Stride: m.stride, Data: m.data}, err
}

// Dense is a rank-2 float64 tensor as a mat.Dense over the same elements. gonum
// has no matrices without elements but the empty one, which a tensor without
// elements becomes.
func Dense(t *engine.Tensor) (*mat.Dense, error) {
	g, err := General(t)
	if err != nil {
		return nil, err
	}
	d := new(mat.Dense)
	if len(g.Data) > 0 {
		d.SetRawMatrix(g)
	}
	return d, nil
}

// CDense is a rank-2 complex128 tensor as a mat.CDense over the same elements, as
// Dense.
func CDense(t *engine.Tensor) (*mat.CDense, error) {
	g, err := CGeneral(t)
	if err != nil {
		return nil, err
	}
	d := new(mat.CDense)
	if len(g.Data) > 0 {
		d.SetRawCMatrix(g)
	}
	return d, nil
}

// FromGeneral is a rank-2 tensor over the elements of m.
func FromGeneral(m blas64.General) (*engine.Tensor, error) {
	return tensor(matrix[float64]{m.Rows, m.Cols, m.Stride, m.Data})
}

// FromCGeneral is a rank-2 tensor over the elements of m.
func FromCGeneral(m cblas128.General) (*engine.Tensor, error) {
	return tensor(matrix[complex128]{m.Rows, m.Cols, m.Stride, m.Data})
}

// FromDense is a rank-2 tensor over the elements of m.
func FromDense(m *mat.Dense) (*engine.Tensor, error) { return FromGeneral(m.RawMatrix()) }

// FromCDense is a rank-2 tensor over the elements of m.
func FromCDense(m *mat.CDense) (*engine.Tensor, error) { return FromCGeneral(m.RawCMatrix()) }
