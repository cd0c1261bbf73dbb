package hataori

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hataori/hataori-go/hataori/internal/farm"
	"github.com/hataori/hataori-go/hataori/internal/wire"
	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
)

func TestGroups(t *testing.T) {
	hosts := func(s string) (hs []int64) {
		for _, c := range s {
			hs = append(hs, int64(c))
		}
		return hs
	}
	for _, c := range []struct {
		got  [][]int
		want string
	}{
		{groupsOf(6, 0, 2), "[[1 2] [3 4] [5]]"},
		{groupsOf(6, 3, 2), "[[0 1] [2 4] [5]]"},
		{groupsOf(4, 3, 100), "[[0 1 2]]"},
		{groupsOf(2, 1, 2), "[[0]]"},
		{groupsBy(6, 0, hosts("aabbab")), "[[1 4] [2 3 5]]"},
		{groupsBy(4, 2, hosts("abcd")), "[[0] [1] [3]]"},
	} {
		if s := fmt.Sprint(c.got); s != c.want {
			t.Errorf("%s, want %s", s, c.want)
		}
	}
}

// In every tree each rank but the root has one parent, which has it among its
// peers, and knows how many ranks that one has.
func TestTree(t *testing.T) {
	for size := 2; size < 9; size++ {
		for root := range size {
			for k := 1; k <= size; k++ {
				tr := tree{root: root}
				if k > 1 {
					tr.groups = groupsOf(size, root, k)
				}
				parents := make([][]int, size)
				peers := make([][]int, size)
				for r := range size {
					peers[r] = tr.peers(r, size)
					if peers[r][0] != r || !slices.IsSorted(peers[r][1:]) {
						t.Fatalf("size %d, root %d, groups of %d: peers of %d are %v", size, root, k, r, peers[r])
					}
					for _, p := range peers[r][1:] {
						parents[p] = append(parents[p], r)
					}
				}
				for r := range size {
					if r == root {
						if len(parents[r]) > 0 {
							t.Fatalf("size %d, groups of %d: %v grant to the root, %d", size, k, parents[r], r)
						}
						continue
					}
					p, n := tr.parent(r, size)
					if !slices.Equal(parents[r], []int{p}) || n != len(peers[p]) {
						t.Fatalf("size %d, root %d, groups of %d: %v grant to %d, which thinks %d, with %d ranks", size, root, k, parents[r], r, p, n)
					}
				}
			}
		}
	}
}

// Messages of the work travel along the edges of the tree and nowhere else, and
// along each of them.
func TestMessagesKeepToTheTree(t *testing.T) {
	const size, root, n = 6, 2, 40
	for _, c := range []struct {
		group int
		edges string // who grants to whom
	}{
		{0, "20 21 23 24 25"},
		{1, "20 21 23 24 25"},
		{2, "01 20 23 25 34"},
		{3, "01 03 20 24 45"},
		{5, "01 03 04 05 20"},
		{GroupByHost, "04 13 15 20 21"},
	} {
		var mu sync.Mutex
		edges := map[string]bool{}
		var stats Stats
		onRanks(t, size, mpitest.Options{
			Host: func(rank int) string { return fmt.Sprint("host", rank%2) },
			Delay: func(m mpitest.Message) time.Duration {
				if m.Tag == tagWork {
					mu.Lock()
					edges[fmt.Sprint(m.Source, m.Dest)] = true
					mu.Unlock()
				}
				return 0
			},
		}, func(w *World) error {
			o := Options{Group: c.group, Batch: 1, Root: root}
			if w.Rank() == root {
				o.Stats = &stats
			}
			got, err := PmapLanes(context.Background(), w, lanes.New(1), o, count(w, root, n),
				func(_ context.Context, _ lanes.Lane, x int) (int, error) { return x * x, nil })
			for i, y := range got {
				if y != i*i {
					return fmt.Errorf("item %d: %d", i, y)
				}
			}
			return err
		})
		var want []string
		for _, e := range strings.Fields(c.edges) {
			want = append(want, e[:1]+" "+e[1:], e[1:]+" "+e[:1])
		}
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(edges)); !slices.Equal(got, want) {
			t.Errorf("groups of %d: messages between %q, want %q", c.group, got, want)
		}
		if len(stats.Lanes) != size || stats.Items != n {
			t.Errorf("groups of %d: %d items on %d lanes", c.group, stats.Items, len(stats.Lanes))
		}
		for r, l := range stats.Lanes {
			if l.Rank != r {
				t.Errorf("groups of %d: statistics of rank %d at place %d", c.group, l.Rank, r)
			}
		}
	}
}

