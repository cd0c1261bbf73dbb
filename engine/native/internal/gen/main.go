//go:build avogen

// Command gen writes the assembly of package native and the Go file that
// declares it.
//
// A micro-kernel computes one tile of C from one block of k:
//
//	C[i][j]  = Σ_p A[i][p]·B[p][j]     or     C[i][j] += Σ_p A[i][p]·B[p][j]
//
// for up to mr rows and nv vectors of columns. Every element of the tile has an
// accumulator of its own that takes the products in the order of p, so its bits
// do not depend on the shape of the tile it happens to lie in.
//
// It does so for a batch of tiles, one after the other, in one call: calls and
// what is set up once would cost small products more than their arithmetic. A
// member of the batch may be several tiles, one below the other.
//
// Real kernels keep one accumulator register per row and vector. Complex
// kernels work on interleaved (re, im) pairs and keep two, Σ re(a)·b and
// Σ im(a)·b, which are joined once at the end:
//
//	re = x.re − y.im,  im = x.im + y.re.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"log"
	"os"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Byte offsets of the fields of native's tile struct; a test holds them.
const (
	offA    = 0
	offB    = 8
	offC    = 16
	offK    = 24
	offARS  = 32
	offACS  = 40
	offBRS  = 48
	offCRS  = 56
	offRows = 64
	offMask = 72
	offAdd  = 80
	offOne  = 88

	offLeft           = 104
	offAt             = 112 // of a, b, c: 8 bytes each
	offStep           = 136 // of a, b, c
	offBelow          = 160
	offTiles          = 168
	offDown           = 176 // of a, b (0), c
	offAhead          = 200 // of a, b
	ofA, ofB, ofC int = 0, 8, 16
)

// isa is one instruction set with its register file.
type isa struct {
	name  string
	bytes int // of a vector
	regs  []reg.VecPhysical
	masks []reg.OpmaskPhysical
}

// elem is one element type.
type elem struct {
	name    string
	size    int // of a real component
	complex bool
}

// shape is one tile: mr rows of nv vectors.
type shape struct{ mr, nv int }

var elems = []elem{
	{"F32", 4, false},
	{"F64", 8, false},
	{"C64", 4, true},
	{"C128", 8, true},
}

var (
	avx2 = isa{"AVX2", 32, []reg.VecPhysical{
		reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7,
		reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
	}, nil}
	avx512 = isa{"AVX512", 64, []reg.VecPhysical{
		reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7,
		reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
		reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23,
		reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
	}, []reg.OpmaskPhysical{reg.K1, reg.K2, reg.K3}}
)

// shapes lists the tiles of a kernel set. Fewer rows than mr are handled by
// the kernel; with opmasks so are fewer columns, so the narrow shapes only
// save work at the edges.
func shapes(s isa, e elem) []shape {
	rows := []int{8, 4, 2}
	if s.masks == nil {
		rows = []int{4, 2}
	}
	if e.complex {
		rows = rows[1:]
	}
	var out []shape
	for _, mr := range rows {
		for nv := 3; nv >= 1; nv-- {
			if s.masks == nil && nv != 3 {
				continue
			}
			out = append(out, shape{mr, nv})
		}
	}
	return out
}

// General registers. Row i of A lies at a + rowOff[i].
var (
	arg    = reg.RDI
	a      = reg.RSI
	b      = reg.RDX
	k      = reg.RCX
	acs    = reg.R8
	brs    = reg.R9
	aheadA = reg.R14
	aheadB = arg // which is loaded again after the sums
	rowOff = []reg.GPPhysical{nil, reg.R10, reg.R11, reg.R12, reg.R13, reg.R15, reg.RAX, reg.RBX}
)

// kernel emits one micro-kernel.
type kernel struct {
	isa
	elem
	shape
	acc  [][]reg.VecPhysical // Σ a·b, or Σ re(a)·b
	acc2 [][]reg.VecPhysical // Σ im(a)·b
	bv   []reg.VecPhysical
	free []reg.VecPhysical // what is left for broadcasts
}

