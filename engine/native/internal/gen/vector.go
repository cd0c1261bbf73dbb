//go:build avogen

package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vm writes the body of a function of vectors of float64 for either instruction
// set. Its methods leave their result in a new register unless they say
// otherwise, and never change an argument.
type vm struct {
	isa
	held map[uint64]reg.VecVirtual // constants that stay in registers
	odd  operand.Op                // lanes that need another method: a mask register, or a vector of all ones or zeros
	past bool                      // whole vectors go past the caches
}

// constants are the numbers that kernels read, 8 bytes each.
var constants struct {
	at   map[uint64]int
	bits []uint64
}

// constant is the place of 8 bytes.
func constant(bits uint64) operand.Mem {
	if constants.at == nil {
		constants.at = map[uint64]int{}
	}
	i, ok := constants.at[bits]
	if !ok {
		i = len(constants.bits)
		constants.at[bits] = i
		constants.bits = append(constants.bits, bits)
	}
	return operand.NewDataAddr(operand.Symbol{Name: "constants", Static: true}, 8*i)
}

// tailMasks is a run of ones and of zeros, of 8 and of 4 bytes: a load some way
// in is the mask of that many elements.
const maskLanes = 4

func tailMask(size int) operand.Mem {
	return operand.NewDataAddr(operand.Symbol{Name: fmt.Sprintf("masks%d", size), Static: true}, 0)
}

// data writes what constant and tailMask refer to.
func data() {
	GLOBL("constants", attr.RODATA|attr.NOPTR) // read only, no pointers
	for i, b := range constants.bits {
		DATA(8*i, operand.U64(b))
	}
	GLOBL("masks8", attr.RODATA|attr.NOPTR)
	for i := range 2 * maskLanes {
		DATA(8*i, operand.U64(uint64(0)-uint64(1-i/maskLanes)))
	}
	GLOBL("masks4", attr.RODATA|attr.NOPTR)
	for i := range 2 * maskLanes {
		DATA(4*i, operand.U32(uint32(0)-uint32(1-i/maskLanes)))
	}
}

func (v *vm) wide() bool { return v.masks != nil }

func (v *vm) new() reg.VecVirtual {
	if v.wide() {
		return ZMM()
	}
	return YMM()
}

// hold loads constants for the whole function where there are registers enough.
func (v *vm) hold(xs ...float64) {
	v.held = map[uint64]reg.VecVirtual{}
	if !v.wide() {
		return
	}
	for _, x := range xs {
		r := v.new()
		VBROADCASTSD(constant(math.Float64bits(x)), r)
		v.held[math.Float64bits(x)] = r
	}
}

// k is a constant in every lane.
func (v *vm) k(x float64) reg.VecVirtual { return v.kb(math.Float64bits(x)) }

// kb is a constant given by its bits.
func (v *vm) kb(bits uint64) reg.VecVirtual {
	if r, ok := v.held[bits]; ok {
		return r
	}
	r := v.new()
	VBROADCASTSD(constant(bits), r)
	return r
}

func (v *vm) copy(x reg.VecVirtual) reg.VecVirtual {
	r := v.new()
	VMOVAPD(x, r)
	return r
}

func (v *vm) add(x, y reg.VecVirtual) reg.VecVirtual { r := v.new(); VADDPD(y, x, r); return r }
func (v *vm) sub(x, y reg.VecVirtual) reg.VecVirtual { r := v.new(); VSUBPD(y, x, r); return r }
func (v *vm) mul(x, y reg.VecVirtual) reg.VecVirtual { r := v.new(); VMULPD(y, x, r); return r }
func (v *vm) div(x, y reg.VecVirtual) reg.VecVirtual { r := v.new(); VDIVPD(y, x, r); return r }
func (v *vm) and(x, y reg.VecVirtual) reg.VecVirtual { r := v.new(); VANDPD(y, x, r); return r }
func (v *vm) or(x, y reg.VecVirtual) reg.VecVirtual  { r := v.new(); VORPD(y, x, r); return r }
func (v *vm) xor(x, y reg.VecVirtual) reg.VecVirtual { r := v.new(); VXORPD(y, x, r); return r }
func (v *vm) iadd(x, y reg.VecVirtual) reg.VecVirtual {
	r := v.new()
	VPADDQ(y, x, r)
	return r
}
func (v *vm) isub(x, y reg.VecVirtual) reg.VecVirtual {
	r := v.new()
	VPSUBQ(y, x, r)
	return r
}
func (v *vm) shl(x reg.VecVirtual, n uint8) reg.VecVirtual {
	r := v.new()
	VPSLLQ(operand.U8(n), x, r)
	return r
}
func (v *vm) shr(x reg.VecVirtual, n uint8) reg.VecVirtual {
	r := v.new()
	VPSRLQ(operand.U8(n), x, r)
	return r
}

