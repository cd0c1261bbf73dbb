package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/lanes"
)

// rank is one rank and what it has seen so far.
type rank struct {
	world    *hataori.World
	perRound int
	items    int // evaluated in all rounds, on all ranks
}

const (
	inShort    = 5000 // items of a short call
	failsAt    = 1234 // of the short call that fails
	cancelAt   = 777  // the item at which a call is cancelled
	tableBytes = 1 << 20
)

// name is the result of an item: text of different lengths.
func name(x int64) string { return fmt.Sprintf("%d:%x", x, x*x) }

// round makes calls of every kind, with as many items as a round has.
func (s *rank) round(ctx context.Context) error {
	short := max(1, s.perRound/4/inShort)
	inStream := max(0, s.perRound-short*inShort)
	if err := s.stream(ctx, inStream); err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	for k := range short {
		if err := s.call(ctx, k); err != nil {
			return fmt.Errorf("call %d: %w", k, err)
		}
	}
	s.items += inStream + short*inShort
	if err := s.failing(ctx); err != nil {
		return err
	}
	if err := s.cancelled(ctx); err != nil {
		return err
	}
	return s.share(ctx)
}

// counter gives the numbers below n.
type counter struct{ next, n int64 }

func (c *counter) Next(context.Context) (int64, error) {
	if c.next == c.n {
		return 0, io.EOF
	}
	c.next++
	return c.next - 1, nil
}

// stream sends items through a source and a sink, and sums up the results: each
// index once, each with its own value.
func (s *rank) stream(ctx context.Context, n int) error {
	var source hataori.Source[int64]
	var sink hataori.Sink[int64]
	var count, indices, values int64
	if s.world.Rank() == 0 {
		source = &counter{n: int64(n)}
		sink = hataori.SinkFunc[int64](func(_ context.Context, i, v int64) error {
			if v != 3*i+1 {
				return fmt.Errorf("item %d: %d", i, v)
			}
			count, indices, values = count+1, indices+i, values+v
			return nil
		})
	}
	ex := lanes.New(1)
	err := hataori.PmapStream(ctx, s.world, ex, hataori.Options{}, source, sink,
		func(_ context.Context, _ lanes.Lane, x int64) (int64, error) { return 3*x + 1, nil })
	if err != nil || s.world.Rank() != 0 {
		return err
	}
	want := int64(n)
	if sum := want * (want - 1) / 2; count != want || indices != sum || values != 3*sum+want {
		return fmt.Errorf("%d of %d results, their indices sum up to %d and not to %d", count, want, indices, sum)
	}
	return nil
}

// numbers are the items of a short call, on the root.
func (s *rank) numbers(n, from int) []int64 {
	if s.world.Rank() != 0 {
		return nil
	}
	items := make([]int64, n)
	for i := range items {
		items[i] = int64(from + i)
	}
	return items
}

func (s *rank) call(ctx context.Context, k int) error {
	out, err := hataori.Pmap(ctx, s.world, hataori.Options{Lanes: 1}, s.numbers(inShort, k),
		func(_ context.Context, x int64) (string, error) { return name(x), nil })
	if err != nil {
		return err
	}
	for i, v := range out {
		if v != name(int64(k+i)) {
			return fmt.Errorf("item %d: %q", i, v)
		}
	}
	return nil
}

// failing makes a call in which items fail: the lowest index decides.
func (s *rank) failing(ctx context.Context) error {
	_, err := hataori.Pmap(ctx, s.world, hataori.Options{Lanes: 1}, s.numbers(inShort, 0), func(_ context.Context, x int64) (int64, error) {
		if x >= failsAt && x%2 == 0 {
			return 0, errExpected
		}
		return x, nil
	})
	var item *hataori.ItemError
	if !errors.As(err, &item) || item.Index != failsAt {
		return fmt.Errorf("item %d was to fail, got: %v", failsAt, err)
	}
	return nil
}

// cancelled makes a call whose context ends on the rank that evaluates one item.
func (s *rank) cancelled(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_, err := hataori.Pmap(ctx, s.world, hataori.Options{Lanes: 1}, s.numbers(inShort, 0), func(ctx context.Context, x int64) (int64, error) {
		if x == cancelAt {
			cancel()
			<-ctx.Done()
		}
		return x, ctx.Err()
	})
	var ended *hataori.CancelError
	if !errors.As(err, &ended) {
		return fmt.Errorf("the call was to be cancelled, got: %v", err)
	}
	return nil
}

// share moves a table from the root to all ranks and back.
func (s *rank) share(ctx context.Context) error {
	var table []byte
	if s.world.Rank() == 0 {
		table = make([]byte, tableBytes)
		for i := range table {
			table[i] = byte(i * 7)
		}
	}
	table, err := hataori.Broadcast(ctx, s.world, hataori.Options{}, table)
	if err != nil {
		return err
	}
	back, err := hataori.Gather(ctx, s.world, hataori.Options{}, table)
	if err != nil {
		return err
	}
	for r, b := range back {
		for i := range b {
			if len(b) != tableBytes || b[i] != byte(i*7) {
				return fmt.Errorf("table of rank %d: %d bytes, byte %d is %d", r, len(b), i, b[i])
			}
		}
	}
	return nil
}