func newKernel(s isa, e elem, sh shape) *kernel {
	kn := &kernel{isa: s, elem: e, shape: sh}
	regs := s.regs
	take := func(n int) []reg.VecPhysical {
		out := regs[:n:n]
		regs = regs[n:]
		return out
	}
	for range sh.mr {
		kn.acc = append(kn.acc, take(sh.nv))
		if e.complex {
			kn.acc2 = append(kn.acc2, take(sh.nv))
		}
	}
	kn.bv = take(sh.nv)
	kn.free = regs
	return kn
}

func (kn *kernel) name() string {
	return fmt.Sprintf("gemm%s%sR%dV%d", kn.elem.name, kn.isa.name, kn.mr, kn.nv)
}

func mem(base reg.Register, disp int) operand.Mem {
	return operand.Mem{Base: base, Disp: disp}
}

// rowMem addresses component comp of A[i][p].
func (kn *kernel) rowMem(i, comp int) operand.Mem {
	m := operand.Mem{Base: a, Disp: comp * kn.size}
	if i > 0 {
		m.Index, m.Scale = rowOff[i], 1
	}
	return m
}

func (kn *kernel) double() bool { return kn.size == 8 }

func (kn *kernel) zero(r reg.VecPhysical) {
	if kn.masks != nil {
		VPXORQ(r, r, r)
		return
	}
	VXORPS(r, r, r)
}

func (kn *kernel) broadcast(m operand.Mem, r reg.VecPhysical) {
	if kn.double() {
		VBROADCASTSD(m, r)
		return
	}
	VBROADCASTSS(m, r)
}

func (kn *kernel) fma(x, y, acc reg.VecPhysical) {
	if kn.double() {
		VFMADD231PD(x, y, acc)
		return
	}
	VFMADD231PS(x, y, acc)
}

// fmaFrom is fma with x read and broadcast by the instruction itself.
func (kn *kernel) fmaFrom(x operand.Mem, y, acc reg.VecPhysical) {
	if kn.double() {
		VFMADD231PD_BCST(x, y, acc)
		return
	}
	VFMADD231PS_BCST(x, y, acc)
}

// load reads vector j at m; lanes outside the mask become zero.
func (kn *kernel) load(m operand.Mem, j int, r reg.VecPhysical) {
	switch {
	case kn.masks == nil && kn.double():
		VMOVUPD(m, r)
	case kn.masks == nil:
		VMOVUPS(m, r)
	case kn.double():
		VMOVUPD_Z(m, kn.masks[j], r)
	default:
		VMOVUPS_Z(m, kn.masks[j], r)
	}
}

func (kn *kernel) store(r reg.VecPhysical, j int, m operand.Mem) {
	switch {
	case kn.masks == nil && kn.double():
		VMOVUPD(r, m)
	case kn.masks == nil:
		VMOVUPS(r, m)
	case kn.double():
		VMOVUPD(r, kn.masks[j], m)
	default:
		VMOVUPS(r, kn.masks[j], m)
	}
}

func (kn *kernel) add(x, y, dst reg.VecPhysical) {
	if kn.double() {
		VADDPD(x, y, dst)
		return
	}
	VADDPS(x, y, dst)
}

// join leaves the complex sum in x: x ∓ swap(y), minus in the real lanes.
func (kn *kernel) join(x, y, ones reg.VecPhysical) {
	swap := operand.U8(0x55)
	if !kn.double() {
		swap = operand.U8(0xb1)
	}
	switch {
	case kn.double() && kn.masks != nil:
		VPERMILPD(swap, y, y)
		VFMADDSUB213PD(y, ones, x)
	case kn.masks != nil:
		VPERMILPS(swap, y, y)
		VFMADDSUB213PS(y, ones, x)
	case kn.double():
		VPERMILPD(swap, y, y)
		VADDSUBPD(y, x, x)
	default:
		VPERMILPS(swap, y, y)
		VADDSUBPS(y, x, x)
	}
}

// rowOffsets fills rowOff so that rows beyond the tile's last repeat it: they
// are computed in vain and never stored.
func (kn *kernel) rowOffsets() {
	if kn.mr == 1 {
		return
	}
	// brs and acs serve as scratch here and are loaded afterwards.
	ars, next := brs, acs
	MOVQ(mem(arg, offARS), ars)
	for i := 1; i < kn.mr; i++ {
		if i == 1 {
			XORQ(rowOff[1], rowOff[1])
		} else {
			MOVQ(rowOff[i-1], rowOff[i])
		}
		MOVQ(rowOff[i], next)
		ADDQ(ars, next)
		CMPQ(mem(arg, offRows), operand.I8(i))
		CMOVQGT(next, rowOff[i])
	}
}

