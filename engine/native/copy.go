package native

import (
	"slices"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// CopyPlan copies a strided tensor to another of the same shape, in any order
// of axes. It is immutable: any number of goroutines may run it at once.
//
// Where rows are contiguous in both, rows are copied. Elsewhere a copy would
// run across one of the two in large strides, and use a little of each cache
// line it touches. So it goes by tiles: a kilobyte or so of what is contiguous
// in the source times as much of what is contiguous in the destination, read
// row by row into a buffer and written row by row from it.
// Each side of a tile may take several axes, as tensors of many short axes need.
type CopyPlan struct {
	elem int // bytes of an element, or of several that lie together in both: 1, 4, 8, 16, 32
	run  int // elements that lie together in both

	outer []axis // over tiles, or runs; operand 0 is the destination; steps in bytes
	base  [maxOperands]int
	items int

	// src is the side of a tile that is contiguous in the source, dst the
	// other. A side that takes a part of an axis has a short last part.
	src, dst side
	buffered bool
	conj     engine.DType // conjugate elements of this type, if not NoDType
	vectors  transposer   // for tiles whose rows are packed on both sides
	regular  int          // distance in the destination along the src side, 0 if it varies

	runTail runTail
	stream  bool // the destination may go past the caches
	aligned bool // and runs are whole lines
	step    int  // or single elements, so far apart in the source
}

// side lists the offsets, in bytes, of the elements along one side of a tile,
// in the source and in the destination.
type side struct {
	from, to []int
	cut      int // index in outer of the loop over parts of the side's last axis, or -1
	tail     int // elements in the last part
	packed   bool
}

// runTail describes a run that was cut into parts.
type runTail struct {
	cut  int // index in outer, or -1
	tail int // elements of the last part
}

const (
	rowBytes   = 512       // runs of this length are copied one by one
	partBytes  = callBytes // longer runs are cut, so that they can be shared out
	smallBytes = 1 << 18   // tensors that lie in the caches need no buffer

	// Outputs of so many bytes go past the caches: a line that is written plainly
	// is read from memory first. It is a quarter of the time or more from here on,
	// even where the next operation reads the output; below, that one finds it in
	// the second-level cache.
	streamBytes = 3 << 20
	stepBytes   = 1 << 11 // of a row of elements that lie steps apart
	streamAhead = 1 << 11 // distance of two of which is asked for what is read

	// A side of a tile is about as long as the first of its two limits. Tiles
	// of large tensors take some hundred kilobytes, in the second-level cache:
	// memory likes to be read and written in long pieces.
	sideBytes, sideCells           = 1024, 256
	smallSideBytes, smallSideCells = 256, 32
)

// NewCopy plans a copy of elements of size bytes (1, 4, 8 or 16) between tensors
// of the given extents. Strides are in elements; the destination's must
// not make elements overlap.
func (l Level) NewCopy(size int, extents, dst, src []int) *CopyPlan {
	return newCopy(l, size, engine.NoDType, extents, dst, src)
}

// NewConjCopy plans a copy that conjugates; of real elements it is a plain copy.
func (l Level) NewConjCopy(d engine.DType, extents, dst, src []int) *CopyPlan {
	conj := d
	if !d.IsComplex() {
		conj = engine.NoDType
	}
	return newCopy(l, d.Size(), conj, extents, dst, src)
}

func newCopy(l Level, size int, conj engine.DType, extents, dst, src []int) *CopyPlan {
	p := &CopyPlan{elem: size, run: 1, conj: conj, src: side{cut: -1}, dst: side{cut: -1}, runTail: runTail{cut: -1}}
	x := newNest(extents, size, dst, src)
	if x.empty {
		return p
	}
	total := extent(x.axes) * size
	p.base = x.base
	axes := x.axes
	if n := len(axes); n > 0 && axes[n-1].step[0] == size && axes[n-1].step[1] == size {
		p.run = axes[n-1].n
		axes = axes[:n-1]
	}
	p.widen()
	stream := canStream(Best(l)) && conj == engine.NoDType && total >= streamBytes
	if p.run*p.elem >= rowBytes || len(axes) == 0 {
		p.rows(axes)
		p.stream = stream
		p.aligned = stream && len(axes) > 0 && p.runTail.cut < 0 && p.run*p.elem%64 == 0
		return p
	}
	p.tiles(axes, total > smallBytes)
	if n := p.dst.from; stream && p.run == 1 && p.elem >= 4 && p.elem <= 16 && p.dst.packed && len(p.src.to) == 1 && len(n) > 1 && contiguous(n, n[1]) {
		p.stream, p.step = true, n[1]
	}
	if p.run == 1 && p.src.packed && p.dst.packed {
		p.vectors = transposerOf(Best(l), p.elem)
		if n := p.src.to; len(n) > 1 && contiguous(n, n[1]) {
			p.regular = n[1]
		}
	}
	p.buffered = conj != engine.NoDType || total > smallBytes && len(p.src.to) > 1 && len(p.dst.to) > 1
	return p
}

// widen takes short runs as single elements.
func (p *CopyPlan) widen() {
	for _, e := range []int{32, 16, 8} {
		if bytes := p.run * p.elem; e > p.elem && bytes%e == 0 && bytes <= 32 {
			p.run, p.elem = bytes/e, e
			return
		}
	}
}

// rows plans to copy run by run, long ones in parts.
func (p *CopyPlan) rows(axes []axis) {
	p.outer = slices.Clone(axes)
	if part := partBytes / p.elem; p.run > part {
		parts := (p.run + part - 1) / part
		p.runTail = runTail{cut: len(p.outer), tail: p.run - (parts-1)*part}
		p.outer = append(p.outer, axis{n: parts, step: [maxOperands]int{part * p.elem, part * p.elem}})
		p.run = part
	}
	p.src, p.dst = newSide(), newSide()
	p.items = extent(p.outer)
}

func newSide() side { return side{from: []int{0}, to: []int{0}, cut: -1, packed: true} }

// tiles plans to copy tile by tile.
func (p *CopyPlan) tiles(axes []axis, large bool) {
	bytes := p.run * p.elem
	goal := min(smallSideBytes, smallSideCells*bytes)
	if large {
		goal = min(sideBytes, sideCells*bytes)
	}
	rest := slices.Clone(axes)
	byDst := slices.Clone(axes) // fastest in the destination first
	slices.Reverse(byDst)
	bySrc := slices.Clone(byDst)
	slices.SortStableFunc(bySrc, func(a, b axis) int { return abs(a.step[1]) - abs(b.step[1]) })

	if large && byDst[0] == bySrc[0] { // along one axis on both sides
		goal = stepBytes
	}
	p.dst, p.src = newSide(), newSide()
	var partsD, partsS *axis
	var taken []axis
	taken, partsD = p.dst.take(byDst, nil, bytes, goal)
	takenS, partsS := p.src.take(bySrc, taken, bytes, goal)
	taken = append(taken, takenS...)
	rest = slices.DeleteFunc(rest, func(a axis) bool { return slices.Contains(taken, a) })
	// Nearby tiles first, on either side, so that pages and lines are met again
	// while the processor still knows them.
	if partsD != nil {
		rest = append(rest, *partsD)
	}
	if partsS != nil {
		rest = append(rest, *partsS)
	}
	near := func(a axis) int { return min(a.step[0], abs(a.step[1])) }
	slices.SortStableFunc(rest, func(a, b axis) int { return near(b) - near(a) })
	if partsD != nil {
		p.dst.cut = slices.Index(rest, *partsD)
	}
	if partsS != nil {
		p.src.cut = slices.Index(rest, *partsS)
	}
	p.outer = rest
	p.items = extent(p.outer)
	p.dst.packed = contiguous(p.dst.to, bytes)
	p.src.packed = contiguous(p.src.from, bytes)
}

// take puts the first axes of the list into the side until it is about goal
// bytes long, for runs of the given bytes;
// taken are those that the other side has already. It returns what it took and
// the loop over parts of the last one, if it took a part.
func (s *side) take(list, taken []axis, bytes, goal int) (took []axis, parts *axis) {
	have := bytes
	for _, a := range list {
		if 2*have > goal {
			break
		}
		if slices.Contains(taken, a) {
			have *= a.n
			continue
		}
		took = append(took, a)
		n, want := a.n, (goal+have-1)/have
		if n > want {
			count := (n + want - 1) / want
			want = (n + count - 1) / count
			count = (n + want - 1) / want
			parts = &axis{n: count}
			for o := range maxOperands {
				parts.step[o] = want * a.step[o]
			}
			s.tail = n - (count-1)*want
			n = want
		}
		s.extend(n, a)
		have *= n
		if parts != nil {
			s.tail *= len(s.from) / n
			break
		}
	}
	return took, parts
}

// extend adds n steps along a as the side's slowest axis.
func (s *side) extend(n int, a axis) {
	m := len(s.from)
	for i := 1; i < n; i++ {
		for j := range m {
			s.to = append(s.to, s.to[j]+i*a.step[0])
			s.from = append(s.from, s.from[j]+i*a.step[1])
		}
	}
}

func contiguous(offsets []int, step int) bool {
	for i, o := range offsets {
		if o != i*step {
			return false
		}
	}
	return true
}

// Items is the number of pieces that the copy can be cut into. It depends on
// shapes and strides alone.
func (p *CopyPlan) Items() int { return p.items }

// Run copies items lo ≤ i < hi. dst and src point to the elements (0, 0, …) of
// tensors that must not overlap. ws is scratch memory for one call at a time.
func (p *CopyPlan) Run(ws *Workspace, dst, src unsafe.Pointer, lo, hi int) {
	if lo >= hi {
		return
	}
	var buf unsafe.Pointer
	if p.stream {
		defer storeFence()
	} else if p.buffered {
		n := len(p.dst.to) * len(p.src.to) * p.run * p.elem
		buf = unsafe.Pointer(unsafe.SliceData(scratch[uint8](&ws.b, n)))
	}
	switch p.elem {
	case 1:
		runTiles[uint8](p, dst, src, buf, lo, hi)
	case 4:
		runTiles[uint32](p, dst, src, buf, lo, hi)
	case 8:
		runTiles[uint64](p, dst, src, buf, lo, hi)
	case 16:
		runTiles[[2]uint64](p, dst, src, buf, lo, hi)
	case 32:
		runTiles[[4]uint64](p, dst, src, buf, lo, hi)
	default:
		panic("native: copy of elements of a size that no dtype has")
	}
}

// cell is what is moved as one.
type cell interface {
	uint8 | uint32 | uint64 | [2]uint64 | [4]uint64
}

func runTiles[T cell](p *CopyPlan, dst, src, buf unsafe.Pointer, lo, hi int) {
	var o odometer
	o.seek(p.outer, p.base, lo)
	for item := lo; item < hi; item++ {
		d, s := unsafe.Add(dst, o.pos[0]), unsafe.Add(src, o.pos[1])
		if p.aligned {
			if n := p.streamed(&o, d, s, hi-item); n > 0 {
				o.seek(p.outer, p.base, min(item+n, hi-1))
				item += n - 1
				continue
			}
		}
		run, nd, ns := p.run, len(p.dst.to), len(p.src.to)
		if c := p.runTail.cut; c >= 0 && o.at[c] == o.axes[c].n-1 {
			run = p.runTail.tail
		}
		if c := p.dst.cut; c >= 0 && o.at[c] == o.axes[c].n-1 {
			nd = p.dst.tail
		}
		if c := p.src.cut; c >= 0 && o.at[c] == o.axes[c].n-1 {
			ns = p.src.tail
		}
		switch {
		case p.step != 0:
			stepsPast(p.elem, d, s, nd, p.step)
		case p.stream:
			copyPast(d, s, run*p.elem)
		case nd == 1 && ns == 1:
			out := unsafe.Slice((*T)(d), run)
			copy(out, unsafe.Slice((*T)(s), run))
			if p.conj != engine.NoDType {
				conjugateBytes(p.conj, d, run*p.elem)
			}
		case buf != nil && p.vectors > 0:
			tileTransposed[T](p, d, s, buf, nd, ns)
		case buf != nil:
			tileBuffered[T](p, d, s, buf, nd, ns)
		case p.vectors > 0 && p.regular > 0 && p.conj == engine.NoDType:
			transpose[T](p.vectors, d, s, p.dst.from, 0, nd, ns, p.regular)
		default:
			tileDirect[T](p, d, s, nd, ns)
		}
		o.next()
	}
}

// streamed copies runs along the innermost loop past the caches, at most limit
// of them, and returns how many: none where destinations are not aligned.
func (p *CopyPlan) streamed(o *odometer, d, s unsafe.Pointer, limit int) int {
	last := len(p.outer) - 1
	a, bytes := &p.outer[last], p.run*p.elem
	if (uintptr(d)|uintptr(a.step[0]))%32 != 0 {
		return 0
	}
	n := min(a.n-o.at[last], limit, max(callBytes/bytes, 1))
	streamRuns(d, s, bytes, n, a.step[0], a.step[1])
	return n
}

// copyPast copies bytes past the caches.
func copyPast(d, s unsafe.Pointer, bytes int) {
	head := min(int(-uintptr(d)&63), bytes)
	lines := (bytes - head) &^ 63
	copyBytes(d, s, head)
	if lines > 0 {
		streamRuns(unsafe.Add(d, head), unsafe.Add(s, head), lines, 1, 0, streamAhead)
	}
	if at := head + lines; at < bytes {
		copyBytes(unsafe.Add(d, at), unsafe.Add(s, at), bytes-at)
	}
}

func copyBytes(d, s unsafe.Pointer, n int) {
	for ; n > callBytes; n -= callBytes {
		copy(unsafe.Slice((*byte)(d), callBytes), unsafe.Slice((*byte)(s), callBytes))
		d, s = unsafe.Add(d, callBytes), unsafe.Add(s, callBytes)
	}
	copy(unsafe.Slice((*byte)(d), n), unsafe.Slice((*byte)(s), n))
}

// tileDirect copies a tile element by element.
func tileDirect[T cell](p *CopyPlan, d, s unsafe.Pointer, nd, ns int) {
	to, from := p.dst.to[:nd], p.dst.from[:nd]
	for i := range ns {
		di, si := unsafe.Add(d, p.src.to[i]), unsafe.Add(s, p.src.from[i])
		if p.run > 1 {
			for j, off := range to {
				copy(unsafe.Slice((*T)(unsafe.Add(di, off)), p.run), unsafe.Slice((*T)(unsafe.Add(si, from[j])), p.run))
			}
			continue
		}
		for j, off := range to {
			*(*T)(unsafe.Add(di, off)) = *(*T)(unsafe.Add(si, from[j]))
		}
	}
	if p.conj == engine.NoDType {
		return
	}
	for i := range ns {
		for _, off := range to {
			conjugateBytes(p.conj, unsafe.Add(d, p.src.to[i]+off), p.run*p.elem)
		}
	}
}

// tileTransposed copies a tile of single elements that is packed on both sides
// by way of buf, which holds it as rows of the destination.
func tileTransposed[T cell](p *CopyPlan, d, s, buf unsafe.Pointer, nd, ns int) {
	transpose[T](p.vectors, buf, s, p.dst.from, 0, nd, ns, nd*p.elem)
	b := unsafe.Slice((*T)(buf), nd*ns)
	if p.conj != engine.NoDType {
		conjugateBytes(p.conj, buf, len(b)*p.elem)
	}
	for i := range ns {
		copy(unsafe.Slice((*T)(unsafe.Add(d, p.src.to[i])), nd), b[i*nd:(i+1)*nd])
	}
}

// tileBuffered copies a tile by way of buf, which holds it as a row of src
// elements for each element of the dst side.
func tileBuffered[T cell](p *CopyPlan, d, s, buf unsafe.Pointer, nd, ns int) {
	row := ns * p.run
	b := unsafe.Slice((*T)(buf), nd*row)
	for j := range nd {
		sj, out := unsafe.Add(s, p.dst.from[j]), b[j*row:(j+1)*row]
		switch {
		case p.src.packed:
			copy(out, unsafe.Slice((*T)(sj), row))
		case p.run == 1:
			for i := range out {
				out[i] = *(*T)(unsafe.Add(sj, p.src.from[i]))
			}
		default:
			for i := range ns {
				copy(out[i*p.run:(i+1)*p.run], unsafe.Slice((*T)(unsafe.Add(sj, p.src.from[i])), p.run))
			}
		}
	}
	if p.conj != engine.NoDType {
		conjugateBytes(p.conj, buf, len(b)*p.elem)
	}
	for i := range ns {
		di := unsafe.Add(d, p.src.to[i])
		switch {
		case p.run > 1:
			for j, off := range p.dst.to[:nd] {
				copy(unsafe.Slice((*T)(unsafe.Add(di, off)), p.run), b[j*row+i*p.run:j*row+(i+1)*p.run])
			}
		case p.dst.packed:
			gather(unsafe.Slice((*T)(di), nd), b[i:], row)
		default:
			for j, off := range p.dst.to[:nd] {
				*(*T)(unsafe.Add(di, off)) = b[j*row+i]
			}
		}
	}
}

// gather sets dst[j] = src[j·step].
func gather[T cell](dst, src []T, step int) {
	for j := range dst {
		dst[j] = src[j*step]
	}
}

// conjugateBytes negates the imaginary parts of bytes of elements of a complex d.
func conjugateBytes(d engine.DType, p unsafe.Pointer, bytes int) {
	if d == engine.Complex64 {
		conjugate(unsafe.Slice((*complex64)(p), bytes/8))
		return
	}
	conjugate(unsafe.Slice((*complex128)(p), bytes/16))
}
