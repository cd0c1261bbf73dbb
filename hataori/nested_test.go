package hataori_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
	"github.com/hataori/hataori-go/transport"
)

// Round after round four ranks make worlds of half of them and of all, make calls on
// those beside and inside of items, one of which fails, and give the worlds up. What
// the process holds does not grow.
func TestRoundsOfNestedCalls(t *testing.T) {
	const ranks, warm = 4, 30
	rounds := 150
	if testing.Short() {
		rounds = 60
	}
	arrived, leave := make(chan bool), make(chan bool)
	var before, after inUse
	measured := make(chan bool)
	go func() {
		defer close(measured)
		for _, u := range []*inUse{&before, &after} {
			for range ranks {
				<-arrived
			}
			*u = use()
			for k := 0; u == &after && u.exceeds(before) && k < 1000; k++ { // goroutines end a little after their calls
				time.Sleep(time.Millisecond)
				*u = use()
			}
			for range ranks {
				leave <- true
			}
		}
	}()
	net := mpitest.New(ranks, mpitest.Options{})
	err := net.Run(func(c transport.Comm) error {
		w, err := hataori.NewWorld(c)
		if err != nil {
			return err
		}
		for k := range rounds {
			if err := nestedRound(c, w); err != nil {
				return fmt.Errorf("round %d: %w", k, err)
			}
			if k == warm-1 || k == rounds-1 {
				arrived <- true
				<-leave
			}
		}
		return w.Close()
	})
	if err := errors.Join(err, net.Check()); err != nil {
		t.Fatal(err)
	}
	if <-measured; after.exceeds(before) {
		t.Errorf("after %d rounds %+v, after %d %+v", warm, before, rounds, after)
	}
}

// nestedRound is one round on one rank.
func nestedRound(c transport.Comm, w *hataori.World) error {
	var comms []transport.Comm
	var worlds []*hataori.World
	for _, color := range []int{c.Rank() % 2, 0} {
		part, err := c.(transport.Splitter).Part(color, -c.Rank())
		if err != nil {
			return err
		}
		v, err := hataori.NewWorld(part)
		if err != nil {
			return err
		}
		comms, worlds = append(comms, part), append(worlds, v)
	}
	ctx, half, all := context.Background(), worlds[0], worlds[1]
	sum := func(v *hataori.World) (int, error) {
		out, err := hataori.PmapLanes(ctx, v, lanes.New(2), hataori.Options{}, upTo(v, 0, 10), func(_ context.Context, _ lanes.Lane, x int) (int, error) { return x * x, nil })
		s := 0
		for _, x := range out {
			s += x
		}
		return s, err
	}
	if s, err := sum(half); err != nil || half.Rank() == 0 && s != 285 {
		return fmt.Errorf("half of the ranks: %d, %w", s, err)
	}
	got, err := hataori.PmapLanes(ctx, w, lanes.New(1), hataori.Options{Batch: 1, Depth: 1}, upTo(w, 0, w.Size()), func(_ context.Context, _ lanes.Lane, x int) (int, error) {
		return sum(all) // waits for all ranks: each has one item
	})
	total := 0
	for _, s := range got {
		total += s
	}
	if err != nil || w.Rank() == 0 && total != 285 {
		return fmt.Errorf("all ranks: %v, %w", got, err)
	}
	_, err = hataori.PmapLanes(ctx, half, lanes.New(1), hataori.Options{}, upTo(half, 0, 3), func(_ context.Context, _ lanes.Lane, x int) (int, error) {
		return 0, errSingular
	})
	if !errors.Is(err, errSingular) && half.Size() == 1 || err == nil {
		return fmt.Errorf("failing items: %w", err)
	}
	for k := range worlds {
		if err := errors.Join(worlds[k].Close(), comms[k].Free()); err != nil {
			return err
		}
	}
	return nil
}
