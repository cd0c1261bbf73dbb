package farm

import (
	"fmt"
	"hash/maphash"
	"sync/atomic"
	"testing"
)

// A world is a call in one state, whose space is explored. W is the pointer type
// that implements it.
type world[W any] interface {
	key(b *keyer)                 // appends what identifies the state
	moves(to []move[W]) []move[W] // appends what can happen
	copyTo(c W) W                 // a copy, in the memory of c unless it is nil
	done() bool                   // the call is over
	final() error                 // then: a broken rule, or nil
}

// A move is one thing that happens to a world. An error is a broken rule.
type move[W any] struct {
	rank int    // where, −1: what says it
	what string // with a verb for the item, if there is one
	item int64
	do   func(W) error
}

const noItem = -1

func (m move[W]) String() string {
	s := m.what
	if m.item != noItem {
		s = fmt.Sprintf(m.what, m.item)
	}
	if m.rank >= 0 {
		s = fmt.Sprintf("rank %d: %s", m.rank, s)
	}
	return s
}

// explorer visits every state once, depth first. A cycle would be a run without
// end; a state without a move that leads elsewhere, a hang.
type explorer[W world[W]] struct {
	seen  map[[2]uint64]bool // false: on the path
	seeds [2]maphash.Seed
	path  []move[W]
	ends  int

	// Memory to use again.
	keys  keyer
	moves [][]move[W] // by length of the path
	spare []W
}

func (x *explorer[W]) id(s W) [2]uint64 {
	x.keys = x.keys[:0]
	s.key(&x.keys)
	return [2]uint64{maphash.Bytes(x.seeds[0], x.keys), maphash.Bytes(x.seeds[1], x.keys)}
}

func (x *explorer[W]) copy(s W) W {
	var c W
	if k := len(x.spare) - 1; k >= 0 {
		c, x.spare = x.spare[k], x.spare[:k]
	}
	return s.copyTo(c)
}

func (x *explorer[W]) movesOf(s W) []move[W] {
	k := len(x.path)
	if k == len(x.moves) {
		x.moves = append(x.moves, nil)
	}
	x.moves[k] = s.moves(x.moves[k][:0])
	return x.moves[k]
}

func (x *explorer[W]) visit(s W, id [2]uint64) error {
	x.seen[id] = false
	moved := false
	for _, m := range x.movesOf(s) {
		x.path = append(x.path, m)
		t := x.copy(s)
		if err := m.do(t); err != nil {
			return err
		}
		next := x.id(t)
		if next != id {
			moved = true
			left, known := x.seen[next]
			if known && !left {
				return fmt.Errorf("rule: a run that may go on for ever")
			}
			if !known {
				if err := x.visit(t, next); err != nil {
					return err
				}
			}
		}
		x.spare = append(x.spare, t)
		x.path = x.path[:len(x.path)-1]
	}
	if !moved {
		if !s.done() {
			return fmt.Errorf("rule: nothing can happen, and the call is not over")
		}
		x.ends++
		if err := s.final(); err != nil {
			return err
		}
	}
	x.seen[id] = true
	return nil
}

// explore visits the states that can be reached from each of the worlds, some
// worlds at a time, and returns the number of states of all.
func explore[C any, W world[W]](t *testing.T, worlds []C, start func(c *C) (name string, s W)) int {
	var total atomic.Int64
	t.Run("worlds", func(t *testing.T) {
		for i := range worlds {
			name, s := start(&worlds[i])
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				x := &explorer[W]{seen: map[[2]uint64]bool{}, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
				if err := x.visit(s, x.id(s)); err != nil {
					t.Error(err)
					for i, m := range x.path {
						t.Logf("%3d %s", i, m)
					}
				}
				t.Logf("%d states, %d ends", len(x.seen), x.ends)
				total.Add(int64(len(x.seen)))
			})
		}
	})
	t.Logf("%d states in all", total.Load())
	return int(total.Load())
}