func (kn *kernel) emit() {
	TEXT(kn.name(), NOSPLIT, "func(t uintptr)")
	Doc(kn.name() + " computes one tile.")
	Load(Param("t"), arg)
	kn.rowOffsets()
	for j := range kn.nv {
		if kn.masks != nil {
			KMOVW(mem(arg, offMask+2*j), kn.masks[j])
		}
	}
	Label("tile")
	kn.base(offA, ofA, a)
	kn.base(offB, ofB, b)
	MOVQ(mem(arg, offK), k)
	MOVQ(mem(arg, offACS), acs)
	MOVQ(mem(arg, offBRS), brs)
	for i := range kn.mr {
		for j := range kn.nv {
			kn.zero(kn.acc[i][j])
			if kn.complex {
				kn.zero(kn.acc2[i][j])
			}
		}
	}
	CMPQ(mem(arg, offAhead), operand.I8(0))
	JNE(operand.LabelRef("ahead"))
	kn.askC(128)
	kn.quads("")
	kn.loop("")
	JMP(operand.LabelRef("sums"))
	Label("ahead")
	kn.askC(0)
	kn.ahead()
	kn.quads("Ahead")
	kn.loop("Ahead")
	Label("sums")
	Load(Param("t"), arg)
	kn.epilogue()
	Label("done")
	DECQ(mem(arg, offBelow))
	JLE(operand.LabelRef("next"))
	kn.move(offDown, ofA, ofC)
	JMP(operand.LabelRef("tile"))
	Label("next")
	DECQ(mem(arg, offLeft))
	JLE(operand.LabelRef("end"))
	MOVQ(mem(arg, offTiles), k)
	MOVQ(k, mem(arg, offBelow))
	kn.move(offStep, ofA, ofB, ofC)
	JMP(operand.LabelRef("tile"))
	Label("end")
	VZEROUPPER()
	RET()
}

// move adds steps to where the tile lies.
func (kn *kernel) move(by int, operands ...int) {
	for _, of := range operands {
		MOVQ(mem(arg, by+of), k)
		ADDQ(k, mem(arg, offAt+of))
	}
}

// base loads the address of an operand of the batch's present tile.
func (kn *kernel) base(off, of int, r reg.GPPhysical) {
	MOVQ(mem(arg, off), r)
	ADDQ(mem(arg, offAt+of), r)
}

// askC asks for the lines of C, so that they are there when the sums are, if those
// take so many products that it pays.
func (kn *kernel) askC(least int) {
	c, crs := a, acs // loaded again below
	short := fmt.Sprint("short", least)
	CMPQ(k, operand.I32(least))
	JL(operand.LabelRef(short))
	kn.base(offC, ofC, c)
	MOVQ(mem(arg, offCRS), crs)
	for i := range kn.mr {
		for j := 0; j < kn.nv*kn.bytes; j += 64 {
			PREFETCHT0(mem(c, j))
		}
		if i+1 < kn.mr {
			ADDQ(crs, c)
		}
	}
	kn.base(offA, ofA, a)
	MOVQ(mem(arg, offACS), acs)
	Label(short)
}

// ahead prepares the asking for lines of the operands of the tile at a distance:
// of the rows of B that lie there, and of as many bytes of A as a step along k
// reads, one after the other. So A is asked for at its start, plus the distance,
// plus mr times what has been done: at mr·a + (distance − (mr−1)·start).
func (kn *kernel) ahead() {
	IMUL3Q(operand.I8(1-kn.mr), a, aheadA)
	ADDQ(mem(arg, offAhead+ofA), aheadA)
	MOVQ(mem(arg, offAhead+ofB), aheadB)
}

// ask asks for lines ahead, in a step along k, the p-th since a was moved.
func (kn *kernel) ask(kind string, p int) {
	if kind == "" {
		return
	}
	PREFETCHT0(operand.Mem{Base: aheadA, Index: a, Scale: uint8(kn.mr), Disp: p * kn.mr * kn.step()})
	for j := 0; j < kn.nv*kn.bytes; j += 64 {
		PREFETCHT0(operand.Mem{Base: b, Index: aheadB, Scale: 1, Disp: j})
	}
}

