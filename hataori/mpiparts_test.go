package hataori_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi"
)

// hinted hands items out by falling cost: results stay in order, the lowest failing
// index decides, and where one lane does everything the order is seen.
func hinted(ctx context.Context, w *hataori.World, root int) error {
	var begun []int
	o := hataori.Options{Root: root, Cost: func(i int) float64 { return float64(i * 7 % 50) }, Batch: 1}
	got, err := hataori.PmapLanes(ctx, w, lanes.New(1), o, upTo(w, root, 50), func(_ context.Context, _ lanes.Lane, x int) (int, error) {
		begun = append(begun, x*7%50)
		return x * x, nil
	})
	if err != nil {
		return err
	}
	for i, y := range got {
		if y != i*i {
			return fmt.Errorf("item %d: %d", i, y)
		}
	}
	slices.Reverse(begun)
	if w.Size() == 1 && !slices.IsSorted(begun) {
		return fmt.Errorf("the only lane evaluated items of rising cost, in reverse %v", begun)
	}
	_, err = hataori.PmapLanes(ctx, w, lanes.New(2), o, upTo(w, root, 50), func(_ context.Context, _ lanes.Lane, x int) (int, error) {
		if x%10 == 4 { // item 44 is begun before 4
			return 0, errSingular
		}
		return x, nil
	})
	var item *hataori.ItemError
	if !errors.As(err, &item) || item.Index != 4 {
		return fmt.Errorf("items 4, 14, … fail, got %v", err)
	}
	return nil
}

