package hataori

import (
	"encoding/binary"
	"fmt"

	"github.com/hataori/hataori-go/transport"
)

// MaxItems is the largest number of items in one collective call.
const MaxItems = 1 << indexBits

// A key orders the faults of all ranks; the lowest wins. It is
// class · 2^60 + index · 2^20 + rank.
const (
	rankBits  = 20
	indexBits = 40
)

func (f *fault) key() int64 {
	if f == nil {
		return none
	}
	index := f.index
	if f.class != classItem && f.class != classRank {
		index = 0
	}
	return int64(f.class)<<(rankBits+indexBits) | index<<rankBits | int64(f.rank)
}

func rankOf(key int64) int { return int(key & (1<<rankBits - 1)) }

// crossed is the error that the fault is for everybody, made without sending it.
func (f *fault) crossed(codec ErrorCodec) error {
	var g fault
	if err := g.unmarshal(f.marshal(codec), codec); err != nil {
		return fmt.Errorf("hataori: fault that cannot be decoded: %w", err) // a defect of this package
	}
	return g.public(f)
}

// settle ends a call: it chooses among what the ranks bring, own being what
// ended the call here and item the lowest failing item, each of which may be
// nil. Every rank gets the same error, nil if no rank brings anything.
func (c *call) settle(own, item *fault) error {
	w := c.w
	own = c.blamedOr(own)
	mine := own
	if item.key() < own.key() {
		mine = item
	}
	if w.size == 1 {
		if mine == nil {
			return nil
		}
		return c.attach(mine.crossed(c.opts.ErrorCodec), item)
	}
	send := []int64{mine.key(), item.key(), 0}
	if c.announced && w.rank != 0 {
		send[2] = -1
	}
	recv := make([]int64, len(send))
	if err := c.reduce(send, recv, transport.Min); err != nil {
		return err
	}
	if recv[2] != 0 {
		if err := c.collectAnnouncements(-send[2]); err != nil {
			return err
		}
	}
	delete(w.arrived, w.epoch)
	if recv[0] == none {
		return nil
	}
	result, err := c.share(recv[0], mine)
	if err != nil {
		return err
	}
	cancel, ok := result.(*CancelError)
	if !ok {
		return result
	}
	if err := c.shareFlights(cancel); err != nil {
		return err
	}
	if recv[1] != none {
		low, err := c.share(recv[1], item)
		if err != nil {
			return err
		}
		cancel.Item, _ = low.(*ItemError)
	}
	return result
}

// attach is what settle does for a cancelled call, on a world of one.
func (c *call) attach(err error, item *fault) error {
	if cancel, ok := err.(*CancelError); ok {
		c.flights.tell(cancel)
		if item != nil {
			cancel.Item, _ = item.crossed(c.opts.ErrorCodec).(*ItemError)
		}
	}
	return err
}

// share broadcasts the fault with the key from the rank that has it, and returns
// the error that it is on all ranks. mine is what this rank may have to send.
func (c *call) share(key int64, mine *fault) (error, error) {
	from := rankOf(key)
	var data []byte
	if from == c.w.rank {
		data = mine.marshal(c.opts.ErrorCodec)
	} else {
		mine = nil
	}
	data, err := c.bcast(data, from)
	if err != nil {
		return nil, err
	}
	var f fault
	if err := f.unmarshal(data, c.opts.ErrorCodec); err != nil {
		return nil, c.breakdown(fmt.Errorf("from rank %d: %w", from, err))
	}
	return f.public(mine), nil
}

// maxBroadcast bounds what bcast takes for a length: an error and its bounds.
const maxBroadcast = 2 << 20

// bcast sends data from the root to all ranks, which do not know its length.
func (c *call) bcast(data []byte, root int) ([]byte, error) {
	length := make([]byte, 8)
	if c.w.rank == root {
		data = data[:min(len(data), maxBroadcast)]
		binary.LittleEndian.PutUint64(length, uint64(len(data)))
	}
	if err := c.bcastFixed(length, root); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(length)
	if n > maxBroadcast {
		return nil, c.breakdown(fmt.Errorf("broadcast of %d bytes from rank %d, at most %d are allowed", n, root, maxBroadcast))
	}
	if c.w.rank != root {
		data = make([]byte, n)
	}
	return data, c.bcastFixed(data, root)
}

func (c *call) bcastFixed(p []byte, root int) error {
	req, err := c.w.comm.Ibcast(p, root)
	if err != nil {
		return c.breakdown(err)
	}
	c.inFlight = []any{req, p}
	return c.await(req, len(p))
}

func (c *call) reduce(send, recv []int64, op transport.Op) error {
	req, err := c.w.comm.Iallreduce(send, recv, op)
	if err != nil {
		return c.breakdown(err)
	}
	c.inFlight = []any{req, send, recv}
	return c.await(req, 8*len(send))
}

// collectAnnouncements receives on rank 0 the announcements that came too late
// to be looked at, so that no message is left behind.
func (c *call) collectAnnouncements(mine int64) error {
	send, recv := []int64{mine}, []int64{0}
	if err := c.reduce(send, recv, transport.Sum); err != nil || c.w.rank != 0 {
		return err
	}
	for int64(len(c.w.arrived[c.w.epoch])) < recv[0] {
		if err := c.worldMail(); err != nil {
			return err
		}
		c.ladder.wait(hotStarving, idleNap)
	}
	return nil
}
