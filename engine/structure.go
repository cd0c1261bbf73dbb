package engine

// Structural operations move elements, bit for bit, for every dtype. They copy;
// where a view says the same, Tensor has it as a method. No output may overlap
// an input.

// List is an ordered list of integers that is a parameter of an operation. It is
// one word, immutable, and comparable. The zero value is the empty list.
type List struct{ l list }

// ListOf interns a list.
func ListOf(v ...int) List { return List{makeList(v)} }

// Len is the number of entries.
func (v List) Len() int { return v.l.len() }

// At is entry i, 0 ≤ i < Len().
func (v List) At(i int) int { return v.l.at(i) }

func (v List) String() string { return v.l.string("(", ")") }

// Move is a part of a structural operation: Shape's elements of an output from
// those of an input, each at its shift and strides in elements.
type Move struct {
	Out, OutShift int
	In, InShift   int // In −1: every element is the operation's fill value
	To, From      Spec
}

// Mover is a structural operation that is a series of moves, in this order.
// Engines need no more to execute it.
type Mover interface {
	Op
	// Moves returns the moves between tensors of canonical specs in and out.
	Moves(in, out []Spec) []Move
	// Fill is the value of moves without an input, 0 unless given.
	Fill() Factor
}

// structural is embedded in movers that fill with 0 or not at all.
type structural struct{}

// MayAlias implements Op.
func (structural) MayAlias(out, in int) bool { return false }

// Fill implements Mover.
func (structural) Fill() Factor { return Factor{} }

func whole(out, in int, to, from Spec) Move { return Move{Out: out, In: in, To: to, From: from} }

func fillAll(out Spec) Move { return Move{In: -1, To: out} }

// BroadcastInDim is out[i_0, …] = in[…, i_{Axes[k]} or 0, …]: axis k of in becomes
// axis Axes[k] of Shape; an axis of extent 1 is repeated, and so is in along the
// axes that are not listed. Axes must rise. It is StableHLO's broadcast_in_dim.
type BroadcastInDim struct {
	structural
	Shape Shape
	Axes  Axes
}

// Name implements Op.
func (BroadcastInDim) Name() string { return "BroadcastInDim" }

// Infer implements Op.
func (b BroadcastInDim) Infer(in []Spec) ([]Spec, error) {
	const op = "BroadcastInDim"
	if err := want(op, in, 1); err != nil {
		return nil, err
	}
	out := Spec{DType: in[0].DType, Domain: in[0].Domain, Shape: b.Shape}
	if err := out.Validate(op, Output(0)); err != nil {
		return nil, err
	}
	if b.Axes.Len() != in[0].Rank() {
		return nil, shapeErr(op, Input(0), NoAxis, "%v lists %d axes, the tensor has %d", b.Axes, b.Axes.Len(), in[0].Rank())
	}
	if _, err := axisSet(op, Output(0), b.Axes, b.Shape.Rank()); err != nil {
		return nil, err
	}
	for k := range b.Axes.Len() {
		if k > 0 && b.Axes.At(k) < b.Axes.At(k-1) {
			return nil, shapeErr(op, Input(0), k, "axes %v do not rise: permute first", b.Axes)
		}
		if n, m := in[0].Shape.At(k), b.Shape.At(b.Axes.At(k)); n != 1 && n != m {
			return nil, shapeErr(op, Input(0), k, "extent %d is neither 1 nor %d of the output's axis %d", n, m, b.Axes.At(k))
		}
	}
	return []Spec{out}, nil
}

// Moves implements Mover.
func (b BroadcastInDim) Moves(in, out []Spec) []Move {
	from, str := out[0], make([]int, out[0].Rank())
	for k, s := range in[0].AppendStrides(nil) {
		if in[0].Shape.At(k) != 1 {
			str[b.Axes.At(k)] = s
		}
	}
	from.Strides = StridesOf(str...)
	return []Move{whole(0, 0, out[0], from)}
}

// Slice is out[i_0, …] = in[Start[0] + i_0·Step[0], …], of shape Count, with an
// entry of each list per axis. Steps may be negative, as in numpy's slices.
type Slice struct {
	structural
	Start, Count, Step List
}

// Name implements Op.
func (Slice) Name() string { return "Slice" }

// Infer implements Op.
func (s Slice) Infer(in []Spec) ([]Spec, error) {
	if err := want("Slice", in, 1); err != nil {
		return nil, err
	}
	v, _, err := s.view(in[0])
	return []Spec{v.Compact()}, err
}