// min and max of a constant and x keep a NaN of x.
func (v *vm) min(x reg.VecVirtual, c float64) reg.VecVirtual {
	r := v.new()
	VMINPD(x, v.k(c), r)
	return r
}
func (v *vm) max(x reg.VecVirtual, c float64) reg.VecVirtual {
	r := v.new()
	VMAXPD(x, v.k(c), r)
	return r
}

// lesser and greater of two vectors without NaN.
func (v *vm) lesser(x, y reg.VecVirtual) reg.VecVirtual  { r := v.new(); VMINPD(y, x, r); return r }
func (v *vm) greater(x, y reg.VecVirtual) reg.VecVirtual { r := v.new(); VMAXPD(y, x, r); return r }
func (v *vm) sqrt(x reg.VecVirtual) reg.VecVirtual       { r := v.new(); VSQRTPD(x, r); return r }

// fma is x·y + z, fms x·y − z, fnma z − x·y.
func (v *vm) fma(x, y, z reg.VecVirtual) reg.VecVirtual {
	r := v.copy(z)
	VFMADD231PD(y, x, r)
	return r
}
func (v *vm) fms(x, y, z reg.VecVirtual) reg.VecVirtual {
	r := v.copy(z)
	VFMSUB231PD(y, x, r)
	return r
}
func (v *vm) fnma(x, y, z reg.VecVirtual) reg.VecVirtual {
	r := v.copy(z)
	VFNMADD231PD(y, x, r)
	return r
}

// poly is c[0] + c[1]·x + c[2]·x² + …, the even powers beside the odd ones: the
// processor waits for the longest chain of operations.
func (v *vm) poly(x reg.VecVirtual, c ...float64) reg.VecVirtual {
	if len(c) < 4 {
		return v.horner(x, c)
	}
	var even, odd []float64
	for i, f := range c {
		if i%2 == 0 {
			even = append(even, f)
		} else {
			odd = append(odd, f)
		}
	}
	square := v.mul(x, x)
	return v.fma(v.horner(square, odd), x, v.horner(square, even))
}

func (v *vm) horner(x reg.VecVirtual, c []float64) reg.VecVirtual {
	n := len(c) - 1
	r := v.copy(v.k(c[n]))
	for i := n - 1; i >= 0; i-- {
		if v.wide() {
			VFMADD213PD_BCST(constant(math.Float64bits(c[i])), x, r)
		} else {
			VFMADD213PD(v.k(c[i]), x, r)
		}
	}
	return r
}

const (
	signBit = uint64(1) << 63
	absBits = signBit - 1
)

func (v *vm) abs(x reg.VecVirtual) reg.VecVirtual { return v.and(x, v.kb(absBits)) }

func (v *vm) negative(x reg.VecVirtual) reg.VecVirtual { return v.xor(x, v.kb(signBit)) }

// flip is x with its sign turned where s is negative.
func (v *vm) flip(x, s reg.VecVirtual) reg.VecVirtual {
	if v.wide() {
		const xorAnd = 0x6a // z ^ (x & y)
		return v.ternary(xorAnd, v.kb(signBit), s, x)
	}
	return v.xor(x, v.and(s, v.kb(signBit)))
}

