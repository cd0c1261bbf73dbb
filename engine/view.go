package engine

// Views of specs: what a view of a tensor of that spec looks like. They never
// copy, and serve shape inference and planners as well as tensors.

// Permuted returns the spec whose axis i is axis axes[i] of s.
func (s Spec) Permuted(axes Axes) (Spec, error) {
	const op = "Permute"
	if err := checkPermutation(op, axes, s.Rank()); err != nil {
		return Spec{}, err
	}
	var extBuf, strBuf, newExt, newStr [MaxRank]int
	ext, str := s.Shape.Append(extBuf[:0]), s.AppendStrides(strBuf[:0])
	for i := range ext {
		newExt[i], newStr[i] = ext[axes.At(i)], str[axes.At(i)]
	}
	s.Shape, s.Strides = ShapeOf(newExt[:len(ext)]...), StridesOf(newStr[:len(ext)]...)
	return s.Canonical(), nil
}

func checkPermutation(op string, axes Axes, rank int) error {
	if axes.Len() != rank {
		return shapeErr(op, Input(0), NoAxis, "permutation %v lists %d axes, the tensor has %d", axes, axes.Len(), rank)
	}
	_, err := axisSet(op, Input(0), axes, rank)
	return err
}

// axisSet returns the listed axes as a bit set; out of range and repeated axes
// are *ShapeErrors.
func axisSet(op string, operand Operand, axes Axes, rank int) (uint64, error) {
	var set uint64
	for i := range axes.Len() {
		a := axes.At(i)
		if a < 0 || a >= rank {
			return 0, shapeErr(op, operand, a, "axis is out of range: the rank is %d", rank)
		}
		if set&(1<<a) != 0 {
			return 0, shapeErr(op, operand, a, "axis is listed twice in %v", axes)
		}
		set |= 1 << a
	}
	return set, nil
}

// DiagonalOf returns the spec of the diagonal i_a = i_b: axis a runs along the
// diagonal and axis b is gone. The extents of both must be equal.
func (s Spec) DiagonalOf(a, b int) (Spec, error) {
	const op = "Diagonal"
	if _, err := axisSet(op, Input(0), AxesOf(a, b), s.Rank()); err != nil {
		return Spec{}, err
	}
	if s.Shape.At(a) != s.Shape.At(b) {
		return Spec{}, shapeErr(op, Input(0), b, "extent %d differs from extent %d of axis %d", s.Shape.At(b), s.Shape.At(a), a)
	}
	ext, str := s.Shape.Ints(), s.AppendStrides(nil)
	str[a] += str[b]
	ext, str = append(ext[:b], ext[b+1:]...), append(str[:b], str[b+1:]...)
	s.Shape, s.Strides = ShapeOf(ext...), StridesOf(str...)
	return s.Canonical(), nil
}

// Sliced returns the spec of the elements start, start+step, … (count of them)
// along axis, and how many elements later they begin. The step may be negative
// but not 0.
func (s Spec) Sliced(axis, start, count, step int) (Spec, int, error) {
	const op = "Slice"
	if axis < 0 || axis >= s.Rank() {
		return Spec{}, 0, shapeErr(op, Input(0), axis, "axis is out of range: the rank is %d", s.Rank())
	}
	n := s.Shape.At(axis)
	if count < 0 || step == 0 {
		return Spec{}, 0, shapeErr(op, Input(0), axis, "count %d with step %d: the count must not be negative, nor the step 0", count, step)
	}
	// (count-1)·step < n without overflow: count ≤ n and |step| < n suffice to check first.
	fits := count == 0 || start >= 0 && start < n
	if fits && count > 1 {
		fits = count <= n && step < n && step > -n
		last := start + (count-1)*step
		fits = fits && last >= 0 && last < n
	}
	if !fits {
		return Spec{}, 0, shapeErr(op, Input(0), axis, "%d elements from %d in steps of %d are not inside extent %d", count, start, step, n)
	}
	ext, str := s.Shape.Ints(), s.AppendStrides(nil)
	shift := 0
	if count > 0 {
		shift = start * str[axis]
	}
	if count > 1 {
		str[axis] *= step
	}
	ext[axis] = count
	s.Shape, s.Strides = ShapeOf(ext...), StridesOf(str...)
	return s.Canonical(), shift, nil
}

