package engine

import (
	"strconv"
	"unique"
)

// MaxRank is the highest rank of a tensor.
const MaxRank = 64

// list is an interned list of integers: one word, comparable, immutable, of
// any length. The empty list is the zero value.
type list struct{ h unique.Handle[string] }

const wordBytes = 8

func makeList(v []int) list {
	if len(v) == 0 {
		return list{}
	}
	b := make([]byte, 0, 16*wordBytes)
	for _, x := range v {
		u := uint64(x)
		b = append(b, byte(u), byte(u>>8), byte(u>>16), byte(u>>24),
			byte(u>>32), byte(u>>40), byte(u>>48), byte(u>>56))
	}
	return list{unique.Make(string(b))}
}

func (l list) raw() string {
	if l == (list{}) {
		return ""
	}
	return l.h.Value()
}

func wordAt(s string, i int) int {
	s = s[i*wordBytes : i*wordBytes+wordBytes]
	return int(uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56)
}

func (l list) len() int     { return len(l.raw()) / wordBytes }
func (l list) at(i int) int { return wordAt(l.raw(), i) }

func (l list) appendTo(dst []int) []int {
	s := l.raw()
	for i := 0; i < len(s)/wordBytes; i++ {
		dst = append(dst, wordAt(s, i))
	}
	return dst
}

func (l list) string(open, end string) string {
	b := []byte(open)
	for i := range l.len() {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, int64(l.at(i)), 10)
	}
	return string(append(b, end...))
}

// Shape is the list of the extents of a tensor, outermost axis first. It is
// one word, immutable, and comparable: equal shapes are ==. The zero value is
// the shape of a scalar, rank 0.
type Shape struct{ l list }

// ShapeOf interns extents. Negative extents and overflowing element counts
// are reported by whatever uses the shape.
func ShapeOf(extents ...int) Shape { return Shape{makeList(extents)} }

// Rank is the number of axes.
func (s Shape) Rank() int { return s.l.len() }

// At is the extent of axis i, 0 ≤ i < Rank().
func (s Shape) At(i int) int { return s.l.at(i) }

// Append appends the extents to dst.
func (s Shape) Append(dst []int) []int { return s.l.appendTo(dst) }

// Ints returns the extents in a new slice.
func (s Shape) Ints() []int { return s.l.appendTo(make([]int, 0, s.Rank())) }

func (s Shape) String() string { return s.l.string("[", "]") }

// Axes is an ordered list of axes or a permutation. It is one word, immutable,
// and comparable. The zero value is the empty list.
type Axes struct{ l list }

// AxesOf interns axes. Whether they are in range is checked where they are
// used. Axes count from 0; there are no negative ones.
func AxesOf(axes ...int) Axes { return Axes{makeList(axes)} }

// Len is the number of axes listed.
func (a Axes) Len() int { return a.l.len() }

// At is the i-th axis listed, 0 ≤ i < Len().
func (a Axes) At(i int) int { return a.l.at(i) }

// Append appends the axes to dst.
func (a Axes) Append(dst []int) []int { return a.l.appendTo(dst) }

// Ints returns the axes in a new slice.
func (a Axes) Ints() []int { return a.l.appendTo(make([]int, 0, a.Len())) }

func (a Axes) String() string { return a.l.string("(", ")") }

// Strides is the list of the distances, in elements, between neighbours along
// each axis; they may be negative. It is one word, immutable, and comparable.
// The zero value stands for compact row-major order.
type Strides struct{ l list }

// StridesOf interns strides, in elements.
func StridesOf(strides ...int) Strides { return Strides{makeList(strides)} }

// Len is the number of strides listed; 0 stands for compact row-major order.
func (s Strides) Len() int { return s.l.len() }

// At is the stride of axis i, 0 ≤ i < Len().
func (s Strides) At(i int) int { return s.l.at(i) }

// Append appends the strides to dst.
func (s Strides) Append(dst []int) []int { return s.l.appendTo(dst) }

func (s Strides) String() string {
	if s == (Strides{}) {
		return "compact"
	}
	return s.l.string("[", "]")
}
