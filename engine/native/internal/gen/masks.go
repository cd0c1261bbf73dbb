//go:build avogen

package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Rows of tests: n groups of 32 elements, ≥ 1, of size bytes to 32 bytes of 0 or 1
// each. dst is neither x nor y.

const everyByteOne = 0x0101010101010101

// mask is a row of a test that leaves all ones or zeros in an element's place; with
// invert its contrary.
func mask(name string, size int, invert bool, test func(x, y operand.Mem, out reg.VecPhysical)) {
	name += map[int]string{4: "32", 8: "64"}[size]
	rowNames = append(rowNames, name)
	TEXT(name, NOSPLIT, "func(dst uintptr, x uintptr, y uintptr, n int)")
	Doc(name + " tests n groups of 32 elements.")
	dst, x, y, n := reg.RDI, reg.RSI, reg.RDX, reg.RCX
	Load(Param("dst"), dst)
	Load(Param("x"), x)
	Load(Param("y"), y)
	Load(Param("n"), n)
	one := reg.Y15
	VBROADCASTSD(constant(everyByteOne), one)
	Label("loop")
	for at := 0; at < 32*size; at += 64 {
		PREFETCHT0(mem(x, at+ahead))
		PREFETCHT0(mem(y, at+ahead))
	}
	for i := range size { // vectors
		test(mem(x, 32*i), mem(y, 32*i), ymm[i])
	}
	// Elements 0, 1, 4, 5, … come to lie in the lower half, 2, 3, 6, 7, … in the upper
	// one; of 4 bytes 0 … 3, 8 … 11, … and 4 … 7, 12 … 15, ….
	if size == 8 {
		for i := range 4 {
			VSHUFPS(operand.U8(0x88), ymm[2*i+1], ymm[2*i], ymm[i])
		}
	}
	VPACKSSDW(ymm[1], ymm[0], ymm[0])
	VPACKSSDW(ymm[3], ymm[2], ymm[2])
	VPACKSSWB(ymm[2], ymm[0], ymm[0])
	if invert {
		VPANDN(one, ymm[0], ymm[0])
	} else {
		VPAND(one, ymm[0], ymm[0])
	}
	VEXTRACTI128(operand.U8(1), reg.Y0, reg.X1)
	if size == 8 {
		VPUNPCKLWD(reg.X1, reg.X0, reg.X2)
		VPUNPCKHWD(reg.X1, reg.X0, reg.X3)
	} else {
		VPUNPCKLDQ(reg.X1, reg.X0, reg.X2)
		VPUNPCKHDQ(reg.X1, reg.X0, reg.X3)
	}
	VMOVDQU(reg.X2, mem(dst, 0))
	VMOVDQU(reg.X3, mem(dst, 16))
	ADDQ(operand.I32(int32(32*size)), x)
	ADDQ(operand.I32(int32(32*size)), y)
	ADDQ(operand.I8(32), dst)
	DECQ(n)
	JNZ(operand.LabelRef("loop"))
	VZEROUPPER()
	RET()
}

func masks() {
	held := reg.Y8 // what is compared with memory
	floats := func(predicate uint8) [2]func(x, y operand.Mem, out reg.VecPhysical) {
		return [2]func(x, y operand.Mem, out reg.VecPhysical){
			func(x, y operand.Mem, out reg.VecPhysical) {
				VMOVUPS(x, held)
				VCMPPS(operand.U8(predicate), y, held, out)
			},
			func(x, y operand.Mem, out reg.VecPhysical) {
				VMOVUPD(x, held)
				VCMPPD(operand.U8(predicate), y, held, out)
			},
		}
	}
	const notEqual, lessEqual, ordered = 0x04, 0x12, 0x07
	for i, size := range []int{4, 8} {
		mask("equalF", size, false, floats(equal)[i])
		mask("differF", size, false, floats(notEqual)[i])
		mask("lessF", size, false, floats(less)[i])
		mask("lessEqualF", size, false, floats(lessEqual)[i])
		mask("isNaNF", size, false, floats(unordered)[i])
	}
	// x − x is NaN where x is or is infinite.
	mask("isFiniteF", 4, false, func(x, _ operand.Mem, out reg.VecPhysical) {
		VMOVUPS(x, held)
		VSUBPS(held, held, held)
		VCMPPS(operand.U8(ordered), held, held, out)
	})
	mask("isFiniteF", 8, false, func(x, _ operand.Mem, out reg.VecPhysical) {
		VMOVUPD(x, held)
		VSUBPD(held, held, held)
		VCMPPD(operand.U8(ordered), held, held, out)
	})
	for _, invert := range []bool{false, true} {
		same, greater := "equalI", "greaterI"
		if invert {
			same, greater = "differI", "lessEqualI"
		}
		mask(same, 4, invert, func(x, y operand.Mem, out reg.VecPhysical) { VMOVDQU(x, held); VPCMPEQD(y, held, out) })
		mask(same, 8, invert, func(x, y operand.Mem, out reg.VecPhysical) { VMOVDQU(x, held); VPCMPEQQ(y, held, out) })
		mask(greater, 4, invert, func(x, y operand.Mem, out reg.VecPhysical) { VMOVDQU(x, held); VPCMPGTD(y, held, out) })
		mask(greater, 8, invert, func(x, y operand.Mem, out reg.VecPhysical) { VMOVDQU(x, held); VPCMPGTQ(y, held, out) })
	}
	logic()
}