// ternary is any function of three bits, by its table.
func (v *vm) ternary(table uint8, x, y, z reg.VecVirtual) reg.VecVirtual {
	r := v.copy(x)
	VPTERNLOGQ(operand.U8(table), z, y, r)
	return r
}

// withSign is r, which is not negative, with the sign of x.
func (v *vm) withSign(r, x reg.VecVirtual) reg.VecVirtual {
	if v.wide() {
		const choose = 0xca // x ? y : z
		return v.ternary(choose, v.kb(signBit), x, r)
	}
	return v.or(v.and(r, v.kb(absBits)), v.and(x, v.kb(signBit)))
}

// reciprocal is 1/x to about a unit in the last place.
func (v *vm) reciprocal(x reg.VecVirtual) reg.VecVirtual {
	if !v.wide() {
		return v.div(v.k(1), x)
	}
	r := v.new()
	VRCP14PD(x, r)
	for range 2 { // 14 bits, 28, 56
		r = v.fma(r, v.fnma(x, r, v.k(1)), r)
	}
	return r
}

// Predicates of comparisons; the first three are true for NaN.
const (
	notAtLeast = 0x19
	notAtMost  = 0x16
	unordered  = 0x03
	equal      = 0x00
	less       = 0x11
	more       = 0x1e
)

// compare are the lanes where x stands so to y: a mask register, or a vector of
// all ones or zeros.
func (v *vm) compare(x reg.VecVirtual, predicate uint8, y reg.VecVirtual) operand.Op {
	if v.wide() {
		m := K()
		VCMPPD(operand.U8(predicate), y, x, m)
		return m
	}
	m := v.new()
	VCMPPD(operand.U8(predicate), y, x, m)
	return m
}

// pick is y in the lanes of a comparison, and z in the others.
func (v *vm) pick(lanes operand.Op, y, z reg.VecVirtual) reg.VecVirtual {
	r := v.new()
	if v.wide() {
		VBLENDMPD(y, z, lanes, r)
	} else {
		VBLENDVPD(lanes, y, z, r)
	}
	return r
}

// oddIf marks lanes where x stands so to c.
func (v *vm) oddIf(x reg.VecVirtual, predicate uint8, c float64) { v.oddWhere(x, predicate, v.k(c)) }

// oddUnlessNormal marks lanes where x is not positive, finite and normal.
func (v *vm) oddUnlessNormal(x reg.VecVirtual) {
	if v.wide() {
		const anythingElse = 0xff // NaN, zeros, infinities, subnormal or negative
		m := K()
		VFPCLASSPDZ(operand.U8(anythingElse), x, m)
		v.mark(m)
		return
	}
	v.oddIf(x, notAtLeast, 0x1p-1022)
	v.oddIf(x, notAtMost, math.MaxFloat64)
}

// oddWhere marks lanes where x stands so to y.
func (v *vm) oddWhere(x reg.VecVirtual, predicate uint8, y reg.VecVirtual) {
	v.mark(v.compare(x, predicate, y))
}

// mark makes lanes odd, m being written to.
func (v *vm) mark(m operand.Op) {
	switch {
	case v.odd == nil:
	case v.wide():
		KORW(v.odd, m, m)
	default:
		VORPD(v.odd, m, m)
	}
	v.odd = m
}

// where is y in the lanes where x equals c, and z in the others.
func (v *vm) where(x reg.VecVirtual, c float64, y, z reg.VecVirtual) reg.VecVirtual {
	return v.pick(v.compare(x, equal, v.k(c)), y, z)
}

// ifLow is y in the lanes where the lowest bit of x is set, and z in the others.
func (v *vm) ifLow(x, y, z reg.VecVirtual) reg.VecVirtual {
	r := v.new()
	if v.wide() {
		m := K()
		VPTESTMQ(v.kb(1), x, m)
		VBLENDMPD(y, z, m, r)
		return r
	}
	VBLENDVPD(v.shl(x, 63), y, z, r)
	return r
}

