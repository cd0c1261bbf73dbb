package mpi

import (
	"math"
	"unsafe"

	"github.com/hataori/hataori-go/transport"
)

// Iallreduce combines send element by element over all ranks into recv on every
// rank: recv[i] = op over ranks of send[i]. Both belong to the library until the
// request is done, and must not overlap.
func (c *Comm) Iallreduce(send, recv []int64, op transport.Op) (transport.Request, error) {
	r, err := reduce(c, send, recv, op)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// IallreduceFloat64 is Iallreduce for floating-point numbers. The order of
// summation is the library's, and so are the rules for NaN.
func (c *Comm) IallreduceFloat64(send, recv []float64, op transport.Op) (transport.Request, error) {
	r, err := reduce(c, send, recv, op)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func reduce[T int64 | float64](c *Comm, send, recv []T, op transport.Op) (*request, error) {
	if len(send) != len(recv) || len(send) > math.MaxInt32 {
		return nil, badArgument("Iallreduce", "%d numbers to send, room for %d, at most %d allowed", len(send), len(recv), math.MaxInt32)
	}
	if op < Min || op > Sum {
		return nil, badArgument("Iallreduce", "operator %d", op)
	}
	if err := c.enter("Iallreduce"); err != nil {
		return nil, err
	}
	defer gate.Unlock()
	if c.solo != nil {
		copy(recv, send)
		return c.soloDone(), nil
	}
	l := c.lib
	var zero T
	datatype := l.abi.int64Type
	if _, ok := any(zero).(float64); ok {
		datatype = l.abi.double
	}
	operator := [...]uintptr{Min: l.abi.opMin, Max: l.abi.opMax, Sum: l.abi.opSum}[op]
	r := c.request(kindCollective)
	r.keep = [2]unsafe.Pointer{unsafe.Pointer(unsafe.SliceData(send)), unsafe.Pointer(unsafe.SliceData(recv))}
	err := l.call(fnIallreduce, uintptr(r.keep[0]), uintptr(r.keep[1]), num(len(send)), datatype, operator, c.h, word(&r.h))
	if err != nil {
		c.drop(r)
		return nil, err
	}
	return r, nil
}

// Ibcast sends p on rank root into p, of the same length, on the others. p
// belongs to the library until the request is done.
func (c *Comm) Ibcast(p []byte, root int) (transport.Request, error) {
	if root < 0 || root >= c.size {
		return nil, badArgument("Ibcast", "root %d of %d", root, c.size)
	}
	if err := c.enter("Ibcast"); err != nil {
		return nil, err
	}
	defer gate.Unlock()
	if c.solo != nil {
		return c.soloDone(), nil
	}
	l := c.lib
	r := c.request(kindCollective)
	r.buf = p
	// All pieces are started now, so that collective calls started later
	// come after all of them on every rank.
	for started := false; !started || len(p) > 0; started = true {
		if started {
			r.more = append(r.more, r.h)
		}
		n := min(len(p), c.piece)
		if err := l.call(fnIbcast, addr(p), num(n), l.abi.byteType, num(root), c.h, word(&r.h)); err != nil {
			if !started {
				c.drop(r)
			} // else it stays in flight, as the library still uses the buffer
			return nil, err
		}
		p = p[n:]
	}
	return r, nil
}

// Ibarrier is done once every rank has started it.
func (c *Comm) Ibarrier() (transport.Request, error) {
	if err := c.enter("Ibarrier"); err != nil {
		return nil, err
	}
	defer gate.Unlock()
	if c.solo != nil {
		return c.soloDone(), nil
	}
	r := c.request(kindCollective)
	if err := c.lib.call(fnIbarrier, c.h, word(&r.h)); err != nil {
		c.drop(r)
		return nil, err
	}
	return r, nil
}
