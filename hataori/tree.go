package hataori

import (
	"fmt"
	"math"
	"slices"

	"github.com/hataori/hataori-go/transport"
)

// GroupByHost, for [Options].Group, makes a group of the ranks of each host.
const GroupByHost = -1

// groupFrom is the number of ranks from which on there are groups without being
// asked for: one coordinator that answers everybody then costs more, with items of
// 0.1 and 1 ms, than the detour.
const groupFrom = 512

// tree says who grants to whom in a call. The root grants to the first rank of
// each group, that one to the others of its group; the root is in none.
type tree struct {
	root   int
	groups [][]int // each ascending; nil: no groups, the root grants to everybody
}

// arrange finds the tree of the call. It is collective where hosts have to be
// known.
func (c *call) arrange() (tree, error) {
	w, k := c.w, c.opts.Group
	t := tree{root: c.opts.Root}
	if k == 0 && w.size >= groupFrom && c.opts.Copies == 0 {
		k = int(math.Ceil(math.Sqrt(float64(w.size))))
	}
	switch {
	case k == GroupByHost:
		if err := c.learnHosts(); err != nil {
			return t, err
		}
		t.groups = groupsBy(w.size, t.root, w.hosts)
	case k > 1:
		t.groups = groupsOf(w.size, t.root, k)
	}
	return t, nil
}

// learnHosts finds out, once for a world, which ranks run on one host.
func (c *call) learnHosts() error {
	w := c.w
	if w.hosts != nil {
		return nil
	}
	send, recv := make([]int64, w.size), make([]int64, w.size)
	for i := range send {
		send[i] = math.MaxInt64
	}
	send[w.rank] = hash(w.host)
	if err := c.reduce(send, recv, transport.Min); err != nil {
		return err
	}
	w.hosts = recv
	return nil
}

// groupsOf parts the ranks but the root into groups of k, the last perhaps smaller.
func groupsOf(size, root, k int) [][]int {
	others := make([]int, 0, size-1)
	for r := range size {
		if r != root {
			others = append(others, r)
		}
	}
	return slices.Collect(slices.Chunk(others, k))
}

// groupsBy parts the ranks but the root by their hosts.
func groupsBy(size, root int, hosts []int64) [][]int {
	place := map[int64]int{}
	var groups [][]int
	for r := range size {
		if r == root {
			continue
		}
		g, known := place[hosts[r]]
		if !known {
			g = len(groups)
			place[hosts[r]] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], r)
	}
	return groups
}

// peers are the rank, then those it grants to, ascending.
func (t *tree) peers(rank, size int) []int {
	peers := []int{rank}
	switch {
	case rank != t.root:
		if g := t.group(rank); g != nil && g[0] == rank {
			peers = append(peers, g[1:]...)
		}
	case t.groups == nil:
		for r := range size {
			if r != rank {
				peers = append(peers, r)
			}
		}
	default:
		for _, g := range t.groups {
			peers = append(peers, g[0])
		}
		slices.Sort(peers[1:])
	}
	return peers
}

// parent is who grants to the rank, which is not the root, and how many ranks
// that one and those are.
func (t *tree) parent(rank, size int) (parent, ranks int) {
	switch g := t.group(rank); {
	case t.groups == nil:
		return t.root, size
	case g[0] == rank:
		return t.root, len(t.groups) + 1
	default:
		return g[0], len(g)
	}
}

// group is the one that the rank is in, nil if it is in none.
func (t *tree) group(rank int) []int {
	for _, g := range t.groups {
		if slices.Contains(g, rank) {
			return g
		}
	}
	return nil
}

// name is how a message calls what the root granted to the rank.
func (t *tree) name(rank int) string {
	if g := t.group(rank); len(g) > 1 && g[0] == rank {
		return fmt.Sprintf("rank %d and its group of %d", rank, len(g))
	}
	return fmt.Sprintf("rank %d", rank)
}
