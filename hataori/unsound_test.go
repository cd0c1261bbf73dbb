package hataori

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
)

// nilError is an error that panics when it is asked for its text or what it wraps.
func nilError() error { return (*fs.PathError)(nil) }

// unsoundCodec fails with such an error for the value 3 where it is told to.
type unsoundCodec struct{ encode, decode bool }

func (c unsoundCodec) Name() string { return "unsound" }

func (c unsoundCodec) Append(dst []byte, v any) ([]byte, error) {
	if x := *v.(*int); c.encode && x == 3 {
		return nil, nilError()
	}
	return binary.AppendVarint(dst, int64(*v.(*int))), nil
}

func (c unsoundCodec) Decode(src []byte, v any) error {
	x, _ := binary.Varint(src)
	if c.decode && x == 3 {
		return nilError()
	}
	*v.(*int) = int(x)
	return nil
}

// An error of the caller's that panics when it is looked at ends the call as
// any other does, on every rank, and says of which type it is.
func TestErrorsThatPanic(t *testing.T) {
	onThree := func(_ context.Context, _ lanes.Lane, x int) (int, error) {
		if x == 3 {
			return x, nilError()
		}
		return x, nil
	}
	same := func(_ context.Context, _ lanes.Lane, x int) (int, error) { return x, nil }
	one := func() lanes.Executor[lanes.Lane] { return lanes.New(1) }
	pmap := func(opts Options, f func(context.Context, lanes.Lane, int) (int, error)) func(context.Context, *World) error {
		return func(ctx context.Context, w *World) error {
			ex := one()
			if w.Rank() == 0 && w.Size() > 1 {
				ex = nil // so that all items and results are sent
			}
			_, err := PmapLanes(ctx, w, ex, opts, count(w, 0, 6), f)
			return err
		}
	}
	stream := func(source Source[int], sink Sink[int]) func(context.Context, *World) error {
		return func(ctx context.Context, w *World) error {
			src, dst := source, sink
			if w.Rank() != 0 {
				src, dst = nil, nil
			}
			return PmapStream(ctx, w, one(), Options{}, src, dst, same)
		}
	}
	keep := SinkFunc[int](func(context.Context, int64, int) error { return nil })
	i := 0
	for name, body := range map[string]func(context.Context, *World) error{
		"item":         pmap(Options{}, onThree),
		"retries":      pmap(Options{Retries: 2}, onThree),
		"retryable":    pmap(Options{Retries: 2}, func(context.Context, lanes.Lane, int) (int, error) { return 0, Retryable(nilError()) }),
		"deadline":     pmap(Options{ItemTimeout: time.Minute}, onThree),
		"sentinels":    pmap(Options{ErrorCodec: Sentinels(io.EOF)}, onThree),
		"collect":      pmap(Options{Collect: true}, onThree),
		"encoding":     pmap(Options{Codec: unsoundCodec{encode: true}, RoundTrip: true}, same),
		"decoding":     pmap(Options{Codec: unsoundCodec{decode: true}, RoundTrip: true}, same),
		"collect both": pmap(Options{Codec: unsoundCodec{encode: true}, RoundTrip: true, Collect: true}, same),
		"agree":        func(ctx context.Context, w *World) error { return w.Agree(ctx, nilError()) },
		"source":       stream(SourceFunc[int](func(context.Context) (int, error) { return 0, nilError() }), keep),
		"sink": stream(SourceFunc[int](func(context.Context) (int, error) {
			if i++; i > 3 {
				return 0, io.EOF
			}
			return i, nil
		}), SinkFunc[int](func(context.Context, int64, int) error { return nilError() })),
		"cause": func(ctx context.Context, w *World) error {
			ctx, cancel := context.WithCancelCause(ctx)
			cancel(nilError())
			return pmap(Options{}, same)(ctx, w)
		},
		"health": func(ctx context.Context, w *World) error {
			ex := lanes.Of([]lanes.Lane{0}, lanes.Options[lanes.Lane]{Healthy: func(lanes.Lane, lanes.Lane) error { return nilError() }})
			_, err := PmapLanes(ctx, w, ex, Options{}, count(w, 0, 6), same)
			return err
		},
		"start": func(ctx context.Context, w *World) error {
			ex := lanes.Of([]lanes.Lane{0}, lanes.Options[lanes.Lane]{OnStart: func(lanes.Lane, lanes.Lane) error { return nilError() }})
			_, err := PmapLanes(ctx, w, ex, Options{}, count(w, 0, 6), same)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, 3} {
				i = 0
				onRanks(t, n, mpitest.Options{}, func(w *World) error {
					ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second) // for liveness only
					defer cancel()
					err := body(ctx, w)
					var all *ItemErrors
					if errors.As(err, &all) && len(all.All) > 0 {
						err = all.All[0]
					}
					if err == nil || !strings.Contains(err.Error(), "panics when it is asked") {
						t.Errorf("rank %d of %d: %v", w.Rank(), n, err)
					}
					return nil
				})
			}
		})
	}
	if _, err := Map([]int{3}, func(int) (int, error) { return 0, nilError() }); err == nil || !strings.Contains(err.Error(), "*fs.PathError") {
		t.Errorf("Map: %v", err)
	}
	ctx := context.Background()
	if _, err := MapLanes(ctx, one(), []int{3}, onThree); err == nil || !strings.Contains(err.Error(), "*fs.PathError") {
		t.Errorf("MapLanes: %v", err)
	}
}
