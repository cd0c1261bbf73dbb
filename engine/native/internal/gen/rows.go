//go:build avogen

package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Transpositions of a few rows: for c < n, in steps of 32 bytes of each row,
//
//	dst[c·stride …] = rows[0][c], rows[1][c], …
//
// so that 32 bytes are written for each column.

var ymm = avx2.regs

// names of what was emitted.
var transposeNames, rowNames, functionNames, pairNames, sumNames, stepNames, gatherNames, chooseNames []string

// row pointers, by row.
var rowPtr = []reg.GPPhysical{reg.RAX, reg.RBX, reg.RCX, reg.RDX, reg.R8, reg.R9, reg.R10, reg.R11}

func transpose(name string, rows int, body func() []reg.VecPhysical) {
	transposeNames = append(transposeNames, name)
	TEXT(name, NOSPLIT, "func(dst uintptr, rows uintptr, n int, stride int)")
	Doc(name + " transposes the first n columns of some rows.")
	dst, list, n, stride := reg.RDI, reg.RSI, reg.R12, reg.R13
	Load(Param("dst"), dst)
	Load(Param("rows"), list)
	Load(Param("n"), n)
	Load(Param("stride"), stride)
	for i := range rows {
		MOVQ(mem(list, 8*i), rowPtr[i])
	}
	off := list
	XORQ(off, off)
	Label("loop")
	for i := range rows {
		VMOVUPD(operand.Mem{Base: rowPtr[i], Index: off, Scale: 1}, ymm[i])
	}
	for _, r := range body() {
		VMOVUPD(r, mem(dst, 0))
		ADDQ(stride, dst)
	}
	ADDQ(operand.I8(32), off)
	SUBQ(operand.I8(rows), n) // a column for each row fills 32 bytes both ways
	JG(operand.LabelRef("loop"))
	VZEROUPPER()
	RET()
}

func transpose4() []reg.VecPhysical {
	t, u := ymm[8:16], ymm[0:8]
	for i := 0; i < 8; i += 2 {
		VUNPCKLPS(ymm[i+1], ymm[i], t[i])
		VUNPCKHPS(ymm[i+1], ymm[i], t[i+1])
	}
	for i := 0; i < 8; i += 4 {
		VSHUFPS(operand.U8(0x44), t[i+2], t[i], u[i])
		VSHUFPS(operand.U8(0xee), t[i+2], t[i], u[i+1])
		VSHUFPS(operand.U8(0x44), t[i+3], t[i+1], u[i+2])
		VSHUFPS(operand.U8(0xee), t[i+3], t[i+1], u[i+3])
	}
	for i := range 4 {
		VPERM2F128(operand.U8(0x20), u[i+4], u[i], t[i])
		VPERM2F128(operand.U8(0x31), u[i+4], u[i], t[i+4])
	}
	return t
}

func transpose8() []reg.VecPhysical {
	t, o := ymm[4:8], ymm[8:12]
	for i := 0; i < 4; i += 2 {
		VUNPCKLPD(ymm[i+1], ymm[i], t[i])
		VUNPCKHPD(ymm[i+1], ymm[i], t[i+1])
	}
	for i := range 2 {
		VPERM2F128(operand.U8(0x20), t[i+2], t[i], o[i])
		VPERM2F128(operand.U8(0x31), t[i+2], t[i], o[i+2])
	}
	return o
}

func transpose16() []reg.VecPhysical {
	VPERM2F128(operand.U8(0x20), ymm[1], ymm[0], ymm[2])
	VPERM2F128(operand.U8(0x31), ymm[1], ymm[0], ymm[3])
	return ymm[2:4]
}

func transpositions() {
	transpose("transposeRows4", 8, transpose4)
	transpose("transposeRows8", 4, transpose8)
	transpose("transposeRows16", 2, transpose16)
}

// longRow is rowKernel for groups of 128 bytes, by vectors of 64. Its namesake
// with Past at the end writes past the caches, to a multiple of 64, and asks
// early for what it reads.
func longRow(name string, setup func(), body func(x operand.Op, y, out reg.VecPhysical)) {
	for _, past := range []bool{false, true} {
		longRowKernel(name, past, setup, body)
	}
}

