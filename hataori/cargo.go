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
	msg, end, err := pack(msg, size, r, max, put)
	if err != nil {
		return msg, end, p.fault(KindEncode, end, "item", err)
	}
	return msg, end, nil
}

// encode appends one item and turns a panic of the codec into an error.
func (p *packer[T, U]) encode(msg []byte, item *T) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic in the codec: %v", r)
		}
	}()
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
	defer func() {
		if r := recover(); r != nil {
			next, bad = i+1, p.fault(KindDecode, i, "result", fmt.Errorf("panic in the codec: %v", r))
		}
	}()
	for ; i < end; i++ {
		b, err := rd.Item()
		if err != nil {
			return i, nil, err
		}
		if len(p.watched) > 0 {
			second, bad := p.again(i, b)
			if bad != nil {
				return i + 1, bad, nil
			}
			if second {
				continue
			}
		}
		p.val = *new(U)
		if err := p.out.Decode(b, &p.val); err != nil {
			return i + 1, p.fault(KindDecode, i, "result", err), nil
		}
		p.dst.put(i, &p.val)
	}
	return end, nil, nil
}

// pack appends the body of a grant to msg, as cargo.load does. put appends an
// encoded item; its error is returned with the index at which packing ended.
func pack(msg []byte, size int, r farm.Range, max int, put func(msg []byte, i int64) ([]byte, error)) (out []byte, end int64, err error) {
	table := len(msg)
	if size < 0 {
		msg = append(msg, make([]byte, 8*r.Len())...)
	}
	data := len(msg)
	i := r.First
	for ; i < r.End; i++ {
		start := len(msg)
		var next []byte
		if next, err = put(msg, i); err != nil {
			break
		}
		if len(next)-data > max && i > r.First {
			msg = next[:start]
			break
		}
		msg = next
		if size < 0 {
			binary.LittleEndian.PutUint64(msg[table+8*int(i-r.First):], uint64(len(msg)-data))
		}
	}
	if size < 0 && i < r.End { // close the gap behind a shortened table
		n := copy(msg[table+8*int(i-r.First):], msg[data:])
		msg = msg[:table+8*int(i-r.First)+n]
	}
	return msg, i, err
}
