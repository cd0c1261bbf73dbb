package hataori

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
	"github.com/hataori/hataori-go/transport"
)

// table is something that Broadcast would be used for.
type table struct {
	Name string
	X    []float64
}

func tableOf(r, n int) table {
	t := table{Name: fmt.Sprintf("table of %d", r)}
	for i := range n {
		t.X = append(t.X, float64(r)+1/float64(i+1))
	}
	return t
}

func (t table) equal(o table) bool { return t.Name == o.Name && slices.Equal(t.X, o.X) }

func TestValuesReachTheirRanks(t *testing.T) {
	for _, ranks := range []int{1, 3, 5, 70} {
		for _, net := range []mpitest.Options{{}, {Eager: -1, Seed: 7}} {
			for _, n := range []int{0, 3, 5000} {
				roots := ranks
				if ranks > 5 {
					roots = 2
				}
				t.Run(fmt.Sprintf("ranks=%d,eager=%d,n=%d", ranks, net.Eager, n), func(t *testing.T) {
					onRanks(t, ranks, net, func(w *World) error {
						for root := range roots {
							if err := exchangeTables(w, root, n); err != nil {
								return fmt.Errorf("root %d, rank %d: %w", root, w.Rank(), err)
							}
						}
						return nil
					})
				})
			}
		}
	}
}

func exchangeTables(w *World, root, n int) error {
	ctx := context.Background()
	var st Stats
	o := Options{Root: root, Stats: &st}
	var v table
	var each []table
	if w.Rank() == root {
		v = tableOf(1000, n)
		for r := range w.Size() {
			each = append(each, tableOf(r, n+r))
		}
	}
	got, err := Broadcast(ctx, w, o, v)
	if err != nil || !got.equal(tableOf(1000, n)) {
		return fmt.Errorf("broadcast: %v, %v", got.Name, err)
	}
	if least := int64(8 * n); w.Size() > 1 && st.Sent+st.Received < least {
		return fmt.Errorf("broadcast: %d bytes sent, %d received, at least %d crossed", st.Sent, st.Received, least)
	}
	got, err = Scatter(ctx, w, o, each)
	if err != nil || !got.equal(tableOf(w.Rank(), n+w.Rank())) {
		return fmt.Errorf("scatter: %v, %v", got.Name, err)
	}
	all, err := Gather(ctx, w, o, tableOf(w.Rank(), n))
	switch {
	case err != nil:
		return fmt.Errorf("gather: %w", err)
	case w.Rank() != root && all != nil:
		return errors.New("gather: values off the root")
	case w.Rank() == root && len(all) != w.Size():
		return fmt.Errorf("gather: %d values", len(all))
	}
	for r := range all {
		if !all[r].equal(tableOf(r, n)) {
			return fmt.Errorf("gather: rank %d gave %v", r, all[r].Name)
		}
	}
	return nil
}

// countingCodec counts what is encoded; negative numbers cannot be.
type countingCodec struct {
	oddCodec
	encoded *atomic.Int64
}

func (c countingCodec) Append(dst []byte, v any) ([]byte, error) {
	c.encoded.Add(1)
	return c.oddCodec.Append(dst, v)
}

// The three calls with the value that makes them fail; all of them in one.
func exchangeNumbers(ctx context.Context, w *World, o Options, kind string, bad int, v int64) error {
	x := int64(1)
	if w.Rank() == bad {
		x = v
	}
	var err error
	switch kind {
	case "Broadcast":
		var got int64
		if got, err = Broadcast(ctx, w, o, x); err == nil && got != 1 {
			return fmt.Errorf("got %d", got)
		}
	case "Scatter":
		var all []int64
		if w.Rank() == o.Root {
			all = slices.Repeat([]int64{1}, w.Size())
			all[bad] = v
		}
		_, err = Scatter(ctx, w, o, all)
	case "Gather":
		_, err = Gather(ctx, w, o, x)
	}
	return err
}

