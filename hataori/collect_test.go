package hataori

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
)

// Items fail in every way there is; all others have their results.
func TestCollect(t *testing.T) {
	codec := oddCodec{name: "odd", badIn: 11, badOut: 1012, undecodable: 1013, panicOnEncode: 14, panicOnDe: 1015}
	kinds := map[int64]Kind{3: KindError, 7: KindPanic, 9: KindGoexit, 11: KindEncode, 12: KindEncode, 13: KindDecode, 14: KindEncode, 15: KindDecode}
	for _, ranks := range []int{1, 3} {
		for root := range ranks {
			for _, rootLanes := range []int{0, 2} {
				if ranks == 1 && rootLanes == 0 {
					continue
				}
				t.Run(fmt.Sprintf("ranks=%d,root=%d,lanes=%d", ranks, root, rootLanes), func(t *testing.T) {
					var a agreement
					onRanks(t, ranks, mpitest.Options{Seed: 9}, func(w *World) error {
						var items []int64
						var ex lanes.Executor[lanes.Lane] = lanes.New(2)
						if w.Rank() == root {
							for i := range int64(40) {
								items = append(items, i)
							}
							if rootLanes == 0 {
								ex = nil
							}
						}
						o := Options{Root: root, Collect: true, Codec: codec, ErrorCodec: Sentinels(errSpecial), Batch: 3, RoundTrip: ranks == 1}
						got, err := PmapLanes(context.Background(), w, ex, o, items, func(_ context.Context, _ lanes.Lane, x int64) (int64, error) {
							switch x {
							case 3:
								return 0, errSpecial
							case 7:
								panic("ouch")
							case 9:
								runtime.Goexit()
							}
							return 1000 + x, nil
						})
						a.add(w.Rank(), err)
						if err := checkCollected(got, err, kinds, w.Rank() == root, ranks > 1 && rootLanes > 0); err != nil {
							t.Errorf("rank %d: %v", w.Rank(), err)
						}
						return again(w)
					})
					a.check(t, ranks, errSpecial, ErrGoexit)
				})
			}
		}
	}
}

// checkCollected compares with kinds. Where the root's own lanes may have an item
// that only fails when it crosses (some), it may be there instead.
func checkCollected(got []int64, err error, kinds map[int64]Kind, root, some bool) error {
	var e *ItemErrors
	if !errors.As(err, &e) {
		return fmt.Errorf("got %T %v", err, err)
	}
	if !some && e.Count != len(kinds) || len(e.Errors) != e.Count || root != (len(e.All) == e.Count) {
		return fmt.Errorf("%d failures, %d told, %d at the root, want %d", e.Count, len(e.Errors), len(e.All), len(kinds))
	}
	failed := map[int64]bool{}
	last := -1
	for k, one := range e.Errors {
		if one.Index <= last || kinds[int64(one.Index)] != one.Kind {
			return fmt.Errorf("item %d: %v, kind %v", one.Index, one, one.Kind)
		}
		if root && e.All[k].Error() != one.Error() {
			return fmt.Errorf("%v and %v", e.All[k], one)
		}
		last = one.Index
		failed[int64(one.Index)] = true
	}
	if !failed[3] || !failed[7] || !failed[9] {
		return fmt.Errorf("failures %v", failed)
	}
	if root != (len(got) == 40) {
		return fmt.Errorf("%d results", len(got))
	}
	for i, v := range got {
		if want := 1000 + int64(i); !failed[int64(i)] && v != want || failed[int64(i)] && v != 0 {
			return fmt.Errorf("result %d is %d, failed: %v", i, v, failed[int64(i)])
		}
	}
	return nil
}

func TestCollectManyAndNone(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		for _, fail := range []bool{false, true} {
			onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
				got, err := PmapLanes(context.Background(), w, lanes.New(2), Options{Collect: true}, count(w, 0, 5000), func(_ context.Context, _ lanes.Lane, x int) (int, error) {
					if fail && x%2 == 1 {
						return 0, fmt.Errorf("odd %d", x)
					}
					return x, nil
				})
				var e *ItemErrors
				switch {
				case !fail && err == nil && (w.Rank() > 0 || len(got) == 5000):
					return nil
				case !fail || !errors.As(err, &e) || e.Count != 2500 || len(e.Errors) != sharedErrors:
					return fmt.Errorf("%d results, %v", len(got), err)
				}
				if w.Rank() == 0 && (len(e.All) != 2500 || e.All[2499].Index != 4999 || e.All[2499].Message != "odd 4999") {
					return fmt.Errorf("%d failures", len(e.All))
				}
				return nil
			})
		}
	}
}