func (s Slice) view(in Spec) (v Spec, shift int, err error) {
	if r := in.Rank(); s.Start.Len() != r || s.Count.Len() != r || s.Step.Len() != r {
		return in, 0, shapeErr("Slice", Input(0), NoAxis, "%d starts, %d counts and %d steps for %d axes", s.Start.Len(), s.Count.Len(), s.Step.Len(), r)
	}
	v = in
	for i := range in.Rank() {
		var by int
		if v, by, err = v.Sliced(i, s.Start.At(i), s.Count.At(i), s.Step.At(i)); err != nil {
			return in, 0, err
		}
		shift += by
	}
	return v, shift, nil
}

// Moves implements Mover.
func (s Slice) Moves(in, out []Spec) []Move {
	v, shift, _ := s.view(in[0]) // Infer has found no error
	return []Move{{InShift: shift, To: out[0], From: v}}
}

// part is the view of count positions of axis from start on.
func part(s Spec, axis, start, count, step int) (v Spec, shift int) {
	v, shift, err := s.Sliced(axis, start, count, step)
	if err != nil {
		panic(err) // inference has checked
	}
	return v, shift
}

// Pad is out[i_0, …] = in[i_0 − Low[0], …] where that is an element of in, else Value:
// Low[k] elements before and High[k] after it along each axis k. Value is 0 unless given, and must fit the dtype; for bool, 0 or 1.
type Pad struct {
	Low, High List
	Value     Factor
}

// Name implements Op.
func (Pad) Name() string { return "Pad" }

// MayAlias implements Op.
func (Pad) MayAlias(out, in int) bool { return false }

// Fill implements Mover.
func (p Pad) Fill() Factor { return p.Value }

// Infer implements Op.
func (p Pad) Infer(in []Spec) ([]Spec, error) {
	const op = "Pad"
	if err := want(op, in, 1); err != nil {
		return nil, err
	}
	r := in[0].Rank()
	if p.Low.Len() != r || p.High.Len() != r {
		return nil, shapeErr(op, Input(0), NoAxis, "%d low and %d high counts for %d axes", p.Low.Len(), p.High.Len(), r)
	}
	if err := p.Value.check(op, in[0].DType); err != nil {
		return nil, err
	}
	ext := in[0].Shape.Ints()
	for i := range ext {
		if p.Low.At(i) < 0 || p.High.At(i) < 0 {
			return nil, shapeErr(op, Input(0), i, "pads %d and %d: they must not be negative", p.Low.At(i), p.High.At(i))
		}
		sum := ext[i] + p.Low.At(i)
		if sum < 0 || sum+p.High.At(i) < 0 {
			return nil, shapeErr(op, Input(0), i, "the extent overflows")
		}
		ext[i] = sum + p.High.At(i)
	}
	return inferShape(op, in[0], ext)
}

func inferShape(op string, like Spec, ext []int) ([]Spec, error) {
	return inferred(op, Spec{DType: like.DType, Domain: like.Domain, Shape: ShapeOf(ext...)})
}

// Moves implements Mover.
func (p Pad) Moves(in, out []Spec) []Move {
	m := whole(0, 0, out[0], in[0])
	for i := range in[0].Rank() {
		var by int
		m.To, by = part(m.To, i, p.Low.At(i), in[0].Shape.At(i), 1)
		m.OutShift += by
	}
	return []Move{fillAll(out[0]), m}
}

// Concat is out[…, k, …] = input m[…, k − (extents of inputs 0 … m−1), …] along Axis:
// its inputs, one or more of one dtype, one after another; the other extents are
// equal (numpy's concatenate).
type Concat struct {
	structural
	Axis int
}

// Name implements Op.
func (Concat) Name() string { return "Concat" }

// Infer implements Op.
func (c Concat) Infer(in []Spec) ([]Spec, error) {
	const op = "Concat"
	if err := wantLike(op, in); err != nil {
		return nil, err
	}
	if _, err := axisSet(op, Input(0), AxesOf(c.Axis), in[0].Rank()); err != nil {
		return nil, err
	}
	ext := in[0].Shape.Ints()
	for i, s := range in[1:] {
		if s.Rank() != len(ext) {
			return nil, shapeErr(op, Input(i+1), NoAxis, "rank %d differs from %d of input 0", s.Rank(), len(ext))
		}
		for k := range ext {
			if k != c.Axis && s.Shape.At(k) != ext[k] {
				return nil, shapeErr(op, Input(i+1), k, "extent %d differs from %d of input 0", s.Shape.At(k), ext[k])
			}
		}
		if ext[c.Axis] += s.Shape.At(c.Axis); ext[c.Axis] < 0 {
			return nil, shapeErr(op, Input(i+1), c.Axis, "the extent overflows")
		}
	}
	return inferShape(op, in[0], ext)
}

