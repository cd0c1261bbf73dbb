package einsum

import "github.com/hataori/hataori-go/engine"

// Path is the order in which operands are contracted, in the form that
// opt_einsum made customary. Step [i, j] takes the tensors at positions i and
// j off the list of tensors, which begins as the list of operands, and
// appends their product to its end. n operands take n−1 steps.
type Path [][2]int

// node is a tensor of the contraction tree: an operand after its private
// labels were summed, or the result of a step.
type node struct {
	left, right int // the tensors a step contracts; None for operands
	labels      set // labels of the tensor
	spanned     set // labels of both tensors of a step: its loop nest

	kept, loops []int // the members of labels and of spanned that are longer than 1
}

// tree is a network with the order of its contraction. Nodes 0…n−1 are the
// operands, node n+s is the result of step s, the last is the output.
type tree struct {
	*network
	nodes []node
}

// newTree follows a path.
func newTree(n *network, path Path) (*tree, error) {
	t, err := growTree(n, path)
	if err != nil {
		return nil, err
	}
	t.list()
	return t, nil
}

// mostKept is the most labels longer than 1 that a result may have if it is to be cut
// into tensors: each cut, of which there can be 30, leaves out one.
const mostKept = engine.MaxRank + 30

// plannedTree is newTree for a path that somebody gives, which it refuses before it
// takes memory if no cuts make tensors of all results.
func plannedTree(n *network, path Path) (*tree, error) {
	t, err := growTree(n, path)
	if err != nil {
		return nil, err
	}
	for i := range t.nodes[len(t.operands):] {
		count := 0
		for l := range t.nodes[len(t.operands)+i].labels.all() {
			if n.sizes[l] != 1 {
				count++
			}
		}
		if count > mostKept {
			return nil, tooLarge(i, "axes")
		}
	}
	t.list()
	return t, nil
}

func tooLarge(step int, what string) *Error {
	e := wrongStep(step, "its result has more %s than can be addressed; take another path or cut its labels", what)
	e.Err = ErrSize
	return e
}

// list makes the lists of labels.
func (t *tree) list() {
	long := func(s set) (labels []int) {
		for l := range s.all() {
			if t.sizes[l] != 1 {
				labels = append(labels, l)
			}
		}
		return labels
	}
	for i := range t.nodes {
		nd := &t.nodes[i]
		nd.kept, nd.loops = long(nd.labels), long(nd.spanned)
	}
}

// growTree makes a tree all but its lists. A label leaves at the step after which
// neither the output nor a tensor still on the list has it: it is summed there.
func growTree(n *network, path Path) (*tree, error) {
	operands := len(n.operands)
	t := &tree{network: n, nodes: make([]node, 0, 2*operands-1)}
	uses := make([]int, len(n.labels)) // tensors on the list, or the output, that have a label
	for _, l := range n.output {
		uses[l]++
	}
	live := make([]int, operands)
	for k, labels := range n.operands {
		live[k] = k
		s := newSet(len(n.labels))
		for _, l := range labels {
			if !s.has(l) {
				s.add(l)
				uses[l]++
			}
		}
		t.nodes = append(t.nodes, node{left: None, right: None, labels: s})
	}
	for k := range t.nodes {
		t.nodes[k].spanned = t.nodes[k].labels.union(nil)
		t.nodes[k].labels = drop(t.nodes[k].labels, uses, 1)
	}
	for step, pair := range path {
		if err := checkStep(step, pair, len(live), operands); err != nil {
			return nil, err
		}
		i, j := pair[0], pair[1]
		made := node{left: live[i], right: live[j]}
		a, b := t.nodes[made.left].labels, t.nodes[made.right].labels
		made.spanned = a.union(b)
		for l := range made.spanned.all() {
			if a.has(l) && b.has(l) {
				uses[l]-- // two tensors become one
			}
		}
		made.labels = drop(made.spanned, uses, 1)
		live = append(without(live, i, j), len(t.nodes))
		t.nodes = append(t.nodes, made)
	}
	if len(live) != 1 {
		return nil, wrong(ErrPath, "%d tensors are left after the last of %d steps; %d operands need %d steps",
			len(live), len(path), operands, operands-1)
	}
	return t, nil
}

func checkStep(step int, pair [2]int, live, operands int) error {
	if live < 2 {
		return wrongStep(step, "all operands are consumed; %d operands need %d steps", operands, operands-1)
	}
	for _, at := range pair {
		if at < 0 || at >= live {
			hint := ""
			if live <= at && at < operands+step {
				hint = ", from 0 on; a path that numbers tensors as they are made (SSA) has to be converted to positions, as by opt_einsum's ssa_to_linear"
			}
			return wrongStep(step, "position %d is out of range; %d tensors are on the list%s", at, live, hint)
		}
	}
	if pair[0] == pair[1] {
		return wrongStep(step, "position %d is named twice; a step takes two tensors", pair[0])
	}
	return nil
}

// drop returns the members of s that more than own tensors use, and takes the
// others' use back.
func drop(s set, uses []int, own int) set {
	kept := s.union(nil)
	for l := range s.all() {
		if uses[l] <= own {
			kept.remove(l)
			uses[l] = 0
		}
	}
	return kept
}

// without removes the entries at i and j, in place.
func without(list []int, i, j int) []int {
	if i > j {
		i, j = j, i
	}
	list = append(list[:j], list[j+1:]...)
	return append(list[:i], list[i+1:]...)
}