// An error that tells of an item has the prefix of the package once.
func TestTextOfItemErrors(t *testing.T) {
	item := &ItemError{Index: 39, Rank: 2, Host: "node7", Lane: 1, Kind: KindError, Message: "singular"}
	for want, err := range map[string]error{
		"hataori: item 39 failed on rank 2 (node7) lane 1: singular":                                                      item,
		"hataori: 5 items failed; the lowest: item 39 failed on rank 2 (node7) lane 1: singular":                          &ItemErrors{Count: 5, Errors: []*ItemError{item}},
		"hataori: call cancelled on rank 0: late; lowest failure seen: item 39 failed on rank 2 (node7) lane 1: singular": &CancelError{Cause: "late", Item: item},
	} {
		if got := err.Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestCollectIsCancelledAndRefused(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		var cancelled, contradict agreement
		onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			_, err := PmapLanes(ctx, w, lanes.New(1), Options{Collect: true}, count(w, 0, 1000), func(ctx context.Context, _ lanes.Lane, x int) (int, error) {
				if x == 0 {
					cancel()
				}
				<-ctx.Done()
				return 0, ctx.Err()
			})
			cancelled.add(w.Rank(), err)
			_, err = PmapLanes(context.Background(), w, lanes.New(1), Options{Collect: true, FirstSeen: true}, count(w, 0, 10), same)
			contradict.add(w.Rank(), err)
			return again(w)
		})
		cancelled.check(t, ranks, context.Canceled)
		contradict.check(t, ranks, ErrOptions)
	}
}

// Every fifth item of a stream fails: the sink gets the others, every rank hears
// of the failures, and only what the sink does not have already is evaluated.
func TestCollectStream(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		for _, ordered := range []bool{false, true} {
			var a agreement
			onRanks(t, ranks, mpitest.Options{Seed: 4}, func(w *World) error {
				// The failing items and two others are not to come.
				b := &book{ordered: ordered, have: map[int64]bool{1: true, 2: true}}
				for i := int64(0); i < 200; i += 5 {
					b.have[i] = i%10 == 0
				}
				o := Options{Collect: true, Ordered: ordered, Window: 20, ErrorCodec: Sentinels(errSpecial), RoundTrip: true}
				err := pmapStream(context.Background(), w, o, numbers(200), b, func(_ context.Context, _ lanes.Lane, x int) (int, error) {
					if x%10 == 5 {
						return 0, errSpecial
					}
					return x * x, nil
				})
				a.add(w.Rank(), err)
				var e *ItemErrors
				if !errors.As(err, &e) || e.Count != 20 || len(e.Errors) != 20 || e.Errors[7].Index != 75 || (w.Rank() == 0) != (len(e.All) == 20) {
					t.Errorf("rank %d got %v", w.Rank(), err)
				}
				if w.Rank() == 0 && len(b.seen) != 200-2-20-20 {
					t.Errorf("%d results", len(b.seen))
				}
				return again(w)
			})
			a.check(t, ranks, errSpecial)
		}
	}
}

func FuzzItemErrors(f *testing.F) {
	raw := (&fault{class: classItem, kind: KindError, message: "boom", err: errSpecial}).marshal(nil)
	one := binary.AppendUvarint([]byte{1, 5}, uint64(len(raw)))
	one = append(one, raw...)
	f.Add([]byte{0})
	f.Add(one)
	f.Add(one[:len(one)-1])
	f.Add([]byte{1})
	f.Add([]byte{1, 5, 200, 1, 2, 3})
	f.Fuzz(func(t *testing.T, msg []byte) {
		var c failures
		e, err := c.parse(&call{opts: &Options{}}, msg)
		switch {
		case err != nil && e != nil:
			t.Error("both")
		case e == nil:
		case len(e.Errors) == 0 || len(e.Errors) > e.Count || e.Error() == "":
			t.Errorf("%d errors of %d", len(e.Errors), e.Count)
		}
	})
}
