package mpi

import (
	"context"
	"math"

	"github.com/hataori/hataori-go/transport"
)

var _ transport.Splitter = (*Comm)(nil)

// Split makes new communicators of the ranks of c (MPI_Comm_split): those that pass
// the same color share one, in which their order is that of key, and of rank where
// keys are equal. It is collective and returns when every rank has called it. The
// caller owns the result, whose traffic never meets that of c, and calls Free.
//
// Color is 0..2³¹−1, key any number of 32 bits. If a rank passes another every rank
// gets [transport.ErrArgument], and none a communicator. There is no MPI_UNDEFINED:
// ranks that are not wanted pass a color of their own, and free what they get.
//
// After all ranks have come, and unlike other calls, Split keeps the gate while the
// library makes the communicators: goroutines of one process that split different
// communicators at the same time may only do so in the same order on all ranks.
func (c *Comm) Split(color, key int) (*Comm, error) {
	if err := c.agree(color, key); err != nil {
		return nil, err
	}
	if err := c.enter("Split"); err != nil {
		return nil, err
	}
	if c.lib == nil {
		defer gate.Unlock()
		return newSolo(c.host, c.ended), nil
	}
	d, err := c.divide(color, key)
	gate.Unlock()
	if err != nil {
		return nil, err
	}
	if err := d.makeBulk(); err != nil {
		return nil, err
	}
	return d, nil
}

// Part is Split for code written against [transport.Splitter].
func (c *Comm) Part(color, key int) (transport.Comm, error) {
	d, err := c.Split(color, key)
	if err != nil {
		return nil, err // not a nil *Comm in an interface
	}
	return d, nil
}

// agree returns the same on every rank: nil, or which rank passed what it may not.
// It also waits for all ranks, which MPI_Comm_split could do only with the gate held.
func (c *Comm) agree(color, key int) error {
	if err := c.enter("Split"); err != nil {
		return err
	}
	gate.Unlock()
	lowest := []int64{math.MaxInt64}
	if color < 0 || color > math.MaxInt32 || key < math.MinInt32 || key > math.MaxInt32 {
		lowest[0] = int64(c.rank)
	}
	ctx := context.Background()
	if err := c.Allreduce(ctx, lowest, Min); err != nil {
		return err
	}
	if lowest[0] == math.MaxInt64 {
		return nil
	}
	passed := []int64{math.MinInt64, math.MinInt64}
	if lowest[0] == int64(c.rank) {
		passed = []int64{int64(color), int64(key)}
	}
	if err := c.Allreduce(ctx, passed, Max); err != nil {
		return err
	}
	return badArgument("Split", "rank %d passed color %d, allowed are 0..%d, and key %d", lowest[0], passed[0], math.MaxInt32, passed[1])
}

// divide calls MPI_Comm_split. The gate is held.
func (c *Comm) divide(color, key int) (*Comm, error) {
	lib := c.lib
	if err := lib.call(fnCommSplit, c.h, num(color), num(key), lib.outAddr(0)); err != nil {
		return nil, err
	}
	h := lib.out[0]
	if err := lib.returnErrors(h); err != nil {
		return nil, err
	}
	return newComm(lib, h, c.host, c.piece)
}
