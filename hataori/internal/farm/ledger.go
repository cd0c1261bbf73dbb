package farm

import (
	"fmt"
	"math/bits"
	"slices"
	"time"
)

type peer struct {
	load    Load
	heard   bool // it has reported
	credit  int  // grants it waits for
	grants  []grant
	held    int64
	movable int64 // of these, not pinned
	last    int64 // size of its last grant
	noticed int64 // lowest limit it was told, −1: abort
	asked   bool  // it was asked to return items and had none, or has not answered; until its next movable grant
	waiting bool  // and has not answered
	counted bool  // it is one of the candidates
	busy    int64 // lanes that the items it holds can keep busy
	scant   bool  // its last grant was not ample
	gone    bool
}

// grant remembers which of its indices are accounted for.
type grant struct {
	Range
	pinned bool
	left   int64
	done   []uint64
	woke   int64 // idle lanes of the rank that it is for
}

// setLoad records how a rank fares.
func (r *Root) setLoad(p *peer, l Load) {
	r.lanes += l.Lanes - p.load.Lanes
	r.ranks += min(l.Lanes, 1) - min(p.load.Lanes, 1)
	r.count(p.load, -1)
	r.count(l, 1)
	p.load = l
	r.weigh(p)
	r.stock(p)
}

// stock keeps count of the ranks that may soon need an answer.
func (r *Root) stock(p *peer) {
	is := !ample(p.last, p.load)
	if is != p.scant {
		p.scant = is
		if is {
			r.scant++
		} else {
			r.scant--
		}
	}
}

// count adds a rank's measurement to the sums, or takes it out.
func (r *Root) count(l Load, sign int) {
	if l.Item > 0 {
		r.timing += sign * l.Lanes
		r.timed += time.Duration(sign*l.Lanes) * l.Item
	}
}

// hold records that the rank has n more indices out, or fewer.
func (r *Root) hold(p *peer, n int64, pinned bool) {
	p.held += n
	r.held += n
	if !pinned {
		p.movable += n
	}
	r.weigh(p)
}

// surplus is how many unstarted items the rank may have to give back.
func (p *peer) surplus() int64 { return p.movable - int64(p.load.Lanes) }

// Crew is the number of healthy lanes of the other ranks, and how many of them
// the items that these ranks hold can keep busy.
func (r *Root) Crew() (lanes int, busy int64) { return r.lanes, r.busy }

// weigh keeps count of busy lanes and of the candidates of takeBack.
func (r *Root) weigh(p *peer) {
	busy := min(p.held, int64(p.load.Lanes))
	r.busy += busy - p.busy
	p.busy = busy
	is := !p.asked && worthMoving(p.surplus(), p.load)
	if is == p.counted {
		return
	}
	p.counted = is
	if is {
		r.candidates++
	} else {
		r.candidates--
	}
}

// setWaiting records whether the rank owes the answer to a Return notice.
func (r *Root) setWaiting(p *peer, is bool) {
	if is && !p.waiting {
		r.waiting++
	} else if !is && p.waiting {
		r.waiting--
	}
	p.waiting = is
}

// Outstanding returns the indices granted to the rank and not accounted for, as
// few ranges.
func (r *Root) Outstanding(rank int) []Range {
	var out []Range
	for _, g := range r.peers[rank].grants {
		for i := g.First; i < g.End; i++ {
			if g.has(i) {
				continue
			}
			if n := len(out); n > 0 && out[n-1].End == i {
				out[n-1].End++
			} else {
				out = append(out, Range{i, i + 1})
			}
		}
	}
	return out
}

// account marks indices of the rank as accounted for.
func (r *Root) account(rank int, rg Range, what string) error {
	p := &r.peers[rank]
	for rg.Len() > 0 {
		// An index that was given back may be in a later grant of the same rank.
		i := slices.IndexFunc(p.grants, func(g grant) bool { return g.First <= rg.First && rg.First < g.End && !g.has(rg.First) })
		if i < 0 {
			return fmt.Errorf("%s of rank %d for index %d, which it does not have", what, rank, rg.First)
		}
		g := &p.grants[i]
		end := g.mark(rg.First, min(rg.End, g.End))
		g.left -= end - rg.First
		r.hold(p, rg.First-end, g.pinned)
		rg.First = end
		if g.left == 0 {
			r.recycle(p, i)
		}
	}
	return nil
}

func (g *grant) has(i int64) bool {
	k := i - g.First
	return g.done[k/64]&(1<<(k%64)) != 0
}

// mark sets the bits of [first, end) up to the first that is set already, and
// returns the index of that or end.
func (g *grant) mark(first, end int64) int64 {
	lo, hi := first-g.First, end-g.First
	for lo < hi {
		n := min(64-lo%64, hi-lo)
		mask := (^uint64(0) >> (64 - n)) << (lo % 64)
		if set := g.done[lo/64] & mask; set != 0 {
			g.done[lo/64] |= mask & (set&-set - 1)
			return g.First + lo/64*64 + int64(bits.TrailingZeros64(set))
		}
		g.done[lo/64] |= mask
		lo += n
	}
	return end
}

func (r *Root) recycle(p *peer, i int) {
	r.spare = append(r.spare, p.grants[i].done)
	p.grants = slices.Delete(p.grants, i, i+1)
}

func (r *Root) bitmap(n int64) []uint64 {
	words := int((n + 63) / 64)
	if k := len(r.spare) - 1; k >= 0 {
		b := r.spare[k]
		r.spare = r.spare[:k]
		if cap(b) >= words {
			b = b[:words]
			clear(b)
			return b
		}
	}
	return make([]uint64, words)
}
