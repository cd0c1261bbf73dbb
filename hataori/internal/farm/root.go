package farm

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"
)

const maxIndex = math.MaxInt64

// Nanoseconds turns a count into a duration; too large a one into the largest.
func Nanoseconds(ns uint64) time.Duration { return time.Duration(min(ns, math.MaxInt64)) }

// EffectKind says what the root's loop has to do.
type EffectKind uint8

const (
	// Grant: send the indices of Range to Rank. If only some of them could be
	// encoded the loop calls OnShrunk at once.
	Grant EffectKind = iota + 1
	// Notify: send the notice to Rank.
	Notify
	// Stop: tell Rank that nothing follows.
	Stop
)

// Effect is one thing to do, in the order in which Step returned them.
type Effect struct {
	Kind   EffectKind
	Rank   int
	Range  Range
	Pinned bool
	Notice NoticeKind
	N      int64
}

// Options of a [Root].
type Options struct {
	Me, Size  int
	Batch     int64 // fixed size of a grant, 0: automatic
	Lanes     int   // largest number of lanes of any rank, until they tell
	FirstSeen bool  // the first failure seen ends the call

}

// Root is the machine of the rank that holds the items. The Queue, which the
// root's own lanes claim from as well, holds the indices that nobody has.
//
// The caller feeds it with On… methods and then calls Step, whose effects it
// carries out in order. An error from an On… method is a broken protocol: the
// machine must not be used after it.
type Root struct {
	q       *Queue
	opts    Options
	peers   []peer // by rank; the root's own is unused
	parked  []int  // ranks whose requests wait, oldest first
	limit   int64
	aborted bool
	noLanes bool
	stopped bool
	byes    int
	effects []Effect
	spare   [][]uint64

	// Sums over the peers, so that a step costs the same for any number of them.
	lanes      int           // healthy lanes
	ranks      int           // ranks with lanes
	held       int64         // indices granted and not accounted for
	waiting    int           // ranks that have not answered a Return notice
	candidates int           // ranks that takeBack may ask
	timing     int           // lanes of the ranks that have measured their items
	timed      time.Duration // sum of the times per item of these lanes
	scanned    int64         // the limit that notices has gone through the ranks with

	// What was granted, for statistics.
	Granted Sizes
}

// Sizes counts grants.
type Sizes struct {
	Items, Batches     int64
	Smallest, Largest  int64
	ByPowerOfTwo       [24]int64
	Notices, TakenBack int64
}

func (s *Sizes) add(n int64) {
	if s.Batches == 0 || n < s.Smallest {
		s.Smallest = n
	}
	s.Largest = max(s.Largest, n)
	s.Items += n
	s.Batches++
	s.ByPowerOfTwo[min(bits.Len64(uint64(n))-1, len(s.ByPowerOfTwo)-1)]++
}

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
	gone    bool
}

// grant remembers which of its indices are accounted for.
type grant struct {
	Range
	pinned bool
	left   int64
	done   []uint64
}

// NewRoot returns the machine of the root over the queue of all indices.
func NewRoot(q *Queue, opts Options) *Root {
	r := &Root{q: q, opts: opts, peers: make([]peer, opts.Size), limit: maxIndex, scanned: maxIndex}
	for i := range r.peers {
		r.peers[i].noticed = maxIndex
		if i != opts.Me {
			r.setLoad(&r.peers[i], Load{Lanes: opts.Lanes})
		}
	}
	return r
}