// logic are rows of truth values, of vectors of 32.
func logic() {
	one := func() { VBROADCASTSD(constant(everyByteOne), reg.Y15) }
	rowKernel("andRow", 2, nil, func(x, y, out reg.VecPhysical) { VPAND(y, x, out) })
	rowKernel("orRow", 2, nil, func(x, y, out reg.VecPhysical) { VPOR(y, x, out) })
	rowKernel("xorRow", 2, nil, func(x, y, out reg.VecPhysical) { VPXOR(y, x, out) })
	rowKernel("sameRow", 2, one, func(x, y, out reg.VecPhysical) { VPXOR(y, x, out); VPXOR(reg.Y15, out, out) })
	rowKernel("notRow", 1, one, func(x, _, out reg.VecPhysical) { VPXOR(reg.Y15, x, out) })
}

// choose is a row of n groups of 8 elements, ≥ 1, of size bytes: that of x where the
// byte of p is 1, and of y where it is 0. dst may be x or y.
func choose(size int) {
	name := map[int]string{4: "choose32", 8: "choose64"}[size]
	chooseNames = append(chooseNames, name)
	TEXT(name, NOSPLIT, "func(dst uintptr, p uintptr, x uintptr, y uintptr, n int)")
	Doc(name + " selects n groups of 8 elements.")
	dst, p, x, y, n := reg.RDI, reg.RBX, reg.RSI, reg.RDX, reg.RCX
	Load(Param("dst"), dst)
	Load(Param("p"), p)
	Load(Param("x"), x)
	Load(Param("y"), y)
	Load(Param("n"), n)
	Label("loop")
	PREFETCHT0(mem(x, ahead))
	PREFETCHT0(mem(y, ahead))
	if size == 4 {
		VPMOVZXBD(mem(p, 0), reg.Y0)
		VPSLLD(operand.U8(31), reg.Y0, reg.Y0)
		VMOVUPS(mem(y, 0), reg.Y1)
		VBLENDVPS(reg.Y0, mem(x, 0), reg.Y1, reg.Y1)
		VMOVUPS(reg.Y1, mem(dst, 0))
	} else {
		for i, m := range []reg.VecPhysical{reg.Y0, reg.Y2} {
			v := []reg.VecPhysical{reg.Y1, reg.Y3}[i]
			VPMOVZXBQ(mem(p, 4*i), m)
			VPSLLQ(operand.U8(63), m, m)
			VMOVUPD(mem(y, 32*i), v)
			VBLENDVPD(m, mem(x, 32*i), v, v)
		}
		VMOVUPD(reg.Y1, mem(dst, 0))
		VMOVUPD(reg.Y3, mem(dst, 32))
	}
	ADDQ(operand.I8(8), p)
	ADDQ(operand.I8(int8(8*size)), x)
	ADDQ(operand.I8(int8(8*size)), y)
	ADDQ(operand.I8(int8(8*size)), dst)
	DECQ(n)
	JNZ(operand.LabelRef("loop"))
	VZEROUPPER()
	RET()
}
