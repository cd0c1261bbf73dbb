package farm

import (
	"slices"
	"time"
)

// Copies of an index: further evaluations of it by other ranks, while the first is
// not done, no more than Options.Copies in all. The result that comes first counts, and the others are told to let
// go; the index fails only when every evaluation of it has failed. With copies no
// rank may judge a failure of its own: the root does.
type copies struct {
	had    []int // ranks that ever had the index
	live   []int // of these, those that have not accounted for it
	failed bool  // one of them failed
	done   bool  // the root has a result
}

// straggler returns the index that the rank should evaluate a copy of, −1 if
// there is none: of those out elsewhere one of the fewest evaluations, the
// lowest.
func (r *Root) straggler(rank int) int64 {
	best, fewest := int64(-1), r.opts.Copies+1
	for j := range r.peers {
		if j == rank {
			continue
		}
		for _, g := range r.peers[j].grants {
			for i := g.First; i < g.End; i++ {
				if g.has(i) || r.q.Key(nil, i) > r.limit {
					continue
				}
				n := 1
				if c := r.copies[i]; c != nil {
					if n = len(c.had); c.done || slices.Contains(c.had, rank) {
						continue
					}
				}
				if n < fewest || n == fewest && best >= 0 && i < best {
					best, fewest = i, n
				}
			}
		}
	}
	return best
}

// copy grants copies to ranks with idle lanes when nothing else is left to do.
func (r *Root) copy(own Local) {
	if r.opts.Copies == 0 || !own.Patient || r.aborted || own.Open || r.candidates > 0 || r.waiting > 0 || r.q.Left() > 0 {
		return
	}
	for k := 0; k < len(r.parked); {
		rank := r.parked[k]
		i := int64(-1)
		if r.peers[rank].load.Idle > 0 {
			i = r.straggler(rank)
		}
		if i < 0 {
			k++
			continue
		}
		if r.copies[i] == nil {
			holder := slices.IndexFunc(r.peers, func(p peer) bool {
				return slices.ContainsFunc(p.grants, func(g grant) bool { return g.First <= i && i < g.End && !g.has(i) })
			})
			if r.copies == nil {
				r.copies = map[int64]*copies{}
			}
			r.copies[i] = &copies{had: []int{holder}, live: []int{holder}}
		}
		r.Granted.Copies++
		r.hand(k, Range{i, i + 1}, true)
		r.effects[len(r.effects)-1].Copy = true
	}
}

// taken records that the rank has the indices, as far as there are copies of them.
func (r *Root) taken(rank int, rg Range) {
	for i := rg.First; len(r.copies) > 0 && i < rg.End; i++ {
		if c := r.copies[i]; c != nil && !slices.Contains(c.live, rank) {
			c.live = append(c.live, rank)
			c.had = append(c.had, rank)
		}
	}
}

// let records that the rank has accounted for the index, and returns what is known
// of its copies, nil if there are none.
func (r *Root) let(rank int, i int64) *copies {
	c := r.copies[i]
	if c != nil {
		c.live = slices.DeleteFunc(c.live, func(k int) bool { return k == rank })
	}
	return c
}

// finished takes in results of indices of which there may be copies.
func (r *Root) finished(rank int, rg Range) {
	for i := rg.First; len(r.copies) > 0 && i < rg.End; i++ {
		if c := r.let(rank, i); c != nil && !c.done {
			c.done = true
			r.losers = append(r.losers, i)
		}
	}
}

// failedAt takes in that the rank failed the index, and says whether that is the
// index's failure.
func (r *Root) failedAt(rank int, i int64) bool {
	c := r.let(rank, i)
	if c == nil {
		return true
	}
	c.failed = true
	return !c.done && len(c.live) == 0
}

// returned takes in that the rank gives the indices back, or never got them, and
// puts those that somebody has to evaluate into the queue.
func (r *Root) returned(rank int, rg Range, pinned bool) {
	if len(r.copies) == 0 {
		r.q.Push(rg, pinned, nil)
		return
	}
	for i := rg.First; i < rg.End; i++ {
		switch c := r.let(rank, i); {
		case c == nil || !c.done && !c.failed && len(c.live) == 0:
			r.q.Push(Range{i, i + 1}, true, nil)
		case !c.done && len(c.live) == 0:
			r.OnFailed(r.q.Key(nil, i)) // all others have failed
		}
	}
}

// unneeded reports whether a rank may give up the indices of rg.
func (r *Root) unneeded(rg Range) bool {
	limit := r.Limit()
	if len(r.copies) == 0 {
		return rg.Len() == 0 || limit != maxIndex && slices.Equal(r.q.From(limit+1, rg, nil), []Range{rg})
	}
	for i := rg.First; i < rg.End; i++ {
		if c := r.copies[i]; (c == nil || !c.done) && r.q.Key(nil, i) <= limit {
			return false
		}
	}
	return true
}

// supersede tells ranks to let go of indices that have their results.
func (r *Root) supersede() {
	for _, i := range r.losers {
		for _, rank := range r.copies[i].live {
			r.Granted.Notices++
			r.effects = append(r.effects, Effect{Kind: Notify, Rank: rank, Notice: Superseded, N: i})
		}
	}
	r.losers = r.losers[:0]
}

// Key is the key of an index, see Queue.SetOrder.
func (r *Root) Key(i int64) int64 { return r.q.Key(nil, i) }

// Mean is the mean time per item of the lanes that have measured it.
func (r *Root) Mean() time.Duration { return r.item(Pulse{}) }

// Idle reports whether lanes wait while nothing is left to hand out.
func (r *Root) Idle() bool { return !r.stopped && r.q.Left() == 0 && r.idle() > 0 }

// Failed is the lowest key that failed for good, −1 if none did.
func (r *Root) Failed() int64 {
	if r.limit == maxIndex {
		return -1
	}
	return r.limit
}
