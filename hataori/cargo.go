package hataori

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/hataori/hataori-go/hataori/internal/farm"
	"github.com/hataori/hataori-go/hataori/internal/wire"
	"github.com/hataori/hataori-go/lanes"
)

// packer is the cargo of items of type T and results of type U.
type packer[T, U any] struct {
	src source[T]
	dst sink[U]
	in  *typed[T]
	out *typed[U]
	val U
	at  int64 // the result that is unloaded

	order order
	count *atomic.Int64 // results unloaded

	watched map[int64]*watched // items of which there are copies, by place
	from    *int               // the rank whose results are unloaded
}

func (p *packer[T, U]) variable() bool { return p.in.Size < 0 }
func (p *packer[T, U]) watch(i int64) {
	if p.watched[i] == nil {
		p.watched[i] = new(watched)
	}
}

func (p *packer[T, U]) keyed() bool { return p.order != nil }

// fault is a failure of an item while it was packed or unpacked here.
func (p *packer[T, U]) fault(kind Kind, i int64, what string, err error) *fault {
	return &fault{class: classItem, kind: kind, index: p.order.index(i), place: i, lane: lanes.NoLane, err: sound(err),
		message: what + ": " + text(err)}
}

func (p *packer[T, U]) load(msg []byte, r farm.Range, max int) ([]byte, int64, *fault) {
	put := func(msg []byte, i int64) ([]byte, error) { return p.encode(msg, p.src.item(i)) }
	size := p.in.Size
	if p.order != nil {
		put = func(msg []byte, i int64) ([]byte, error) {
			return p.encode(binary.LittleEndian.AppendUint64(msg, uint64(p.order[i])), p.src.item(i))
		}
		if size >= 0 {
			size += wire.KeySize
		}
	}
	k := startPacking(msg, size, r, max, put)
	if p.in.Own {
		k = k.runApart()
	} else {
		k.run()
	}
	if k.close(); k.err != nil {
		return k.msg, k.i, p.fault(KindEncode, k.i, "item", k.err)
	}
	return k.msg, k.i, nil
}

// encode appends one item.
func (p *packer[T, U]) encode(msg []byte, item *T) (out []byte, err error) {
	out, err = p.in.Append(msg, item)
	if err == nil && p.in.Size >= 0 && len(out)-len(msg) != p.in.Size {
		err = fmt.Errorf("the codec promised %d bytes and appended %d", p.in.Size, len(out)-len(msg))
	}
	return out, err
}

func (p *packer[T, U]) unload(results []byte, account func(farm.Range) error) (faults []*fault, err error) {
	rd := wire.ResultReader{Size: p.out.Size, Data: results}
	for {
		first, n, err := rd.Run()
		if err != nil || n == 0 {
			return faults, err
		}
		if err := account(farm.Range{First: first, End: first + n}); err != nil {
			return faults, err
		}
		p.count.Add(n)
		for i := first; i < first+n; {
			var bad *fault
			if i, bad, err = p.unpack(&rd, i, first+n); err != nil {
				return faults, err
			}
			if bad != nil {
				faults = append(faults, bad)
			}
		}
	}
}

// unpack puts results until the end of the run or the first that cannot be
// decoded, and returns the index that comes next.
func (p *packer[T, U]) unpack(rd *wire.ResultReader, i, end int64) (next int64, bad *fault, err error) {
	p.at = i
	if !p.out.Own {
		bad, err = p.unpackRun(rd, end)
		return p.at, bad, err
	}
	if e := apart(func() { bad, err = p.unpackRun(rd, end) }); e != nil {
		bad = p.fault(KindDecode, p.at, "result", inCodec(e))
		p.at++
	}
	return p.at, bad, err
}

// unpackRun is unpack from the index at on, which it moves on.
func (p *packer[T, U]) unpackRun(rd *wire.ResultReader, end int64) (bad *fault, err error) {
	for ; p.at < end; p.at++ {
		b, err := rd.Item()
		if err != nil {
			return nil, err
		}
		if len(p.watched) > 0 {
			second, bad := p.again(p.at, b)
			if bad != nil {
				p.at++
				return bad, nil
			}
			if second {
				continue
			}
		}
		p.val = *new(U)
		if err := p.out.Decode(b, &p.val); err != nil {
			bad := p.fault(KindDecode, p.at, "result", err)
			p.at++
			return bad, nil
		}
		p.dst.put(p.at, &p.val)
	}
	return nil, nil
}

// packing is the body of a grant on its way into msg, as cargo.load makes it.
type packing struct {
	msg  []byte
	i    int64 // the item that comes next
	err  error // why it does not
	size int
	r    farm.Range
	max  int
	put  func(msg []byte, i int64) ([]byte, error) // appends an encoded item

	table, data int // where they begin in msg
}

func startPacking(msg []byte, size int, r farm.Range, max int, put func(msg []byte, i int64) ([]byte, error)) packing {
	k := packing{msg: msg, i: r.First, size: size, r: r, max: max, put: put, table: len(msg)}
	if size < 0 {
		k.msg = append(k.msg, make([]byte, 8*r.Len())...)
	}
	k.data = len(k.msg)
	return k
}

func (k *packing) run() {
	for ; k.i < k.r.End; k.i++ {
		next, err := k.put(k.msg, k.i)
		if err != nil {
			k.err = err
			return
		}
		if len(next)-k.data > k.max && k.i > k.r.First {
			return
		}
		k.msg = next
		if k.size < 0 {
			binary.LittleEndian.PutUint64(k.msg[k.table+8*int(k.i-k.r.First):], uint64(len(k.msg)-k.data))
		}
	}
}

// runApart runs a copy, where code of the caller's encodes.
func (k packing) runApart() packing {
	if err := apart(k.run); err != nil {
		k.err = inCodec(err)
	}
	return k
}

// close closes the gap behind a shortened table.
func (k *packing) close() {
	if k.size < 0 && k.i < k.r.End {
		end := k.table + 8*int(k.i-k.r.First)
		k.msg = k.msg[:end+copy(k.msg[end:], k.msg[k.data:])]
	}
}
