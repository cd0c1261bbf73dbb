package hataori

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
	"github.com/hataori/hataori-go/transport"
)

// owning is a communicator that says that its rank has its process to itself, so
// that coordinators sleep with a processor in their hands.
type owning struct{ transport.Comm }

func (o owning) OwnProcess() bool { return true }

func (o owning) Private() (transport.Comm, error) {
	c, err := o.Comm.Private()
	return owning{c}, err
}

// Random histories in real time: with the bells and the polls of every day, on
// fewer and more processors than lanes.
func TestHistoriesInRealTime(t *testing.T) {
	base := uint64(time.Now().UnixNano())
	if *seedFlag != 0 {
		base = *seedFlag
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	n := 60
	if testing.Short() {
		n = 30
	}
	for k := range uint64(n) {
		h := newHistory(base + k)
		r := rand.New(rand.NewPCG(base+k, 7))
		h.hasten(r)
		runtime.GOMAXPROCS([]int{1, 2, 3, 6, 12}[r.IntN(5)])
		own := r.IntN(2) == 0
		net := mpitest.New(h.ranks, h.net)
		ran, outs := make([]atomic.Int32, len(h.cost)), make([][]outcome, h.ranks)
		err := net.Run(func(c transport.Comm) error {
			if own {
				c = owning{c}
			}
			w, err := NewWorld(c)
			if err != nil {
				return err
			}
			outs[w.Rank()] = make([]outcome, 1)
			h.call(w, ran, &outs[w.Rank()][0])
			return w.Close()
		})
		if err = errors.Join(err, net.Check()); err == nil {
			err = h.check(ran, outs)
		}
		if err != nil {
			t.Fatalf("own process %v, %v: %v", own, h, err)
		}
	}
}

// hasten makes the history one that takes milliseconds.
func (h *history) hasten(r *rand.Rand) {
	const scale = 200 * time.Microsecond
	if h.scale > scale {
		shorter := func(d time.Duration) time.Duration {
			return time.Duration(float64(d) / float64(h.scale) * float64(scale))
		}
		for i := range h.cost {
			h.cost[i] = shorter(h.cost[i])
		}
		for k := range h.cancel {
			h.cancel[k] = shorter(h.cancel[k])
		}
		h.scale = scale
	}
	h.calls = 1
	if h.net.Delay != nil {
		h.net.Delay = func(mpitest.Message) time.Duration { return time.Duration(r.Int64N(int64(100 * time.Microsecond))) }
	}
}

// quitter is a codec of bytes that calls Goexit on the way out of a rank.
type quitter struct{ at byte }

func (quitter) Name() string { return "quitter" }

func (q quitter) Append(dst []byte, v any) ([]byte, error) {
	b := *v.(*byte)
	if b == q.at {
		runtime.Goexit()
	}
	return append(dst, b), nil
}

func (quitter) Decode(src []byte, v any) error {
	*v.(*byte) = src[0]
	return nil
}

// A codec that calls Goexit while an item is encoded fails that item, on whatever
// goroutine that was: the loop over the results of a stream goes on.
func TestGoexitInCodec(t *testing.T) {
	for _, rootLanes := range []int{0, 1} {
		for _, loop := range []bool{false, true} {
			t.Run(fmt.Sprint(rootLanes, loop), func(t *testing.T) {
				var errs [2]error
				onRanks(t, 2, mpitest.Options{}, func(w *World) error {
					errs[w.Rank()] = quit(w, rootLanes, loop)
					return nil
				})
				for rank, err := range errs {
					var item *ItemError
					alone := rootLanes > 0 && err == nil // the root evaluated that item itself
					there := errors.As(err, &item) && item.Index == 50 && item.Kind == KindEncode
					if !alone && !there && (!loop || rank == 0 || err != nil) {
						t.Errorf("rank %d got %v", rank, err)
					}
				}
			})
		}
	}
}

func quit(w *World, rootLanes int, loop bool) error {
	ex := lanes.Executor[lanes.Lane](lanes.New(1))
	var items []byte
	if w.Rank() == 0 {
		for i := range byte(100) {
			items = append(items, i)
		}
		if rootLanes == 0 {
			ex = nil
		}
	}
	opts := Options{Batch: 1, Codec: quitter{50}}
	f := func(_ context.Context, _ lanes.Lane, b byte) (byte, error) {
		time.Sleep(20 * time.Microsecond)
		return b / 2, nil // never 50
	}
	if !loop {
		_, err := PmapLanes(context.Background(), w, ex, opts, items, f)
		return err
	}
	var src Source[byte]
	if items != nil {
		src = FromSeq(func(yield func(byte) bool) {
			for _, b := range items {
				if !yield(b) {
					return
				}
			}
		})
	}
	results, end := PmapSeq(context.Background(), w, ex, opts, src, f)
	n, bad := 0, error(nil)
	for _, r := range results {
		n++
		bad = errors.Join(bad, r.Err)
	}
	if w.Rank() == 0 && n != len(items) {
		return fmt.Errorf("%d results", n)
	}
	return errors.Join(bad, end())
}