// A large world has groups without being asked.
func TestGroupsBySize(t *testing.T) {
	for _, c := range []struct{ size, group, peers int }{
		{511, 0, 510}, {512, 0, 23}, {512, 1, 511}, {10_000, 0, 100}, {512, 100, 6}, {4, 0, 3},
	} {
		tr, err := (&call{w: &World{size: c.size}, opts: &Options{Root: 3, Group: c.group}}).arrange()
		if n := len(tr.peers(3, c.size)) - 1; err != nil || n != c.peers {
			t.Errorf("%d ranks, groups of %d: the root grants to %d, want %d; %v", c.size, c.group, n, c.peers, err)
		}
	}
}

// TestGroupDisagrees: the size of groups is among what all ranks must agree on.
func TestGroupDisagrees(t *testing.T) {
	onRanks(t, 3, mpitest.Options{}, func(w *World) error {
		_, err := PmapLanes(context.Background(), w, lanes.New(1), Options{Group: 1 + w.Rank()/2}, count(w, 0, 5),
			func(_ context.Context, _ lanes.Lane, x int) (int, error) { return x, nil })
		if !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), "Group 2") {
			return fmt.Errorf("got %v", err)
		}
		_, err = PmapLanes(context.Background(), w, lanes.New(1), Options{Group: -2}, count(w, 0, 5),
			func(_ context.Context, _ lanes.Lane, x int) (int, error) { return x, nil })
		if !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), "Group is -2") {
			return fmt.Errorf("got %v", err)
		}
		return nil
	})
}

// What Options promise, they promise in groups, too: all failures, evaluations
// again, deadlines, and how far the call has come.
func TestOptionsInGroups(t *testing.T) {
	const ranks, n = 6, 60
	for _, group := range []int{2, 3, 5} {
		ran := make([]atomic.Int32, n)
		onRanks(t, ranks, mpitest.Options{Seed: uint64(group)}, func(w *World) error {
			var st Stats
			var last Progress
			o := Options{Group: group, Root: 1, Batch: 4, Collect: true, Retries: 2, ItemTimeout: 20 * time.Millisecond,
				ErrorCodec: Sentinels(errSpecial), Stats: &st, Progress: func(p Progress) { last = p }}
			got, err := PmapLanes(context.Background(), w, lanes.New(2), o, count(w, 1, n),
				func(ctx context.Context, _ lanes.Lane, x int) (string, error) {
					switch k := ran[x].Add(1); {
					case x%10 == 3:
						return "", fmt.Errorf("item %d: %w", x, errSpecial)
					case x%10 == 6 && k < 3:
						return "", Retryable(errSpecial)
					case x == 17:
						<-ctx.Done()
						return "", ctx.Err()
					}
					return strings.Repeat("x", x), nil
				})
			var e *ItemErrors
			if !errors.As(err, &e) || e.Count != 7 || !errors.Is(err, errSpecial) || !errors.Is(e.Errors[2], ErrItemTimeout) {
				return fmt.Errorf("rank %d: %v", w.Rank(), err)
			}
			for k, i := range []int{3, 13, 17, 23, 33, 43, 53} {
				if e.Errors[k].Index != i {
					return fmt.Errorf("failure %d is of item %d, want %d", k, e.Errors[k].Index, i)
				}
			}
			if w.Rank() != 1 {
				return nil
			}
			for i, s := range got {
				if want := strings.Repeat("x", i); s != want && i%10 != 3 && i != 17 {
					return fmt.Errorf("result %d is %q", i, s)
				}
			}
			retries := 0
			for _, l := range st.Lanes {
				retries += l.Retries
			}
			if len(st.Lanes) != 2*ranks || st.Items != n || retries != 12 || last.Done != n || last.Failed != 7 {
				return fmt.Errorf("%d items, %d retries, %d lanes, last %+v", st.Items, retries, len(st.Lanes), last)
			}
			return nil
		})
		for i := range ran {
			want := int32(1)
			if i%10 == 6 {
				want = 3
			}
			if k := ran[i].Load(); k != want {
				t.Errorf("groups of %d: item %d evaluated %d times, want %d", group, i, k, want)
			}
		}
	}
}

