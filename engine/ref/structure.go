package ref

import (
	"math"
	"slices"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// copyFromAny fills o: from says which input holds the element for an index, and
// where; −1 stands for the fill value.
func copyFromAny(o array, in []array, fill engine.Factor, from func(index []int) (input int, at []int)) {
	n := o.dtype.Size()
	z := fill.Or(0)
	each(o.extents, func(i []int) {
		k, at := from(slices.Clone(i))
		if k < 0 {
			v := value{rounded(z, o.dtype), int64(real(z))}
			if o.dtype == engine.Bool {
				v = boolean(z != 0)
			}
			o.store(i, v)
			return
		}
		copy(unsafe.Slice((*byte)(o.at(i)), n), unsafe.Slice((*byte)(in[k].at(at)), n))
	})
}

func remove(index []int, at int) []int {
	return append(append([]int{}, index[:at]...), index[at+1:]...)
}

// structure computes the structural operations.
func structure(op engine.Op, out, in []array) {
	o, a := out[0], in[0]
	var fill engine.Factor
	if m, ok := op.(engine.Mover); ok {
		fill = m.Fill()
	}
	one := func(f func(i []int) []int) {
		copyFromAny(o, in, fill, func(i []int) (int, []int) {
			if at := f(i); at != nil {
				return 0, at
			}
			return -1, nil
		})
	}
	switch op := op.(type) {
	case engine.BroadcastInDim:
		one(func(i []int) []int {
			at := make([]int, len(a.extents))
			for k := range at {
				if a.extents[k] != 1 {
					at[k] = i[op.Axes.At(k)]
				}
			}
			return at
		})
	case engine.Slice:
		one(func(i []int) []int {
			for k := range i {
				i[k] = op.Start.At(k) + i[k]*op.Step.At(k)
			}
			return i
		})
	case engine.Pad:
		one(func(i []int) []int {
			for k := range i {
				if i[k] -= op.Low.At(k); i[k] < 0 || i[k] >= a.extents[k] {
					return nil
				}
			}
			return i
		})
	case engine.Concat:
		copyFromAny(o, in, engine.Factor{}, func(i []int) (int, []int) {
			k := 0
			for ; i[op.Axis] >= in[k].extents[op.Axis]; k++ {
				i[op.Axis] -= in[k].extents[op.Axis]
			}
			return k, i
		})
	case engine.Stack:
		copyFromAny(o, in, engine.Factor{}, func(i []int) (int, []int) { return i[op.Axis], remove(i, op.Axis) })
	case engine.Split:
		start := 0
		for _, part := range out {
			copyFrom(part, a, func(i []int) []int {
				i = slices.Clone(i)
				i[op.Axis] += start
				return i
			})
			start += part.extents[op.Axis]
		}
	case engine.Reverse:
		one(func(i []int) []int {
			for _, k := range op.Axes.Ints() {
				i[k] = a.extents[k] - 1 - i[k]
			}
			return i
		})
	case engine.Roll:
		one(func(i []int) []int {
			n := a.extents[op.Axis]
			i[op.Axis] = ((i[op.Axis]-op.Shift%n)%n + n) % n
			return i
		})
	case engine.DiagonalIn:
		one(func(i []int) []int {
			if i[op.A] != i[op.B] {
				return nil
			}
			return remove(i, op.B)
		})
	case engine.Tril:
		one(func(i []int) []int {
			if n := len(i); i[n-1]-i[n-2] > op.K {
				return nil
			}
			return i
		})
	case engine.Triu:
		one(func(i []int) []int {
			if n := len(i); i[n-1]-i[n-2] < op.K {
				return nil
			}
			return i
		})
	case engine.FuseAxes:
		one(func(i []int) []int {
			at, next := make([]int, len(a.extents)), 0
			for k, x := range i {
				axes := op.Order.Ints()[next : next+op.Counts.At(k)]
				put(at, axes, unravel(x, pick(a.extents, axes)))
				next += len(axes)
			}
			return at
		})
	case engine.SplitAxes:
		one(func(i []int) []int {
			at, next := make([]int, len(a.extents)), 0
			for k := range at {
				axes := op.Order.Ints()[next : next+op.Counts.At(k)]
				at[k] = ravel(pick(i, axes), pick(o.extents, axes))
				next += len(axes)
			}
			return at
		})
	default:
		panic("ref: structural operation without a rule")
	}
}

// badIndex finds the first index that is not in [0, n).
func badIndex(op engine.Op, index array, n int) (err error) {
	each(index.extents, func(i []int) {
		if k := index.load(i).n; err == nil && (k < 0 || k >= int64(n)) {
			err = fault(op, 1, i, engine.ErrIndexRange)
		}
	})
	return err
}

// displaced is the index in x of what is gathered at i.
func displaced(axis int, index array, i []int) []int {
	r := len(index.extents)
	k := int(index.load(i[axis : axis+r]).n)
	return append(append(append([]int{}, i[:axis]...), k), i[axis+r:]...)
}

// indexing computes Gather, TakeAlong and Scatter.
func indexing(op engine.Op, o array, in []array) error {
	x, index := in[0], in[1]
	axis := 0
	switch op := op.(type) {
	case engine.Gather:
		axis = op.Axis
	case engine.TakeAlong:
		axis = op.Axis
	case engine.Scatter:
		axis = op.Axis
	}
	if err := badIndex(op, index, x.extents[axis]); err != nil {
		return err
	}
	switch op := op.(type) {
	case engine.Gather:
		copyFrom(o, x, func(i []int) []int { return displaced(axis, index, i) })
	case engine.TakeAlong:
		copyFrom(o, x, func(i []int) []int {
			at := slices.Clone(i)
			at[axis] = int(index.load(i).n)
			return at
		})
	case engine.Scatter:
		copyFrom(o, x, func(i []int) []int { return i })
		each(in[2].extents, func(i []int) {
			at, v := displaced(axis, index, i), in[2].load(i)
			if op.Add {
				v = v.add(o.load(at))
			}
			o.store(at, v)
		})
	}
	return nil
}

// ordered puts lines along axis in order; f gets the positions of each line.
func ordered(axis int, descending bool, a array, f func(line []int, positions []int)) {
	lines := slices.Clone(a.extents)
	lines[axis] = min(lines[axis], 1)
	each(lines, func(i []int) {
		at := slices.Clone(i)
		key := func(k int) value { at[axis] = k; return a.load(at) }
		p := make([]int, a.extents[axis])
		for k := range p {
			p[k] = k
		}
		slices.SortStableFunc(p, func(x, y int) int {
			c := compare(key(x), key(y))
			if descending {
				return -c
			}
			return c
		})
		f(slices.Clone(i), p)
	})
}

// compare orders values; NaN is the greatest.
func compare(x, y value) int {
	nx, ny := math.IsNaN(real(x.z)), math.IsNaN(real(y.z))
	switch {
	case nx && ny:
		return 0
	case nx || !ny && (x.n > y.n || real(x.z) > real(y.z)):
		return 1
	case ny || x.n < y.n || real(x.z) < real(y.z):
		return -1
	}
	return 0
}

// sorting computes Sort, ArgSort and TopK.
func sorting(op engine.Op, out []array, a array) {
	switch op := op.(type) {
	case engine.Sort:
		sorted := make(map[string][]value)
		ordered(op.Axis, op.Descending, a, func(i, p []int) { sorted[key(i)] = pickLine(a, op.Axis, i, p) })
		ordered(op.Axis, op.Descending, a, func(i, _ []int) { storeLine(out[0], op.Axis, i, sorted[key(i)]) })
	case engine.ArgSort:
		ordered(op.Axis, op.Descending, a, func(i, p []int) { storeLine(out[0], op.Axis, i, numbers(p)) })
	case engine.TopK:
		ordered(op.Axis, true, a, func(i, p []int) {
			storeLine(out[0], op.Axis, i, pickLine(a, op.Axis, i, p[:op.K]))
			storeLine(out[1], op.Axis, i, numbers(p[:op.K]))
		})
	}
}

func key(i []int) string {
	b := []byte{}
	for _, x := range i {
		b = append(b, byte(x), byte(x>>8), byte(x>>16), byte(x>>24))
	}
	return string(b)
}

func pickLine(a array, axis int, i, positions []int) (v []value) {
	for _, k := range positions {
		i[axis] = k
		v = append(v, a.load(i))
	}
	i[axis] = 0
	return v
}

func storeLine(o array, axis int, i []int, v []value) {
	for k, x := range v {
		i[axis] = k
		o.store(i, x)
	}
	i[axis] = 0
}

func numbers(p []int) []value {
	v := make([]value, len(p))
	for i, x := range p {
		v[i].n = int64(x)
	}
	return v
}