// step is the bytes of an element.
func (kn *kernel) step() int {
	if kn.complex {
		return 2 * kn.size
	}
	return kn.size
}

// quads computes four products of every element at a time, where rows of A are
// contiguous. With one vector a row, loads are what a tile waits for: so some
// rows load four elements at once and spread each by a permutation.
func (kn *kernel) quads(kind string) {
	if kn.nv > 1 || kn.masks == nil || kn.complex {
		return
	}
	CMPQ(acs, operand.I8(kn.size))
	JNE(operand.LabelRef("loop" + kind))
	SUBQ(operand.I8(4), k)
	JL(operand.LabelRef("rest" + kind))
	Label("quad" + kind)
	bv := kn.free[:4]
	for p := range 4 {
		kn.load(mem(b, 0), 0, bv[p])
		kn.ask(kind, p)
		ADDQ(brs, b)
	}
	spread := kn.free[4:]
	four := map[int]reg.VecPhysical{}
	for i := range kn.mr {
		if i%3 == 1 {
			four[i], spread = spread[0], spread[1:]
			kn.loadFour(kn.rowMem(i, 0), four[i])
		}
	}
	turn := 0
	for p := range 4 {
		for i := range kn.mr {
			x, ok := four[i]
			if !ok {
				kn.fmaFrom(kn.rowMem(i, p), bv[p], kn.acc[i][0])
				continue
			}
			r := spread[turn%len(spread)]
			turn++
			kn.spread(p, x, r)
			kn.fma(bv[p], r, kn.acc[i][0])
		}
	}
	ADDQ(operand.I8(4*kn.size), a)
	SUBQ(operand.I8(4), k)
	JGE(operand.LabelRef("quad" + kind))
	Label("rest" + kind)
	ADDQ(operand.I8(4), k)
	JE(operand.LabelRef("sums"))
}

// loadFour fills r with four elements again and again.
func (kn *kernel) loadFour(m operand.Mem, r reg.VecPhysical) {
	if kn.double() {
		VBROADCASTF64X4(m, r)
		return
	}
	VBROADCASTF32X4(m, r)
}

// spread fills r with the p-th of the four elements in x.
func (kn *kernel) spread(p int, x, r reg.VecPhysical) {
	if kn.double() {
		VPERMPD(operand.U8(p*0x55), x, r)
		return
	}
	VPERMILPS(operand.U8(p*0x55), x, r)
}

func (kn *kernel) loop(kind string) {
	Label("loop" + kind)
	for j := range kn.nv {
		kn.load(mem(b, j*kn.bytes), j, kn.bv[j])
	}
	kn.ask(kind, 0)
	ADDQ(brs, b)
	turn := 0
	bcast := func(i, comp int) reg.VecPhysical {
		r := kn.free[turn%len(kn.free)]
		turn++
		kn.broadcast(kn.rowMem(i, comp), r)
		return r
	}
	for i := range kn.mr {
		if kn.nv == 1 && kn.masks != nil { // the broadcast is used once
			kn.fmaFrom(kn.rowMem(i, 0), kn.bv[0], kn.acc[i][0])
			if kn.complex {
				kn.fmaFrom(kn.rowMem(i, 1), kn.bv[0], kn.acc2[i][0])
			}
			continue
		}
		r := bcast(i, 0)
		for j := range kn.nv {
			kn.fma(kn.bv[j], r, kn.acc[i][j])
		}
		if !kn.complex {
			continue
		}
		r = bcast(i, 1)
		for j := range kn.nv {
			kn.fma(kn.bv[j], r, kn.acc2[i][j])
		}
	}
	ADDQ(acs, a)
	DECQ(k)
	JNZ(operand.LabelRef("loop" + kind))
}

func (kn *kernel) epilogue() {
	c, crs, rows := a, acs, k
	kn.base(offC, ofC, c)
	MOVQ(mem(arg, offCRS), crs)
	MOVQ(mem(arg, offRows), rows)
	if kn.complex {
		ones := kn.bv[0]
		if kn.masks != nil {
			m := mem(arg, offOne)
			if !kn.double() {
				m.Disp += 8
			}
			kn.broadcast(m, ones)
		}
		for i := range kn.mr {
			for j := range kn.nv {
				kn.join(kn.acc[i][j], kn.acc2[i][j], ones)
			}
		}
	}
	CMPQ(mem(arg, offAdd), operand.I8(0))
	JE(operand.LabelRef("set"))
	kn.rowsOut(c, crs, rows, true)
	JMP(operand.LabelRef("done"))
	Label("set")
	kn.rowsOut(c, crs, rows, false)
}