func longRowKernel(name string, past bool, setup func(), body func(x operand.Op, y, out reg.VecPhysical)) {
	store := func(x reg.VecPhysical, m operand.Mem) { VMOVUPD(x, m) }
	if past {
		name += "Past"
		store = func(x reg.VecPhysical, m operand.Mem) { VMOVNTPD(x, m) }
	}
	rowNames = append(rowNames, name)
	TEXT(name, NOSPLIT, "func(dst uintptr, x uintptr, y uintptr, n int)")
	Doc(name + " computes a row of n groups of 128 bytes.")
	dst, x, y, n := reg.RDI, reg.RSI, reg.RDX, reg.RCX
	Load(Param("dst"), dst)
	Load(Param("x"), x)
	Load(Param("y"), y)
	Load(Param("n"), n)
	if setup != nil {
		setup()
	}
	Label("loop")
	if past {
		for _, p := range []reg.Register{x, y} {
			PREFETCHT0(mem(p, ahead))
			PREFETCHT0(mem(p, ahead+64))
		}
	}
	VMOVUPD(mem(y, 0), reg.Z0)
	VMOVUPD(mem(y, 64), reg.Z1)
	VMOVUPD(mem(x, 0), reg.Z2)
	VMOVUPD(mem(x, 64), reg.Z3)
	body(reg.Z0, reg.Z2, reg.Z4)
	body(reg.Z1, reg.Z3, reg.Z5)
	store(reg.Z4, mem(dst, 0))
	store(reg.Z5, mem(dst, 64))
	SUBQ(operand.I8(-128), x)
	SUBQ(operand.I8(-128), y)
	SUBQ(operand.I8(-128), dst)
	DECQ(n)
	JNZ(operand.LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// Rows of elementwise operations: n is the number of vectors, ≥ 1. dst may be x
// or y.

func rowKernel(name string, args int, setup func(), body func(x, y, out reg.VecPhysical)) {
	sig := "func(dst uintptr, x uintptr, y uintptr, n int)"
	rowNames = append(rowNames, name)
	TEXT(name, NOSPLIT, sig)
	Doc(name + " computes a row of n vectors of 32 bytes.")
	dst, x, y, n := reg.RDI, reg.RSI, reg.RDX, reg.RCX
	Load(Param("dst"), dst)
	Load(Param("x"), x)
	Load(Param("y"), y)
	Load(Param("n"), n)
	if setup != nil {
		setup()
	}
	Label("loop")
	VMOVUPD(mem(x, 0), ymm[0])
	if args == 2 {
		VMOVUPD(mem(y, 0), ymm[1])
	}
	body(ymm[0], ymm[1], ymm[2])
	VMOVUPD(ymm[2], mem(dst, 0))
	ADDQ(operand.I8(32), x)
	if args == 2 {
		ADDQ(operand.I8(32), y)
	}
	ADDQ(operand.I8(32), dst)
	DECQ(n)
	JNZ(operand.LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// The products and sums are rounded one by one, as those of the loops in Go
// are: no fused operation, so the bits are the same. There are none for products
// of complex64, which Go computes in float64 and rounds once.
func elementwiseRows() {
	rowKernel("addRowF32", 2, nil, func(x, y, out reg.VecPhysical) { VADDPS(y, x, out) })
	rowKernel("addRowF64", 2, nil, func(x, y, out reg.VecPhysical) { VADDPD(y, x, out) })
	rowKernel("mulRowF32", 2, nil, func(x, y, out reg.VecPhysical) { VMULPS(y, x, out) })
	rowKernel("mulRowF64", 2, nil, func(x, y, out reg.VecPhysical) { VMULPD(y, x, out) })
	mul64 := func(x, re, im, out reg.VecPhysical) {
		VPERMILPD(operand.U8(0x5), x, ymm[5])
		VMULPD(re, x, out)
		VMULPD(im, ymm[5], ymm[5])
		VADDSUBPD(ymm[5], out, out)
	}
	rowKernel("mulRowC128", 2, nil, func(x, y, out reg.VecPhysical) {
		VMOVDDUP(y, ymm[3])
		VPERMILPD(operand.U8(0xf), y, ymm[4])
		mul64(x, ymm[3], ymm[4], out)
	})
	longRow("addLongF32", nil, func(x operand.Op, y, out reg.VecPhysical) { VADDPS(x, y, out) })
	longRow("addLongF64", nil, func(x operand.Op, y, out reg.VecPhysical) { VADDPD(x, y, out) })
	longRow("mulLongF32", nil, func(x operand.Op, y, out reg.VecPhysical) { VMULPS(x, y, out) })
	longRow("mulLongF64", nil, func(x operand.Op, y, out reg.VecPhysical) { VMULPD(x, y, out) })
	longRow("divLongF32", nil, func(y operand.Op, x, out reg.VecPhysical) { VDIVPS(y, x, out) })
	longRow("divLongF64", nil, func(y operand.Op, x, out reg.VecPhysical) { VDIVPD(y, x, out) })
	longRow("subLongF32", nil, func(x operand.Op, y, out reg.VecPhysical) { VSUBPS(x, y, out) })
	longRow("subLongF64", nil, func(x operand.Op, y, out reg.VecPhysical) { VSUBPD(x, y, out) })
	// Times one, which changes nothing, plus and minus: there is no such sum alone.
	longRow("mulLongC128", func() { VBROADCASTSD(constant(oneBit), reg.Z8) }, func(y operand.Op, x, out reg.VecPhysical) {
		VPERMILPD(operand.U8(0x55), x, reg.Z9)
		VMOVDDUP(y, reg.Z10)
		VPERMILPD(operand.U8(0xff), y, reg.Z11)
		VMULPD(reg.Z10, x, out)
		VMULPD(reg.Z11, reg.Z9, reg.Z9)
		VFMADDSUB213PD(reg.Z9, reg.Z8, out)
	})
	rowKernel("subRowF32", 2, nil, func(x, y, out reg.VecPhysical) { VSUBPS(y, x, out) })
	rowKernel("subRowF64", 2, nil, func(x, y, out reg.VecPhysical) { VSUBPD(y, x, out) })
	rowKernel("divRowF32", 2, nil, func(x, y, out reg.VecPhysical) { VDIVPS(y, x, out) })
	rowKernel("divRowF64", 2, nil, func(x, y, out reg.VecPhysical) { VDIVPD(y, x, out) })
	// Of two zeros the instruction takes the second one: both ways round, and
	// their common bits (for min all bits), make it the right one. NaN is
	// where the two do not compare.
	rowKernel("maxRowF32", 2, nil, func(x, y, out reg.VecPhysical) {
		VMAXPS(y, x, ymm[3])
		VMAXPS(x, y, ymm[4])
		VCMPPS(operand.U8(unordered), y, x, ymm[5])
		VANDPS(ymm[4], ymm[3], out)
		VORPS(ymm[5], out, out)
	})
	rowKernel("maxRowF64", 2, nil, func(x, y, out reg.VecPhysical) {
		VMAXPD(y, x, ymm[3])
		VMAXPD(x, y, ymm[4])
		VCMPPD(operand.U8(unordered), y, x, ymm[5])
		VANDPD(ymm[4], ymm[3], out)
		VORPD(ymm[5], out, out)
	})
	rowKernel("minRowF32", 2, nil, func(x, y, out reg.VecPhysical) {
		VMINPS(y, x, ymm[3])
		VMINPS(x, y, ymm[4])
		VCMPPS(operand.U8(unordered), y, x, ymm[5])
		VORPS(ymm[4], ymm[3], out)
		VORPS(ymm[5], out, out)
	})
	rowKernel("minRowF64", 2, nil, func(x, y, out reg.VecPhysical) {
		VMINPD(y, x, ymm[3])
		VMINPD(x, y, ymm[4])
		VCMPPD(operand.U8(unordered), y, x, ymm[5])
		VORPD(ymm[4], ymm[3], out)
		VORPD(ymm[5], out, out)
	})
	factor := mem(reg.RDX, 0)
	next := func(size int) operand.Mem { return mem(reg.RDX, size) }
	rowKernel("scaleRowF32", 1, func() { VBROADCASTSS(factor, ymm[1]) }, func(x, by, out reg.VecPhysical) { VMULPS(by, x, out) })
	rowKernel("scaleRowF64", 1, func() { VBROADCASTSD(factor, ymm[1]) }, func(x, by, out reg.VecPhysical) { VMULPD(by, x, out) })
	rowKernel("scaleRowC128", 1, func() { VBROADCASTSD(factor, ymm[3]); VBROADCASTSD(next(8), ymm[4]) },
		func(x, _, out reg.VecPhysical) { mul64(x, ymm[3], ymm[4], out) })
}

// Sums of blocks of 128 elements that lie together, in the order of sumRow: eight
// running sums from 0 on, added in pairs.

const (
	blockLength = 128
	gatherAhead = 40   // entries of an index
	ahead       = 4096 // bytes of prefetching; pages stop what the processor does by itself
)

func sumBlocks(name string, size, sums int, add func(x operand.Op, y, out reg.VecPhysical), fold func()) {
	sumNames = append(sumNames, name)
	TEXT(name, NOSPLIT, "func(sums uintptr, x uintptr, n int)")
	Doc(name + " adds up n > 0 blocks of 128 elements.")
	to, x, n := reg.RDI, reg.RSI, reg.RCX
	Load(Param("sums"), to)
	Load(Param("x"), x)
	Load(Param("n"), n)
	Label("loop")
	for i := range sums {
		VXORPD(ymm[i], ymm[i], ymm[i])
	}
	for at := 0; at < blockLength*size; at += 32 * sums {
		for i := range sums {
			if (at+32*i)%64 == 0 {
				PREFETCHT0(mem(x, at+32*i+ahead))
			}
			add(mem(x, at+32*i), ymm[i], ymm[i])
		}
	}
	fold()
	switch size {
	case 4:
		VMOVSS(reg.X0, mem(to, 0))
	case 8:
		VMOVSD(reg.X0, mem(to, 0))
	case 16:
		VMOVUPD(reg.X0, mem(to, 0))
	}
	ADDQ(operand.I32(int32(blockLength*size)), x)
	ADDQ(operand.I8(int8(size)), to)
	DECQ(n)
	JNZ(operand.LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// span leaves the greatest, or least, of each of the four columns of n > 0 groups
// of 128 bytes at sums, and behind it for each 32 bits or 64 whether they were
// of a NaN. Which of two zeros is kept is open.
func span(name string, pick func(x operand.Op, y, out reg.VecPhysical), unordered func(x operand.Op, y, out reg.VecPhysical)) {
	sumNames = append(sumNames, name)
	TEXT(name, NOSPLIT, "func(sums uintptr, x uintptr, n int)")
	Doc(name + " finds the extreme of n > 0 groups of 128 bytes.")
	to, x, n := reg.RDI, reg.RSI, reg.RCX
	Load(Param("sums"), to)
	Load(Param("x"), x)
	Load(Param("n"), n)
	for i := range 4 {
		VMOVUPD(mem(x, 32*i), ymm[i])
		VXORPD(ymm[4+i], ymm[4+i], ymm[4+i])
	}
	Label("loop")
	PREFETCHT0(mem(x, ahead))
	PREFETCHT0(mem(x, ahead+64))
	for i := range 4 {
		VMOVUPD(mem(x, 32*i), ymm[8+i])
		unordered(ymm[8+i], ymm[8+i], ymm[12+i])
		pick(ymm[i], ymm[8+i], ymm[i])
		VORPD(ymm[12+i], ymm[4+i], ymm[4+i])
	}
	SUBQ(operand.I8(-128), x)
	DECQ(n)
	JNZ(operand.LabelRef("loop"))
	for _, i := range []int{0, 4} {
		join := pick
		if i == 4 {
			join = func(x operand.Op, y, out reg.VecPhysical) { VORPD(x, y, out) }
		}
		join(ymm[i+1], ymm[i], ymm[i])
		join(ymm[i+3], ymm[i+2], ymm[i+2])
		join(ymm[i+2], ymm[i], ymm[i])
		VMOVUPD(ymm[i], mem(to, 8*i))
	}
	VZEROUPPER()
	RET()
}

func spans() {
	ps := func(x operand.Op, y, out reg.VecPhysical) { VCMPPS(operand.U8(3), x, y, out) }
	pd := func(x operand.Op, y, out reg.VecPhysical) { VCMPPD(operand.U8(3), x, y, out) }
	span("maxSpanF32", func(x operand.Op, y, out reg.VecPhysical) { VMAXPS(x, y, out) }, ps)
	span("maxSpanF64", func(x operand.Op, y, out reg.VecPhysical) { VMAXPD(x, y, out) }, pd)
	span("minSpanF32", func(x operand.Op, y, out reg.VecPhysical) { VMINPS(x, y, out) }, ps)
	span("minSpanF64", func(x operand.Op, y, out reg.VecPhysical) { VMINPD(x, y, out) }, pd)
}

func blockSums() {
	ps := func(x operand.Op, y, out reg.VecPhysical) { VADDPS(x, y, out) }
	pd := func(x operand.Op, y, out reg.VecPhysical) { VADDPD(x, y, out) }
	sumBlocks("sumBlocksF32", 4, 1, ps, func() {
		VEXTRACTF128(operand.U8(1), reg.Y0, reg.X1)
		VADDPS(reg.X1, reg.X0, reg.X0) // (0+4, 1+5, 2+6, 3+7)
		VMOVHLPS(reg.X0, reg.X0, reg.X1)
		VADDPS(reg.X1, reg.X0, reg.X0)
		VMOVSHDUP(reg.X0, reg.X1)
		VADDSS(reg.X1, reg.X0, reg.X0)
	})
	sumBlocks("sumBlocksF64", 8, 2, pd, func() {
		VADDPD(reg.Y1, reg.Y0, reg.Y0)
		VEXTRACTF128(operand.U8(1), reg.Y0, reg.X1)
		VADDPD(reg.X1, reg.X0, reg.X0)
		VUNPCKHPD(reg.X0, reg.X0, reg.X1)
		VADDSD(reg.X1, reg.X0, reg.X0)
	})
	sumBlocks("sumBlocksC64", 8, 2, ps, func() {
		VADDPS(reg.Y1, reg.Y0, reg.Y0)
		VEXTRACTF128(operand.U8(1), reg.Y0, reg.X1)
		VADDPS(reg.X1, reg.X0, reg.X0)
		VMOVHLPS(reg.X0, reg.X0, reg.X1)
		VADDPS(reg.X1, reg.X0, reg.X0)
	})
	sumBlocks("sumBlocksC128", 16, 4, pd, func() {
		VADDPD(reg.Y2, reg.Y0, reg.Y0)
		VADDPD(reg.Y3, reg.Y1, reg.Y1)
		VADDPD(reg.Y1, reg.Y0, reg.Y0)
		VEXTRACTF128(operand.U8(1), reg.Y0, reg.X1)
		VADDPD(reg.X1, reg.X0, reg.X0)
	})
}

// streamSteps copies n > 0 elements that lie steps apart to where they lie
// together, past the caches, and asks early for what it reads.
func streamSteps(size int) {
	name := fmt.Sprintf("streamSteps%d", size)
	stepNames = append(stepNames, name)
	TEXT(name, NOSPLIT, "func(dst uintptr, src uintptr, n int, step int)")
	Doc(name + " copies elements that lie steps apart past the caches.")
	dst, src, n, step := reg.RDI, reg.RSI, reg.RCX, reg.RDX
	Load(Param("dst"), dst)
	Load(Param("src"), src)
	Load(Param("n"), n)
	Load(Param("step"), step)
	Label("loop")
	PREFETCHT0(mem(src, ahead))
	if size == 4 {
		MOVL(mem(src, 0), reg.EAX)
		MOVNTIL(reg.EAX, mem(dst, 0))
	}
	for at := 0; at+8 <= size; at += 8 {
		MOVQ(mem(src, at), reg.RAX)
		MOVNTIQ(reg.RAX, mem(dst, at))
	}
	ADDQ(step, src)
	ADDQ(operand.I8(int8(size)), dst)
	DECQ(n)
	JNZ(operand.LabelRef("loop"))
	RET()
}

// gatherPast copies n > 0 groups of eight elements of 8 bytes from the places that
// an index of 4 or 8 bytes names, past the caches, to a multiple of 64. It asks
// early for what it reads, so the index has gatherAhead entries more.
func gatherPast(index int) {
	name := fmt.Sprintf("gatherPast%d", index)
	gatherNames = append(gatherNames, name)
	TEXT(name, NOSPLIT, "func(dst uintptr, src uintptr, index uintptr, n int)")
	Doc(name + " copies elements that an index names past the caches.")
	dst, src, at, n := reg.RDI, reg.RSI, reg.RDX, reg.RCX
	Load(Param("dst"), dst)
	Load(Param("src"), src)
	Load(Param("index"), at)
	Load(Param("n"), n)
	k := []reg.GPPhysical{reg.RAX, reg.RBX, reg.R8, reg.R9}
	read := func(entry int, to reg.GPPhysical) operand.Mem {
		if index == 4 {
			MOVLQSX(mem(at, 4*entry), to)
		} else {
			MOVQ(mem(at, 8*entry), to)
		}
		return operand.Mem{Base: src, Index: to, Scale: 8}
	}
	Label("loop")
	PREFETCHT0(mem(at, ahead/2))
	for i := range 8 {
		PREFETCHT0(read(gatherAhead-8+i, k[i%4]))
	}
	for i := 0; i < 8; i += 4 {
		VMOVSD(read(i, k[0]), reg.X0)
		VMOVHPD(read(i+1, k[1]), reg.X0, reg.X0)
		VMOVSD(read(i+2, k[2]), reg.X1)
		VMOVHPD(read(i+3, k[3]), reg.X1, reg.X1)
		VINSERTF128(operand.U8(1), reg.X1, reg.Y0, reg.Y0)
		VMOVNTPD(reg.Y0, mem(dst, 8*i))
	}
	ADDQ(operand.I8(int8(8*index)), at)
	ADDQ(operand.I8(64), dst)
	DECQ(n)
	JNZ(operand.LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// streamRuns copies n > 0 runs of bytes > 0, a multiple of 64, whose starts lie
// steps apart, past the caches: each destination is a multiple of 32. It asks
// early for what it reads in the runs after.
func streams() {
	for _, size := range []int{4, 8, 16} {
		streamSteps(size)
	}
	for _, size := range []int{4, 8} {
		gatherPast(size)
	}
	const name = "streamRuns"
	TEXT(name, NOSPLIT, "func(dst uintptr, src uintptr, bytes int, n int, dstStep int, srcStep int)")
	Doc(name + " copies runs past the caches.")
	dst, src, bytes, n, dstStep, srcStep := reg.RDI, reg.RSI, reg.RDX, reg.RCX, reg.R8, reg.R9
	Load(Param("dst"), dst)
	Load(Param("src"), src)
	Load(Param("bytes"), bytes)
	Load(Param("n"), n)
	Load(Param("dstStep"), dstStep)
	Load(Param("srcStep"), srcStep)
	to, from, left := reg.R10, reg.R11, reg.R12
	Label("run")
	MOVQ(dst, to)
	MOVQ(src, from)
	MOVQ(bytes, left)
	Label("line")
	PREFETCHT0(operand.Mem{Base: from, Index: srcStep, Scale: 2})
	VMOVUPS(mem(from, 0), reg.Y0)
	VMOVUPS(mem(from, 32), reg.Y1)
	VMOVNTPS(reg.Y0, mem(to, 0))
	VMOVNTPS(reg.Y1, mem(to, 32))
	ADDQ(operand.I8(64), from)
	ADDQ(operand.I8(64), to)
	SUBQ(operand.I8(64), left)
	JNZ(operand.LabelRef("line"))
	ADDQ(dstStep, dst)
	ADDQ(srcStep, src)
	DECQ(n)
	JNZ(operand.LabelRef("run"))
	SFENCE()
	VZEROUPPER()
	RET()
	TEXT("storeFence", NOSPLIT, "func()")
	Doc("storeFence orders stores past the caches before all that follow.")
	SFENCE()
	RET()
}