// Indexed returns the spec of the elements at position i of axis, which is
// gone, and how many elements later they begin.
func (s Spec) Indexed(axis, i int) (Spec, int, error) {
	const op = "Index"
	if axis < 0 || axis >= s.Rank() {
		return Spec{}, 0, shapeErr(op, Input(0), axis, "axis is out of range: the rank is %d", s.Rank())
	}
	if i < 0 || i >= s.Shape.At(axis) {
		return Spec{}, 0, shapeErr(op, Input(0), axis, "index %d is outside extent %d", i, s.Shape.At(axis))
	}
	ext, str := s.Shape.Ints(), s.AppendStrides(nil)
	shift := i * str[axis]
	ext, str = append(ext[:axis], ext[axis+1:]...), append(str[:axis], str[axis+1:]...)
	s.Shape, s.Strides = ShapeOf(ext...), StridesOf(str...)
	return s.Canonical(), shift, nil
}

// Reshaped returns the spec that shows the elements, in row-major order, in
// another shape of as many elements. Where strides do not allow that without
// a copy, the error says so.
func (s Spec) Reshaped(shape Shape) (Spec, error) {
	const op = "Reshape"
	to := Spec{DType: s.DType, Domain: s.Domain, Shape: shape}
	if err := checkReshape(op, s, to); err != nil {
		return Spec{}, err
	}
	if s = s.Canonical(); s.IsCompact() {
		return to, nil
	}
	strides, ok := reshapeStrides(s, shape)
	if !ok {
		return Spec{}, shapeErr(op, Input(0), NoAxis, "%v as %v needs a copy: copy it, or use the Reshape operation", s, shape)
	}
	to.Strides = StridesOf(strides...)
	return to.Canonical(), nil
}

func checkReshape(op string, from, to Spec) error {
	if err := to.Validate(op, Output(0)); err != nil {
		return err
	}
	if from.Elements() != to.Elements() {
		return shapeErr(op, Input(0), NoAxis, "%v has %d elements, %v has %d", from.Shape, from.Elements(), to.Shape, to.Elements())
	}
	return nil
}

// reshapeStrides walks both shapes in groups of axes of equal product. Inside
// a group the old axes must follow each other without gaps.
func reshapeStrides(s Spec, shape Shape) ([]int, bool) {
	var ext, str []int // without axes of extent 1
	for i, st := range s.AppendStrides(nil) {
		if n := s.Shape.At(i); n != 1 {
			ext, str = append(ext, n), append(str, st)
		}
	}
	out := make([]int, shape.Rank())
	i, j := 0, 0
	for i < len(ext) {
		i0, j0 := i, j
		old, now := ext[i], shape.At(j)
		i, j = i+1, j+1
		for old != now {
			if now < old {
				now *= shape.At(j)
				j++
			} else {
				old *= ext[i]
				i++
			}
		}
		for k := i0; k < i-1; k++ {
			if str[k] != ext[k+1]*str[k+1] {
				return nil, false
			}
		}
		step := str[i-1]
		for k := j - 1; k >= j0; k-- {
			out[k] = step
			step *= shape.At(k)
		}
	}
	return out, true
}

// Permute returns a view whose axis i is axis axes[i] of t.
func (t *Tensor) Permute(axes ...int) (*Tensor, error) {
	s, err := t.spec.Permuted(AxesOf(axes...))
	if err != nil {
		return nil, err
	}
	return t.makeView("Permute", s, 0)
}

// Reshape returns a view that shows the elements, in row-major order, in
// another shape, or an error where that would need a copy.
func (t *Tensor) Reshape(extents ...int) (*Tensor, error) {
	s, err := t.spec.Reshaped(ShapeOf(extents...))
	if err != nil {
		return nil, err
	}
	return t.makeView("Reshape", s, 0)
}

// Diagonal returns a view of the elements with equal indices on axes a and b:
// axis a runs along the diagonal, axis b is gone.
func (t *Tensor) Diagonal(a, b int) (*Tensor, error) {
	s, err := t.spec.DiagonalOf(a, b)
	if err != nil {
		return nil, err
	}
	return t.makeView("Diagonal", s, 0)
}

// Slice returns a view of the elements start, start+step, … (count of them)
// along axis. A negative step reverses.
func (t *Tensor) Slice(axis, start, count, step int) (*Tensor, error) {
	s, shift, err := t.spec.Sliced(axis, start, count, step)
	if err != nil {
		return nil, err
	}
	return t.makeView("Slice", s, shift)
}

// Index returns a view of the elements at position i of axis, which is gone.
func (t *Tensor) Index(axis, i int) (*Tensor, error) {
	s, shift, err := t.spec.Indexed(axis, i)
	if err != nil {
		return nil, err
	}
	return t.makeView("Index", s, shift)
}