// wantLike checks that there are inputs, of one dtype.
func wantLike(op string, in []Spec) error {
	if err := want(op, in, max(len(in), 1)); err != nil {
		return err
	}
	return (function{name: op, in: anySet}).types(in, 0)
}

// Moves implements Mover.
func (c Concat) Moves(in, out []Spec) (moves []Move) {
	at := 0
	for i, s := range in {
		n := s.Shape.At(c.Axis)
		to, shift := part(out[0], c.Axis, at, n, 1)
		moves = append(moves, Move{OutShift: shift, In: i, To: to, From: s})
		at += n
	}
	return moves
}

// Stack is out[…, k, …] = input k, along a new axis at position Axis; the inputs,
// one or more, have one dtype and shape (numpy's stack).
type Stack struct {
	structural
	Axis int
}

// Name implements Op.
func (Stack) Name() string { return "Stack" }

// Infer implements Op.
func (s Stack) Infer(in []Spec) ([]Spec, error) {
	const op = "Stack"
	if err := wantLike(op, in); err != nil {
		return nil, err
	}
	if err := wantSameShape(op, in); err != nil {
		return nil, err
	}
	if _, err := axisSet(op, Output(0), AxesOf(s.Axis), in[0].Rank()+1); err != nil {
		return nil, err
	}
	ext := in[0].Shape.Ints()
	ext = append(ext[:s.Axis:s.Axis], append([]int{len(in)}, ext[s.Axis:]...)...)
	return inferShape(op, in[0], ext)
}

// Moves implements Mover.
func (s Stack) Moves(in, out []Spec) (moves []Move) {
	for i := range in {
		to, shift, err := out[0].Indexed(s.Axis, i)
		if err != nil {
			panic(err)
		}
		moves = append(moves, Move{OutShift: shift, In: i, To: to, From: in[i]})
	}
	return moves
}

// Split is output m[…, k, …] = in[…, Sizes[0] + … + Sizes[m−1] + k, …]: in cut along
// Axis into as many outputs as Sizes has entries, of these extents, which add up to
// that of the axis. It undoes Concat.
type Split struct {
	structural
	Axis  int
	Sizes List
}

// Name implements Op.
func (Split) Name() string { return "Split" }

// Infer implements Op.
func (s Split) Infer(in []Spec) ([]Spec, error) {
	const op = "Split"
	if err := want(op, in, 1); err != nil {
		return nil, err
	}
	if _, err := axisSet(op, Input(0), AxesOf(s.Axis), in[0].Rank()); err != nil {
		return nil, err
	}
	left, ext := in[0].Shape.At(s.Axis), in[0].Shape.Ints()
	var out []Spec
	for i := range s.Sizes.Len() {
		n := s.Sizes.At(i)
		if n < 0 || n > left {
			return nil, shapeErr(op, Input(0), s.Axis, "sizes %v do not add up to extent %d", s.Sizes, in[0].Shape.At(s.Axis))
		}
		left -= n
		ext[s.Axis] = n
		out = append(out, Spec{DType: in[0].DType, Domain: in[0].Domain, Shape: ShapeOf(ext...)})
	}
	if left != 0 || len(out) == 0 {
		return nil, shapeErr(op, Input(0), s.Axis, "sizes %v do not add up to extent %d", s.Sizes, in[0].Shape.At(s.Axis))
	}
	return out, nil
}

// Moves implements Mover.
func (s Split) Moves(in, out []Spec) (moves []Move) {
	at := 0
	for i := range out {
		from, shift := part(in[0], s.Axis, at, s.Sizes.At(i), 1)
		moves = append(moves, Move{Out: i, InShift: shift, To: out[i], From: from})
		at += s.Sizes.At(i)
	}
	return moves
}

// Reverse is out[…, k, …] = in[…, n − 1 − k, …] along each of Axes, of extent n
// (StableHLO's reverse, numpy's flip).
type Reverse struct {
	structural
	Axes Axes
}

// Name implements Op.
func (Reverse) Name() string { return "Reverse" }