func TestExchangesFailTogether(t *testing.T) {
	const never = math.MaxInt64
	base := oddCodec{name: "odd", badIn: never, badOut: never, undecodable: never, panicOnEncode: never, panicOnDe: never}
	for _, kind := range []string{"Broadcast", "Scatter", "Gather"} {
		for name, s := range map[string]struct {
			codec  func(*oddCodec)
			is     error
			text   string
			decode bool
		}{
			"encode":           {func(c *oddCodec) { c.badIn = 13 }, ErrEncode, "cannot encode it", false},
			"panic in encoder": {func(c *oddCodec) { c.panicOnEncode = 13 }, ErrEncode, "encoder panics", false},
			"decode":           {func(c *oddCodec) { c.undecodable = 13 }, nil, "cannot decode it", true},
			"panic in decoder": {func(c *oddCodec) { c.panicOnDe = 13 }, nil, "decoder panics", true},
		} {
			for _, ranks := range []int{1, 3} {
				t.Run(fmt.Sprintf("%s,%s,ranks=%d", kind, name, ranks), func(t *testing.T) {
					c := base
					s.codec(&c)
					var a agreement
					onRanks(t, ranks, mpitest.Options{Seed: 3}, func(w *World) error {
						o := Options{Codec: c, RoundTrip: ranks == 1, Root: ranks - 1}
						bad := o.Root
						if kind != "Broadcast" {
							bad = 0
						}
						a.add(w.Rank(), exchangeNumbers(context.Background(), w, o, kind, bad, 13))
						return again(w)
					})
					var targets []error
					if s.is != nil {
						targets = append(targets, s.is)
					}
					err := a.check(t, ranks, targets...)
					var p *PreflightError
					var r *RankError
					if !strings.Contains(err.Error(), s.text) || s.decode && !errors.As(err, &r) || !s.decode && !errors.As(err, &p) {
						t.Errorf("%T %v", err, err)
					}
				})
			}
		}
	}
}

func TestExchangesAreRefused(t *testing.T) {
	for _, s := range []struct {
		name  string
		opts  Options
		call  func(w *World, o Options) error
		is    error
		text  string
		ranks []int
	}{
		{"root out of range", Options{Root: 4}, func(w *World, o Options) error { _, err := Broadcast(context.Background(), w, o, 1); return err }, ErrRootRange, "4", []int{1, 3}},
		{"negative root", Options{Root: -1}, func(w *World, o Options) error { _, err := Gather(context.Background(), w, o, 1); return err }, ErrRootRange, "-1", []int{1, 3}},
		{"bad options", Options{PreflightTimeout: -1}, func(w *World, o Options) error { _, err := Scatter[int](context.Background(), w, o, nil); return err }, ErrOptions, "PreflightTimeout", []int{1, 3}},
		{"opaque", Options{}, func(w *World, o Options) error {
			_, err := Broadcast(context.Background(), w, o, opaque{1})
			return err
		}, ErrType, "Any", []int{1, 3}},
		{"too few values", Options{Root: 0}, func(w *World, o Options) error {
			_, err := Scatter(context.Background(), w, o, count(w, 0, w.Size()-1))
			return err
		}, ErrValues, "values for", []int{1, 3}},
		{"too many values", Options{Root: 0}, func(w *World, o Options) error {
			_, err := Scatter(context.Background(), w, o, count(w, 0, w.Size()+1))
			return err
		}, ErrValues, "values for", []int{1, 3}},
		{"values off the root", Options{Root: 1}, func(w *World, o Options) error {
			_, err := Scatter(context.Background(), w, o, make([]int, 3))
			return err
		}, ErrItemsOffRoot, "3 values", []int{3}},
		{"different calls", Options{}, func(w *World, o Options) error {
			if w.Rank() == 2 {
				_, err := Gather(context.Background(), w, o, 1)
				return err
			}
			_, err := Broadcast(context.Background(), w, o, 1)
			return err
		}, ErrMismatch, `"Gather" here`, []int{3}},
		{"different types", Options{}, func(w *World, o Options) error {
			if w.Rank() == 1 {
				_, err := Broadcast(context.Background(), w, o, "one")
				return err
			}
			_, err := Broadcast(context.Background(), w, o, 1)
			return err
		}, ErrMismatch, `"string" here`, []int{3}},
	} {
		for _, ranks := range s.ranks {
			t.Run(fmt.Sprintf("%s,ranks=%d", s.name, ranks), func(t *testing.T) {
				var a agreement
				onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
					a.add(w.Rank(), s.call(w, s.opts))
					return again(w)
				})
				var p *PreflightError
				if err := a.check(t, ranks, s.is); !errors.As(err, &p) || !strings.Contains(err.Error(), s.text) {
					t.Errorf("%T %v", err, err)
				}
			})
		}
	}
}

func TestExchangesAreCancelled(t *testing.T) {
	for _, kind := range []string{"Broadcast", "Scatter", "Gather"} {
		for _, ranks := range []int{1, 3} {
			var a agreement
			onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
				ctx, cancel := context.WithCancelCause(context.Background())
				defer cancel(nil)
				if w.Rank() == ranks-1 {
					cancel(errSpecial)
				}
				a.add(w.Rank(), exchangeNumbers(ctx, w, Options{}, kind, 0, 1))
				return again(w)
			})
			var c *CancelError
			if err := a.check(t, ranks, context.Canceled); !errors.As(err, &c) || c.Rank != ranks-1 || c.Cause != "special" {
				t.Errorf("%s: %T %v", kind, err, err)
			}
		}
	}
}

