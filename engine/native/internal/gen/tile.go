//go:build avogen

package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

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
	if kn.part {
		MOVLQZX(mem(arg, offLack), edge)
		LEAQ(operand.NewDataAddr(operand.Symbol{Name: "edges", Static: true}, 0), k)
		ADDQ(k, edge)
		if kn.mask != nil {
			kn.loadMask(kn.mask)
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
			kn.store(kn.acc[i][j], j, m, tmp)
		}
		if i+1 < kn.mr {
			DECQ(rows)
			JE(operand.LabelRef("done"))
			ADDQ(crs, c)
		}
	}
}