func (kn *kernel) rowsOut(c, crs, rows reg.GPPhysical, add bool) {
	tmp := kn.bv[0]
	for i := range kn.mr {
		for j := range kn.nv {
			m := mem(c, j*kn.bytes)
			if add {
				kn.load(m, j, tmp)
				kn.add(kn.acc[i][j], tmp, kn.acc[i][j])
			}
			kn.store(kn.acc[i][j], j, m)
		}
		if i+1 < kn.mr {
			DECQ(rows)
			JE(operand.LabelRef("done"))
			ADDQ(crs, c)
		}
	}
}

func main() {
	set := flag.String("set", "", "what to write: kernels, of products, or rows, of everything else")
	flag.Parse()
	ConstraintExpr("amd64")
	var decl bytes.Buffer
	decl.WriteString("// Code generated by internal/gen; DO NOT EDIT.\n\npackage native\n\n")
	switch *set {
	case "kernels":
		products(&decl)
	case "rows":
		others(&decl)
	default:
		log.Fatalf("no set %q", *set)
	}
	Generate()
	src, err := format.Source(decl.Bytes())
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(*set+"_gen_amd64.go", src, 0o644); err != nil {
		log.Fatal(err)
	}
}

// others are all kernels but those of products.
func others(decl *bytes.Buffer) {
	transpositions()
	elementwiseRows()
	blockSums()
	spans()
	streams()
	functions()
	data()
	decl.WriteString("import \"unsafe\"\n\n")
	for _, name := range transposeNames {
		fmt.Fprintf(decl, "//go:noescape\nfunc %s(dst unsafe.Pointer, rows *[8]unsafe.Pointer, n, stride int)\n\n", name)
	}
	for _, name := range rowNames {
		fmt.Fprintf(decl, "//go:noescape\nfunc %s(dst, x, y unsafe.Pointer, n int)\n\n", name)
	}
	decl.WriteString("//go:noescape\nfunc streamRuns(dst, src unsafe.Pointer, bytes, n, dstStep, srcStep int)\n\n")
	decl.WriteString("func storeFence()\n\n")
	for _, name := range stepNames {
		fmt.Fprintf(decl, "//go:noescape\nfunc %s(dst, src unsafe.Pointer, n, step int)\n\n", name)
	}
	for _, name := range gatherNames {
		fmt.Fprintf(decl, "//go:noescape\nfunc %s(dst, src, index unsafe.Pointer, n int)\n\n", name)
	}
	for _, name := range sumNames {
		fmt.Fprintf(decl, "//go:noescape\nfunc %s(sums, x unsafe.Pointer, n int)\n\n", name)
	}
	for _, name := range functionNames {
		fmt.Fprintf(decl, "//go:noescape\nfunc %s(dst, x unsafe.Pointer, n int, past bool) (at, odd int)\n\n", name)
	}
	for _, name := range pairNames {
		fmt.Fprintf(decl, "//go:noescape\nfunc %s(dst, x, y unsafe.Pointer, n int, past bool) (at, odd int)\n\n", name)
	}
}

func products(decl *bytes.Buffer) {
	for _, s := range []isa{avx2, avx512} {
		for _, e := range elems {
			var rows []string
			last := 0
			for _, sh := range shapes(s, e) {
				kn := newKernel(s, e, sh)
				kn.emit()
				fmt.Fprintf(decl, "//go:noescape\nfunc %s(t *tile)\n\n", kn.name())
				if sh.mr != last {
					rows = append(rows, fmt.Sprintf("{rows: %d, width: [4]func(*tile){", sh.mr))
					last = sh.mr
				}
				rows[len(rows)-1] += fmt.Sprintf("%d: %s, ", sh.nv, kn.name())
			}
			fmt.Fprintf(decl, "var kernels%s%s = []kernelRow{\n", e.name, s.name)
			for _, r := range rows {
				fmt.Fprintf(decl, "%s}},\n", r)
			}
			decl.WriteString("}\n\n")
		}
	}
}