// Infer implements Op.
func (r Reverse) Infer(in []Spec) ([]Spec, error) {
	if err := want("Reverse", in, 1); err != nil {
		return nil, err
	}
	if _, err := axisSet("Reverse", Input(0), r.Axes, in[0].Rank()); err != nil {
		return nil, err
	}
	return []Spec{in[0].Compact()}, nil
}

// Moves implements Mover.
func (r Reverse) Moves(in, out []Spec) []Move {
	m := whole(0, 0, out[0], in[0])
	for i := range r.Axes.Len() {
		a := r.Axes.At(i)
		if n := in[0].Shape.At(a); n > 0 {
			var by int
			m.From, by = part(m.From, a, n-1, n, -1)
			m.InShift += by
		}
	}
	return []Move{m}
}

// Roll is out[…, (k + Shift) mod n, …] = in[…, k, …] along Axis; Shift may be
// negative or beyond n (numpy's roll).
type Roll struct {
	structural
	Axis, Shift int
}

// Name implements Op.
func (Roll) Name() string { return "Roll" }

// Infer implements Op.
func (r Roll) Infer(in []Spec) ([]Spec, error) { return inferAlong("Roll", anySet, r.Axis, in) }

// Moves implements Mover.
func (r Roll) Moves(in, out []Spec) (moves []Move) {
	n := in[0].Shape.At(r.Axis)
	if n == 0 {
		return nil
	}
	k := (r.Shift%n + n) % n
	for _, c := range [2][3]int{{0, k, n - k}, {n - k, 0, k}} { // from, to, count
		from, in := part(in[0], r.Axis, c[0], c[2], 1)
		to, out := part(out[0], r.Axis, c[1], c[2], 1)
		moves = append(moves, Move{OutShift: out, InShift: in, To: to, From: from})
	}
	return moves
}

// DiagonalIn is out[…, i, …, j, …] = in[…, i, …] where i = j, else 0: axis A of in on
// the diagonal of axes A and B of out, the inverse of Diagonal{A, B}. B is counted in
// out.
type DiagonalIn struct {
	structural
	A, B int
}

// Name implements Op.
func (DiagonalIn) Name() string { return "DiagonalIn" }

// Infer implements Op.
func (d DiagonalIn) Infer(in []Spec) ([]Spec, error) {
	const op = "DiagonalIn"
	if err := want(op, in, 1); err != nil {
		return nil, err
	}
	if _, err := axisSet(op, Output(0), AxesOf(d.A, d.B), in[0].Rank()+1); err != nil {
		return nil, err
	}
	ext, n := in[0].Shape.Ints(), in[0].Shape.At(d.axis())
	ext = append(ext[:d.B:d.B], append([]int{n}, ext[d.B:]...)...)
	return inferShape(op, in[0], ext)
}

// axis is A as in counts it.
func (d DiagonalIn) axis() int {
	if d.A > d.B {
		return d.A - 1
	}
	return d.A
}

// Moves implements Mover.
func (d DiagonalIn) Moves(in, out []Spec) []Move {
	to, err := out[0].DiagonalOf(d.A, d.B)
	if err != nil {
		panic(err)
	}
	return []Move{fillAll(out[0]), whole(0, 0, to, in[0])}
}

// Tril is out[…, i, j] = in[…, i, j] where j ≤ i + K, else 0, over the last two axes
// (numpy's tril).
type Tril struct{ K int }

// Name implements Op.
func (Tril) Name() string { return "Tril" }

// MayAlias implements Op.
func (Tril) MayAlias(out, in int) bool { return false }

// Infer implements Op.
func (t Tril) Infer(in []Spec) ([]Spec, error) { return inferTriangle("Tril", in) }

// Triu is out[…, i, j] = in[…, i, j] where j ≥ i + K, else 0, over the last two axes
// (numpy's triu).
type Triu struct{ K int }

// Name implements Op.
func (Triu) Name() string { return "Triu" }

// MayAlias implements Op.
func (Triu) MayAlias(out, in int) bool { return false }

// Infer implements Op.
func (t Triu) Infer(in []Spec) ([]Spec, error) { return inferTriangle("Triu", in) }

func inferTriangle(op string, in []Spec) ([]Spec, error) {
	if err := want(op, in, 1); err != nil {
		return nil, err
	}
	if in[0].Rank() < 2 {
		return nil, shapeErr(op, Input(0), NoAxis, "rank %d: a triangle is of the last two axes", in[0].Rank())
	}
	return []Spec{in[0].Compact()}, nil
}