// function is a kernel
//
//	func name(dst, x unsafe.Pointer, n int, past bool) (at, odd int)
//
// that computes n > 0 elements by vectors, whole ones past the caches if told
// so; dst is a multiple of the vector's bytes then. Where lanes of a vector are odd it
// stores the others and returns the vector's place and its odd lanes, bit i
// for lane i; else n and 0. dst may be x. The bits of an element do not
// depend on its place.
func function(s isa, name string, size int, held []float64, body func(v *vm, x reg.VecVirtual) reg.VecVirtual) {
	name += map[int]string{4: "F32", 8: "F64"}[size] + s.name
	functionNames = append(functionNames, name)
	TEXT(name, NOSPLIT, "func(dst uintptr, x uintptr, n int, past bool) (at int, odd int)")
	vectorLoop(s, name, size, held, []string{"x"}, func(v *vm, in []reg.VecVirtual) reg.VecVirtual { return body(v, in[0]) })
}

// pairFunction is function for two inputs:
//
//	func name(dst, x, y unsafe.Pointer, n int, past bool) (at, odd int)
func pairFunction(s isa, name string, size int, held []float64, body func(v *vm, x, y reg.VecVirtual) reg.VecVirtual) {
	name += map[int]string{4: "F32", 8: "F64"}[size] + s.name
	pairNames = append(pairNames, name)
	TEXT(name, NOSPLIT, "func(dst uintptr, x uintptr, y uintptr, n int, past bool) (at int, odd int)")
	vectorLoop(s, name, size, held, []string{"x", "y"}, func(v *vm, in []reg.VecVirtual) reg.VecVirtual { return body(v, in[0], in[1]) })
}

// vectorBody computes a vector from those of the inputs.
type vectorBody func(v *vm, in []reg.VecVirtual) reg.VecVirtual

func vectorLoop(s isa, name string, size int, held []float64, inputs []string, body vectorBody) {
	Doc(name + " computes a row.")
	v := &vm{isa: s}
	dst, n, at := GP64(), GP64(), GP64()
	in := make([]reg.GPVirtual, len(inputs))
	Load(Param("dst"), dst)
	for i, p := range inputs {
		in[i] = GP64()
		Load(Param(p), in[i])
	}
	Load(Param("n"), n)
	XORQ(at, at)
	v.hold(held...)
	lanes := s.bytes / 8
	past := GP8()
	Load(Param("past"), past)
	TESTB(past, past)
	JNZ(operand.LabelRef("past"))
	for _, tag := range []string{"loop", "past"} {
		Label(tag)
		CMPQ(n, operand.I8(int8(lanes)))
		JL(operand.LabelRef("tail"))
		v.past = tag == "past"
		v.turn(tag, size, dst, in, at, nil, body)
		ADDQ(operand.I8(int8(lanes)), at)
		SUBQ(operand.I8(int8(lanes)), n)
		JMP(operand.LabelRef(tag))
	}
	v.past = false
	Label("tail")
	TESTQ(n, n)
	JZ(operand.LabelRef("done"))
	v.turn("part", size, dst, in, at, n, body)
	ADDQ(n, at)
	Label("done")
	VZEROUPPER()
	Store(at, ReturnIndex(0))
	zero := GP64()
	XORQ(zero, zero)
	Store(zero, ReturnIndex(1))
	RET()
}

// turn computes one vector, or n elements of one.
func (v *vm) turn(tag string, size int, dst reg.GPVirtual, in []reg.GPVirtual, at, n reg.GPVirtual, body vectorBody) {
	to := operand.Mem{Base: dst, Index: at, Scale: uint8(size)}
	v.odd = nil
	var mask operand.Op // of the elements that there are
	if n != nil {
		mask = v.maskOf(size, n)
	}
	a := make([]reg.VecVirtual, len(in))
	for i, x := range in {
		if v.past {
			PREFETCHT0(operand.Mem{Base: x, Index: at, Scale: uint8(size), Disp: ahead})
		}
		a[i] = v.load(size, operand.Mem{Base: x, Index: at, Scale: uint8(size)}, mask)
	}
	r := body(v, a)
	if v.odd == nil {
		v.store(size, r, to, mask)
		return
	}
	odd, rest := v.oddLanes(size, mask)
	TESTQ(odd, odd)
	JZ(operand.LabelRef(tag + "Even"))
	v.store(size, r, to, rest)
	VZEROUPPER()
	Store(at, ReturnIndex(0))
	Store(odd, ReturnIndex(1))
	RET()
	Label(tag + "Even")
	v.store(size, r, to, mask)
}