func TestOneRankEncodesNothing(t *testing.T) {
	for _, roundTrip := range []bool{false, true} {
		var n atomic.Int64
		c := countingCodec{oddCodec{name: "counting", badIn: -1, badOut: -1, undecodable: -1, panicOnEncode: -1, panicOnDe: -1}, &n}
		onRanks(t, 1, mpitest.Options{}, func(w *World) error {
			for _, kind := range []string{"Broadcast", "Scatter", "Gather"} {
				if err := exchangeNumbers(context.Background(), w, Options{Codec: c, RoundTrip: roundTrip}, kind, 0, 1); err != nil {
					return err
				}
			}
			return nil
		})
		if want := map[bool]int64{false: 0, true: 3}[roundTrip]; n.Load() != want {
			t.Errorf("round trip %v: %d values encoded, want %d", roundTrip, n.Load(), want)
		}
	}
}

// The transport fails in the middle: the world breaks, everywhere, and is said
// to be broken from then on.
func TestExchangeOnBrokenTransport(t *testing.T) {
	for _, kind := range []string{"Scatter", "Gather"} {
		var a agreement
		net := mpitest.New(3, mpitest.Options{OnSend: func(m mpitest.Message) error {
			if len(m.Bytes) > 40 && m.Tag == tagWork {
				return errSpecial
			}
			return nil
		}})
		err := net.Run(func(c Transport) error {
			w, err := NewWorld(c)
			if err != nil {
				return err
			}
			err = exchangeNumbers(context.Background(), w, Options{}, kind, 0, 1)
			a.add(w.Rank(), err)
			if !errors.Is(err, ErrWorldBroken) {
				return fmt.Errorf("rank %d: %v", w.Rank(), err)
			}
			if err := w.Agree(context.Background(), nil); !errors.Is(err, ErrWorldBroken) {
				return fmt.Errorf("rank %d, next call: %v", w.Rank(), err)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// weighing is a transport that counts what collective calls and messages carry.
type weighing struct {
	transport.Comm
	shared, sent *atomic.Int64 // bytes broadcast on this rank, and sent by it
	times        *atomic.Int64 // broadcasts of more than a few KiB
}

func (c weighing) Private() (transport.Comm, error) {
	d, err := c.Comm.Private()
	return weighing{d, c.shared, c.sent, c.times}, err
}

func (c weighing) Ibcast(p []byte, root int) (transport.Request, error) {
	c.shared.Add(int64(len(p)))
	if len(p) > 4096 {
		c.times.Add(1)
	}
	return c.Comm.Ibcast(p, root)
}

func (c weighing) Isend(p []byte, dest, tag int) (transport.Request, error) {
	c.sent.Add(int64(len(p)))
	return c.Comm.Isend(p, dest, tag)
}

// Input that all items share crosses once for each rank, and not with the items.
func TestSharedInputCrossesOnce(t *testing.T) {
	const ranks, size, n = 4, 1 << 20, 500
	net := mpitest.New(ranks, mpitest.Options{})
	err := net.Run(func(c transport.Comm) error {
		var shared, sent, times atomic.Int64
		w, err := NewWorld(weighing{c, &shared, &sent, &times})
		if err != nil {
			return err
		}
		var table []byte
		if w.Rank() == 0 {
			table = bytes.Repeat([]byte{3}, size)
		}
		if table, err = Broadcast(context.Background(), w, Options{}, table); err != nil {
			return err
		}
		got, err := PmapLanes(context.Background(), w, lanes.New(1), Options{}, count(w, 0, n), func(_ context.Context, _ lanes.Lane, x int) (int, error) {
			return int(table[x]) * x, nil
		})
		if err != nil {
			return err
		}
		for i, v := range got {
			if v != 3*i {
				return fmt.Errorf("item %d: %d", i, v)
			}
		}
		if k, b, s := times.Load(), shared.Load(), sent.Load(); k != 1 || b < size || b > size+4096 || s > 64*n+65536 {
			return fmt.Errorf("%d large broadcasts, %d bytes shared and %d sent", k, b, s)
		}
		return w.Close()
	})
	if err := errors.Join(err, net.Check()); err != nil {
		t.Error(err)
	}
}
