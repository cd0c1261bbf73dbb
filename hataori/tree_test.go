package hataori

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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
