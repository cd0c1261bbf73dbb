//go:build avogen

package main

import (
	"bytes"
	"fmt"

	"github.com/mmcloughlin/avo/attr"
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
	offLack = 100

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

// shape is one tile: mr rows of nv vectors. Of a part the last vector exists in
// part only. (Where there are opmasks, every kernel can do that.)
type shape struct {
	mr, nv int
	part   bool
}

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

// heights lists the rows of a kernel set's tiles. Fewer than mr are handled by
// the kernel, so the low ones only save work at the edges.
func heights(s isa, e elem) []int {
	rows := []int{8, 4, 2}
	if s.masks == nil {
		rows = []int{4, 2}
	}
	if e.complex {
		rows = rows[1:]
	}
	return rows
}

// General registers. Row i of A lies at a + rowOff[i]. Parts are of few rows.
var (
	arg    = reg.RDI
	a      = reg.RSI
	b      = reg.RDX
	k      = reg.RCX
	acs    = reg.R8
	brs    = reg.R9
	aheadA = reg.R14
	aheadB = arg     // which is loaded again after the sums
	edge   = reg.RBX // the mask of a part
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
	mask reg.VecPhysical   // of a part, if there is a register for it
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
	if sh.part && len(regs) > 1 {
		kn.mask = take(1)[0]
	}
	kn.free = regs
	return kn
}

func (kn *kernel) name() string {
	part := ""
	if kn.part {
		part = "Part"
	}
	return fmt.Sprintf("gemm%s%sR%dV%d%s", kn.elem.name, kn.isa.name, kn.mr, kn.nv, part)
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

// load reads vector j at m; lanes that do not exist become zero.
func (kn *kernel) load(m operand.Mem, j int, r reg.VecPhysical) {
	switch {
	case kn.partial(j):
		mask := kn.mask
		if mask == nil {
			mask = r
			kn.loadMask(mask)
		}
		if kn.double() {
			VMASKMOVPD(m, mask, r)
		} else {
			VMASKMOVPS(m, mask, r)
		}
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

// store writes vector j to m, as far as it exists. mask is a register to use.
func (kn *kernel) store(r reg.VecPhysical, j int, m operand.Mem, mask reg.VecPhysical) {
	switch {
	case kn.partial(j):
		if kn.mask != nil {
			mask = kn.mask
		} else {
			kn.loadMask(mask)
		}
		if kn.double() {
			VMASKMOVPD(r, mask, m)
		} else {
			VMASKMOVPS(r, mask, m)
		}
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

// partial says whether vector j exists in part only.
func (kn *kernel) partial(j int) bool { return kn.part && j == kn.nv-1 }

// loadMask fills r with the mask of the last vector, from as far into edges as
// bytes are lacking.
func (kn *kernel) loadMask(r reg.VecPhysical) {
	VMOVDQU(operand.Mem{Base: edge}, r)
}

// edges is a vector of ones and one of zeros.
func edges() {
	GLOBL("edges", attr.RODATA|attr.NOPTR)
	for i := range 8 {
		DATA(8*i, operand.U64(uint64(0)-uint64(1-i/4)))
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

// products are all kernels of products.
func products(decl *bytes.Buffer) {
	for _, s := range []isa{avx2, avx512} {
		for _, e := range elems {
			var rows bytes.Buffer
			table := func(mr int, part bool) string {
				entries := ""
				for nv := 3; nv >= 1; nv-- {
					kn := newKernel(s, e, shape{mr, nv, part})
					kn.emit()
					fmt.Fprintf(decl, "//go:noescape\nfunc %s(t *tile)\n\n", kn.name())
					entries += fmt.Sprintf("%d: %s, ", nv, kn.name())
				}
				return "[4]func(*tile){" + entries + "}"
			}
			for _, mr := range heights(s, e) {
				fmt.Fprintf(&rows, "{rows: %d, whole: %s", mr, table(mr, false))
				if s.masks == nil {
					fmt.Fprintf(&rows, ", part: %s", table(mr, true))
				}
				rows.WriteString("},\n")
			}
			fmt.Fprintf(decl, "var kernels%s%s = []kernelRow{\n%s}\n\n", e.name, s.name, rows.Bytes())
		}
	}
	edges()
}