// copied lets the first evaluation of an item hang until it is told to let go, and in
// another call, so that a rank is idle, fail once a copy has begun. Ranks see each
// other's steps in a folder.
func copied(ctx context.Context, w *hataori.World, root int) error {
	dir := ""
	if w.Rank() == root {
		dir = os.TempDir() // of this rank; all ranks are on one host
		var err error
		if dir, err = os.MkdirTemp(dir, "copies"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	dir, err := hataori.Broadcast(ctx, w, hataori.Options{Root: root}, dir)
	if err != nil {
		return err
	}
	first := func(name string) bool {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			err = f.Close()
		}
		return err == nil
	}
	hangs := func(ctx context.Context, _ lanes.Lane, x int) (int, error) {
		if x == 5 && first("hangs") {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		return x * x, nil
	}
	fails := func(ctx context.Context, _ lanes.Lane, x int) (int, error) {
		switch {
		case x == 8 && first("fails"):
			for ctx.Err() == nil { // until a copy has begun
				if _, err := os.Stat(filepath.Join(dir, "copy")); err == nil {
					return 0, errSingular
				}
				time.Sleep(time.Millisecond)
			}
			return 0, ctx.Err()
		case x == 8:
			first("copy")
			time.Sleep(20 * time.Millisecond)
		}
		return x * x, nil
	}
	for _, c := range []struct {
		name string
		f    func(context.Context, lanes.Lane, int) (int, error)
	}{{"hangs", hangs}, {"fails", fails}} {
		var st hataori.Stats
		got, err := hataori.PmapLanes(ctx, w, lanes.New(1), hataori.Options{Root: root, Copies: 1, Stats: &st}, upTo(w, root, 12), c.f)
		if err != nil {
			return fmt.Errorf("one that %s: %w", c.name, err)
		}
		if w.Rank() != root {
			continue
		}
		for i, y := range got {
			if y != i*i {
				return fmt.Errorf("one that %s: item %d: %d", c.name, i, y)
			}
		}
		if len(got) != 12 || st.Copies < 1 {
			return fmt.Errorf("one that %s: %d results, %d copies", c.name, len(got), st.Copies)
		}
	}
	return nil
}

// ranged ranges over the results of a stream, some of which are errors; over one without
// end, which is left; and over one that is cancelled.
func ranged(ctx context.Context, w *hataori.World, root int) error {
	stream := func(ctx context.Context, n int, body func(i int64, r hataori.Outcome[int]) bool) error {
		var source hataori.Source[int]
		if w.Rank() == root {
			source = hataori.FromSeq(func(yield func(int) bool) {
				for i := 0; i != n && yield(i); i++ {
				}
			})
		}
		o := hataori.Options{Root: root, Ordered: true, Window: 40, ErrorCodec: hataori.Sentinels(errSingular)}
		results, end := hataori.PmapSeq(ctx, w, lanes.New(2), o, source, func(_ context.Context, _ lanes.Lane, x int) (int, error) {
			if x%9 == 4 {
				return 0, fmt.Errorf("item %d: %w", x, errSingular)
			}
			return x * x, nil
		})
		for i, r := range results {
			if w.Rank() != root {
				return fmt.Errorf("the body runs on rank %d", w.Rank())
			}
			if !body(i, r) {
				break
			}
		}
		return end()
	}
	next, wrong := int64(0), error(nil)
	check := func(i int64, r hataori.Outcome[int]) bool {
		if fails := i%9 == 4; i != next || errors.Is(r.Err, errSingular) != fails || !fails && int64(r.Value) != i*i {
			wrong = fmt.Errorf("result %d came as %d: %+v", next, i, r)
		}
		next++
		return wrong == nil
	}
	if err := errors.Join(stream(ctx, 500, check), wrong); err != nil {
		return err
	}
	if w.Rank() == root && next != 500 {
		return fmt.Errorf("%d of 500 results", next)
	}
	next = 0
	if err := errors.Join(stream(ctx, -1, func(i int64, r hataori.Outcome[int]) bool { return check(i, r) && i < 100 }), wrong); err != nil {
		return fmt.Errorf("a loop that is left: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if w.Rank() == w.Size()-1 {
		time.AfterFunc(10*time.Millisecond, cancel)
	}
	if err := stream(ctx, -1, func(int64, hataori.Outcome[int]) bool { return true }); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("cancelled, got %v", err)
	}
	return nil
}

// divided makes worlds of parts of the ranks, which call at the same time, each its own
// number of times, and a call of all ranks in between.
func divided(ctx context.Context, w *hataori.World, rt *mpi.Runtime) error {
	color := w.Rank() % 2
	part, err := rt.World().Split(color, -w.Rank())
	if err != nil {
		return err
	}
	v, err := hataori.NewWorld(part)
	if err != nil {
		return err
	}
	size := (w.Size() + 1 - color) / 2
	if v.Size() != size || v.Rank() != size-1-w.Rank()/2 {
		return fmt.Errorf("rank %d is %d of %d in its part", w.Rank(), v.Rank(), v.Size())
	}
	for k := range 3 {
		for range 1 + color {
			o := hataori.Options{Root: k % size}
			if err := errors.Join(squares(ctx, v, o), failing(ctx, v, o), large(ctx, v, o), ranged(ctx, v, o.Root)); err != nil {
				return fmt.Errorf("part %d: %w", color, err)
			}
		}
		if err := squares(ctx, w, hataori.Options{}); err != nil {
			return err
		}
	}
	if err := ended(v, hataori.Options{}); err != nil {
		return err
	}
	return errors.Join(v.Close(), part.Free())
}

// nested has every rank evaluate one item, in which all of them make calls on
// another world of the same ranks, and each on a world of its own.
func nested(ctx context.Context, w *hataori.World, rt *mpi.Runtime) error {
	all, err := hataori.NewWorld(rt.World())
	if err != nil {
		return err
	}
	own, err := hataori.NewWorld(rt.Self())
	if err != nil {
		return err
	}
	sum := func(ctx context.Context, v *hataori.World, root int) (int, error) {
		out, err := hataori.PmapLanes(ctx, v, lanes.New(1), hataori.Options{Root: root}, upTo(v, root, 10),
			func(_ context.Context, _ lanes.Lane, x int) (int, error) { return x * x, nil })
		s := 0
		for _, x := range out {
			s += x
		}
		return s, err
	}
	for root := range w.Size() {
		var mine atomic.Int32
		got, err := hataori.PmapLanes(ctx, w, lanes.New(1), hataori.Options{Root: root, Batch: 1, Depth: 1}, upTo(w, root, w.Size()),
			func(ctx context.Context, _ lanes.Lane, x int) (int, error) {
				mine.Add(1)
				s, err := sum(ctx, all, root) // waits for all ranks: each has one item
				if err != nil {
					return 0, err
				}
				t, err := sum(ctx, own, 0)
				return 1000*s + t, err
			})
		if err != nil || mine.Load() != 1 {
			return fmt.Errorf("root %d, %d items here: %w", root, mine.Load(), err)
		}
		for i, y := range got { // Σ x² for x < 10 is 285, at the rank that is the root inside, too
			if y != 285 && y != 285_285 || len(got) != w.Size() {
				return fmt.Errorf("item %d of %d: %d", i, len(got), y)
			}
		}
	}
	return errors.Join(own.Close(), all.Close())
}

// often makes a thousand calls on one world, with others on a second world of the same ranks
// in between, and then world after world: neither memory nor goroutines nor communicators run out.
func often(ctx context.Context, w *hataori.World, rt *mpi.Runtime) error {
	v, err := hataori.NewWorld(rt.World())
	if err != nil {
		return err
	}
	call := func(w *hataori.World, root int) error {
		got, err := hataori.PmapLanes(ctx, w, lanes.New(1), hataori.Options{Root: root}, upTo(w, root, 5),
			func(_ context.Context, _ lanes.Lane, x int) ([]byte, error) { return make([]byte, 1000+x), nil })
		if err == nil && w.Rank() == root && (len(got) != 5 || len(got[4]) != 1004) {
			err = fmt.Errorf("%d results", len(got))
		}
		return err
	}
	var before, after inUse
	for k := range 1000 {
		on := w
		if k%7 == 0 {
			on = v
		}
		if err := call(on, k%w.Size()); err != nil {
			return fmt.Errorf("call %d: %w", k, err)
		}
		if k == 200 {
			before = use()
		}
	}
	if after = use(); after.exceeds(before) {
		return fmt.Errorf("after 200 calls %+v, after 1000 %+v", before, after)
	}
	for k := range manyWorlds {
		part, err := rt.World().Split(0, 0)
		if err != nil {
			return fmt.Errorf("part %d: %w", k, err)
		}
		u, err := hataori.NewWorld(part)
		if err != nil {
			return fmt.Errorf("world %d: %w", k, err)
		}
		if k%100 == 0 {
			err = call(u, 0)
		}
		if err = errors.Join(err, u.Close(), part.Free()); err != nil {
			return fmt.Errorf("world %d: %w", k, err)
		}
	}
	if last := use(); last.exceeds(after) {
		return fmt.Errorf("before %d worlds %+v, after them %+v", manyWorlds, after, last)
	}
	for range 30 {
		if err := nested(ctx, w, rt); err != nil {
			return err
		}
	}
	if last := use(); last.exceeds(after) {
		return fmt.Errorf("before nested calls %+v, after them %+v", after, last)
	}
	return v.Close()
}

// big sends an item of more than 2^31 bytes to another rank, and as much back.
func big(ctx context.Context, w *hataori.World) error {
	const n = 21 << 30 / 10
	var items [][]byte
	ex := lanes.Executor[lanes.Lane](lanes.New(1))
	if w.Rank() == 0 {
		items, ex = [][]byte{make([]byte, n)}, nil
		items[0][n-1] = 7
	}
	got, err := hataori.PmapLanes(ctx, w, ex, hataori.Options{}, items, func(_ context.Context, _ lanes.Lane, b []byte) ([]byte, error) {
		if len(b) != n || b[n-1] != 7 {
			return nil, fmt.Errorf("%d bytes came", len(b))
		}
		b[0] = 9
		return b, nil
	})
	if err == nil && w.Rank() == 0 && (len(got[0]) != n || got[0][0] != 9 || got[0][n-1] != 7) {
		err = fmt.Errorf("%d bytes came back", len(got[0]))
	}
	return err
}

// manyWorlds is more than MPICH has communicators at a time: some 2000.
const manyWorlds = 2100

// inUse is what the process holds. Threads and files are 0 where the system does not
// tell them.
type inUse struct {
	heap                       uint64
	goroutines, threads, files int
}

func use() inUse {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	threads, _ := os.ReadDir("/proc/self/task")
	files, _ := os.ReadDir("/proc/self/fd")
	return inUse{m.HeapAlloc, runtime.NumGoroutine(), len(threads), len(files)}
}

// exceeds reports whether a hundred calls and more have left something behind. Go may
// start a thread or two at any time.
func (u inUse) exceeds(before inUse) bool {
	return u.heap > before.heap+2<<20 || u.goroutines > before.goroutines || u.threads > before.threads+4 || u.files > before.files
}