// A rank behind a relay that does not let go of its item is named twice: by the
// root with its group, and by the relay.
func TestOverdueInAGroup(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	root, relay := make(chan string, 1), make(chan string, 1)
	onRanks(t, 4, mpitest.Options{}, func(w *World) error {
		o := Options{Batch: 1, Depth: 1, Group: 2}
		var ex lanes.Executor[lanes.Lane]
		switch w.Rank() {
		case 0, 1:
			to := []chan string{root, relay}[w.Rank()]
			o.Logger = slog.New(slog.NewTextHandler(writer(func(p []byte) {
				if bytes.Contains(p, []byte("overdue=")) {
					to <- string(p)
				}
			}), nil))
		case 2:
			ex = lanes.New(1)
		}
		_, err := PmapLanes(ctx, w, ex, o, count(w, 0, 5), func(ctx context.Context, _ lanes.Lane, x int) (int, error) {
			cancel()
			if s, want := <-relay, fmt.Sprintf("\"rank 2: items %d\"", x); !strings.Contains(s, want) {
				t.Errorf("the relay says %q, want %s", s, want)
			}
			if s, want := <-root, "\"rank 1 and its group of 2: items "; !strings.Contains(s, want) {
				t.Errorf("the root says %q, want %s", s, want)
			}
			return 0, ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			return fmt.Errorf("rank %d: %v", w.Rank(), err)
		}
		return nil
	})
}

// Results of several grants, and indices that come a second time in a newer one.
func TestShelf(t *testing.T) {
	items := func(first, count int64, b byte) *wire.Items {
		it, err := wire.ParseItems(wire.Header{First: first, Count: count}, bytes.Repeat([]byte{b}, int(count)), 1)
		if err != nil {
			t.Fatal(err)
		}
		return it
	}
	r := func(first, end int64) farm.Range { return farm.Range{First: first, End: end} }
	var s shelf
	check := func(err error, ok bool, grants int) {
		t.Helper()
		if (err == nil) != ok || len(s.list()) != grants {
			t.Errorf("%v, %d grants are left, want %d", err, len(s.list()), grants)
		}
	}
	s.add(r(0, 6), items(0, 6, 'a'))
	check(s.take(r(2, 4)), true, 1) // given back
	s.add(r(6, 9), items(6, 3, 'b'))
	s.add(r(2, 4), items(2, 2, 'c'))
	for i, want := range "aaccaabbb" {
		if got := s.at(int64(i)); string(got) != string(want) {
			t.Errorf("item %d is %q, want %q", i, got, want)
		}
	}
	check(s.take(r(1, 7)), true, 2) // across all three
	check(s.take(r(0, 1)), true, 1)
	check(s.take(r(6, 9)), false, 1) // 6 has left
	s = shelf{}
	s.add(r(0, 2), items(0, 2, 'a'))
	check(s.take(r(1, 3)), false, 1) // 2 was never here
	defer func() {
		if recover() == nil {
			t.Error("an item was found that is not here")
		}
	}()
	s.at(7)
}