func (v *vm) maskOf(size int, n reg.GPVirtual) operand.Op {
	if v.wide() {
		bits, m := GP64(), K()
		MOVQ(operand.I32(-1), bits)
		BZHIQ(n, bits, bits)
		KMOVW(bits.As32(), m)
		return m
	}
	base, skip := GP64(), GP64()
	LEAQ(tailMask(size), base)
	MOVQ(operand.I32(maskLanes), skip)
	SUBQ(n, skip)
	var m reg.VecVirtual = YMM()
	if size == 4 {
		m = XMM()
	}
	VMOVUPS(operand.Mem{Base: base, Index: skip, Scale: uint8(size)}, m)
	return m
}

// oddLanes are the odd lanes that exist, as bits, and the mask of the others.
func (v *vm) oddLanes(size int, mask operand.Op) (bits reg.GPVirtual, rest operand.Op) {
	bits = GP64()
	if v.wide() {
		m, not := v.odd, K()
		if mask != nil {
			both := K()
			KANDW(mask, m, both)
			m = both
		}
		KMOVB(m, bits.As32())
		KNOTW(m, not)
		if mask != nil {
			KANDW(mask, not, not)
		}
		return bits, not
	}
	m := v.odd.(reg.VecVirtual)
	if size == 4 {
		narrow := XMM()
		high := XMM()
		VEXTRACTF128(operand.U8(1), m, high)
		VSHUFPS(operand.U8(0x88), high, m.AsX(), narrow)
		m = narrow
	}
	not := v.like(m)
	VCMPPS(operand.U8(0x0f), not, not, not) // all ones
	if mask != nil {
		VANDPS(mask, m, m)
		VANDNPS(mask, m, not)
	} else {
		VANDNPS(not, m, not)
	}
	if size == 4 {
		VMOVMSKPS(m, bits.As32())
	} else {
		VMOVMSKPD(m, bits.As32())
	}
	return bits, not
}

func (v *vm) like(m reg.VecVirtual) reg.VecVirtual {
	if m.Size() == 16 {
		return XMM()
	}
	return YMM()
}

// load reads elements as float64.
func (v *vm) load(size int, from operand.Mem, mask operand.Op) reg.VecVirtual {
	r := v.new()
	if size == 8 {
		switch {
		case mask == nil:
			VMOVUPD(from, r)
		case v.wide():
			VMOVUPD_Z(from, mask, r)
		default:
			VMASKMOVPD(from, mask, r)
		}
		return r
	}
	switch {
	case mask == nil:
		VCVTPS2PD(from, r)
	case v.wide():
		VCVTPS2PD_Z(from, mask, r)
	default:
		half := XMM()
		VMASKMOVPS(from, mask, half)
		VCVTPS2PD(half, r)
	}
	return r
}

func (v *vm) store(size int, r reg.VecVirtual, to operand.Mem, mask operand.Op) {
	if size == 8 {
		switch {
		case mask == nil && v.past:
			VMOVNTPD(r, to)
		case mask == nil:
			VMOVUPD(r, to)
		case v.wide():
			VMOVUPD(r, mask, to)
		default:
			VMASKMOVPD(r, mask, to)
		}
		return
	}
	if v.wide() {
		half := YMM()
		VCVTPD2PS(r, half)
		if mask == nil && v.past {
			VMOVNTPS(half, to)
		} else if mask == nil {
			VMOVUPS(half, to)
		} else {
			VMOVUPS(half, mask, to)
		}
		return
	}
	half := XMM()
	VCVTPD2PSY(r, half)
	if mask == nil && v.past {
		VMOVNTPS(half, to)
	} else if mask == nil {
		VMOVUPS(half, to)
	} else {
		VMASKMOVPS(half, mask, to)
	}
}