// setLoad records how a rank fares.
func (r *Root) setLoad(p *peer, l Load) {
	r.lanes += l.Lanes - p.load.Lanes
	r.ranks += min(l.Lanes, 1) - min(p.load.Lanes, 1)
	r.count(p.load, -1)
	r.count(l, 1)
	p.load = l
	r.weigh(p)
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

// weigh keeps count of the candidates of takeBack.
func (r *Root) weigh(p *peer) {
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

// Limit is the lowest failing index known, or −1 once the call was aborted.
func (r *Root) Limit() int64 {
	if r.aborted {
		return -1
	}
	return r.limit
}

// Done reports whether every other rank has said good-bye.
func (r *Root) Done() bool { return r.stopped && r.byes == r.opts.Size-1 }

// NoLanes reports whether indices are left that no healthy lane anywhere can
// evaluate. The call was aborted then.
func (r *Root) NoLanes() bool { return r.noLanes }

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

// OnFinished takes in that the rank evaluated the indices of rg.
func (r *Root) OnFinished(rank int, rg Range) error {
	return r.account(rank, rg, "result")
}

// OnReport takes in the rest of a rank's report, after its results.
func (r *Root) OnReport(rank int, rep Report) error {
	p := &r.peers[rank]
	if p.gone {
		return fmt.Errorf("report of rank %d after its last", rank)
	}
	for _, i := range rep.Failed {
		if err := r.account(rank, Range{i, i + 1}, "failure"); err != nil {
			return err
		}
		p.noticed = min(p.noticed, i)
		r.OnFailed(i)
	}
	if rep.Abort {
		p.noticed = -1
		r.OnAbort()
	}
	for _, d := range rep.Dropped {
		if d.First <= r.Limit() && d.Len() > 0 {
			return fmt.Errorf("rank %d dropped index %d, which is wanted", rank, d.First)
		}
		if err := r.account(rank, d, "drop"); err != nil {
			return err
		}
	}
	for _, b := range rep.Back {
		if err := r.account(rank, b, "return"); err != nil {
			return err
		}
		r.Granted.TakenBack += b.Len()
		r.q.Push(b, true, nil)
	}
	if rep.Want < 0 || rep.Load.Lanes < 0 || rep.Load.Idle < 0 {
		return fmt.Errorf("rank %d asks for %d grants with %d lanes, %d idle", rank, rep.Want, rep.Load.Lanes, rep.Load.Idle)
	}
	p.heard = true
	r.setLoad(p, rep.Load)
	if rep.Returned {
		r.setWaiting(p, false)
		// There may be more where that came from. What comes back is pinned, so
		// this ends.
		p.asked = p.asked && len(rep.Back) == 0
		r.weigh(p)
	}
	if rep.Load.Lanes > 0 {
		r.park(rank, rep.Want)
	} else if p.credit > 0 {
		p.credit = 0
		r.parked = slices.DeleteFunc(r.parked, func(k int) bool { return k == rank })
	}
	if rep.Bye {
		if !r.stopped || p.held > 0 {
			return fmt.Errorf("rank %d left with %d items out", rank, p.held)
		}
		p.gone = true
		r.byes++
	}
	return nil
}

func (r *Root) park(rank, want int) {
	if want > 0 && r.peers[rank].credit == 0 {
		r.parked = append(r.parked, rank)
	}
	r.peers[rank].credit += want
}

// OnShrunk takes in that only the indices below cut of the grant just made to
// the rank were sent.
func (r *Root) OnShrunk(rank int, g Range, cut int64) {
	p := &r.peers[rank]
	i := slices.IndexFunc(p.grants, func(o grant) bool { return o.Range == g })
	last := &p.grants[i]
	n := g.End - cut
	last.End, last.left = cut, last.left-n
	r.hold(p, -n, last.pinned)
	p.last -= n
	r.Granted.Items -= n
	pinned := last.pinned
	if last.left == 0 {
		r.Granted.Batches--
		r.recycle(p, i)
		r.park(rank, 1)
	}
	r.q.Push(Range{cut, g.End}, pinned, nil)
}

// OnFailed takes in that the index failed, on this rank or another.
func (r *Root) OnFailed(index int64) {
	if index < r.limit {
		r.limit = index
		r.q.Clip(index)
	}
	if r.opts.FirstSeen {
		r.OnAbort()
	}
}

// OnAbort takes in that nothing needs to be evaluated any more.
func (r *Root) OnAbort() {
	r.aborted = true
	r.q.Clip(0)
	r.q.SetOpen(false)
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

// Local is how the root's own lanes fare. It is read at one instant.
type Local struct {
	Healthy int  // lanes that can still take items
	Idle    int  // of these, without an item
	Open    bool // the source may still push indices
}

// Step decides what to do next. The effects are valid until the next call. Where
// indices are left after it, idle lanes of the root's own may have them.
func (r *Root) Step(own Local) []Effect {
	r.effects = r.effects[:0]
	if r.stopped {
		return nil
	}
	r.grant(own)
	r.checkLanes(own)
	r.notices()
	r.takeBack(own)
	r.stop(own)
	return r.effects
}

// next is the place among the parked requests of the one to serve: the oldest
// of a rank with an idle lane, else the oldest.
func (r *Root) next() int {
	for i, rank := range r.parked {
		if r.peers[rank].load.Idle > 0 {
			return i
		}
	}
	return 0
}

// grant serves parked requests.
func (r *Root) grant(own Local) {
	for len(r.parked) > 0 {
		left := r.q.Left()
		if left == 0 {
			return
		}
		i := r.next()
		rank := r.parked[i]
		p := &r.peers[rank]
		if p.load.Idle == 0 && int64(own.Idle) >= left {
			return // the root's own lanes will have them
		}
		n := r.opts.Batch
		if n == 0 || p.load.Group {
			n = batchSize(left, p.load, r.lanes+own.Healthy, r.ranks, p.last)
		}
		seg, rg := r.q.ClaimRun(n)
		if seg == nil {
			return
		}
		pinned := seg.Pinned
		r.parked = slices.Delete(r.parked, i, i+1)
		if p.credit--; p.credit > 0 {
			r.parked = append(r.parked, rank)
		}
		p.grants = append(p.grants, grant{rg, pinned, rg.Len(), r.bitmap(rg.Len())})
		p.last = rg.Len()
		p.load.Idle -= int(min(rg.Len(), int64(p.load.Idle)))
		p.asked = p.asked && pinned
		r.hold(p, rg.Len(), pinned)
		r.Granted.add(rg.Len())
		r.effects = append(r.effects, Effect{Kind: Grant, Rank: rank, Range: rg, Pinned: pinned})
	}
}

// checkLanes ends the call when indices are left and nobody can take them.
func (r *Root) checkLanes(own Local) {
	if own.Healthy > 0 || r.aborted || r.q.Left() == 0 {
		return
	}
	for i := range r.peers {
		if p := &r.peers[i]; i != r.opts.Me && (!p.heard || p.load.Lanes > 0) {
			return
		}
	}
	r.noLanes = true
	r.OnAbort()
}

// notices tells ranks that work above the limit what the limit is.
func (r *Root) notices() {
	limit := r.Limit()
	if limit == r.scanned {
		return // what was granted since then is below it
	}
	r.scanned = limit
	for i := range r.peers {
		p := &r.peers[i]
		if p.noticed <= limit || !slices.ContainsFunc(p.grants, func(g grant) bool { return g.End > limit+1 }) {
			continue
		}
		p.noticed = limit
		e := Effect{Kind: Notify, Rank: i, Notice: CancelAbove, N: limit}
		if r.aborted {
			e.Notice, e.N = Abort, 0
		}
		r.Granted.Notices++
		r.effects = append(r.effects, e)
	}
}

// takeBack asks the rank with most in store for unstarted items when lanes are
// idle and nothing is left to hand out.
func (r *Root) takeBack(own Local) {
	if r.aborted || r.candidates == 0 || r.waiting > 0 || r.q.Left() > 0 {
		return // while one is waited for: its answer may be enough
	}
	idle := own.Idle + r.idle()
	if idle == 0 {
		return
	}
	best, most := -1, int64(0)
	for i := range r.peers {
		if p := &r.peers[i]; p.counted && p.surplus() > most {
			best, most = i, p.surplus()
		}
	}
	p := &r.peers[best]
	p.asked = true
	r.setWaiting(p, true)
	r.weigh(p)
	r.Granted.Notices++
	r.effects = append(r.effects, Effect{Kind: Notify, Rank: best, Notice: Return, N: int64(idle)})
}

// stop ends the work once no index can become runnable any more.
func (r *Root) stop(own Local) {
	if own.Idle < own.Healthy || own.Open || r.held > 0 || r.waiting > 0 || r.q.Left() > 0 {
		return
	}
	r.stopped = true
	for i := range r.peers {
		if i != r.opts.Me {
			r.effects = append(r.effects, Effect{Kind: Stop, Rank: i})
		}
	}
}

// clone copies the machine onto a copy of its queue, for tests.
func (r *Root) clone() *Root {
	c := *r
	c.q = r.q.clone()
	c.peers = slices.Clone(r.peers)
	for i := range c.peers {
		c.peers[i].grants = slices.Clone(c.peers[i].grants)
		for j := range c.peers[i].grants {
			c.peers[i].grants[j].done = slices.Clone(c.peers[i].grants[j].done)
		}
	}
	c.parked, c.effects, c.spare = slices.Clone(r.parked), nil, nil
	return &c
}
