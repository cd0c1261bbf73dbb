package farm

import "slices"

// Local is how the root's own lanes fare. It is read at one instant.
type Local struct {
	Healthy int  // lanes that can still take items
	Idle    int  // of these, without an item
	Open    bool // the source may still push indices

	// Patient: lanes have been idle for long enough to evaluate copies.
	Patient bool
}

// Step decides what to do next. The effects are valid until the next call. Where
// indices are left after it, idle lanes of the root's own may have them.
func (r *Root) Step(own Local) []Effect {
	r.effects = r.effects[:0]
	if r.stopped {
		return nil
	}
	r.supersede()
	r.grant(own)
	r.checkLanes(own)
	r.notices()
	r.takeBack(own)
	r.copy(own)
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
		if p.load.Idle == 0 && r.q.Pinned() {
			return // it came back for the sake of an idle lane, and would not come back again
		}
		n := r.opts.Batch
		if n == 0 || p.load.Group {
			n = batchSize(left, p.load, r.lanes+own.Healthy, r.ranks, p.last)
		}
		seg, rg := r.q.ClaimRun(n)
		if seg == nil {
			return
		}
		r.hand(i, rg, seg.Pinned)
	}
}

// hand grants the range to the rank whose request is the k-th.
func (r *Root) hand(k int, rg Range, pinned bool) {
	rank := r.parked[k]
	p := &r.peers[rank]
	r.parked = slices.Delete(r.parked, k, k+1)
	if p.credit--; p.credit > 0 {
		r.parked = append(r.parked, rank)
	}
	woke := min(rg.Len(), int64(p.load.Idle))
	p.grants = append(p.grants, grant{rg, pinned, rg.Len(), r.bitmap(rg.Len()), woke})
	p.last = rg.Len()
	r.stock(p)
	p.load.Idle -= int(woke)
	p.asked = p.asked && pinned
	r.hold(p, rg.Len(), pinned)
	r.taken(rank, rg)
	r.Granted.add(rg.Len())
	r.effects = append(r.effects, Effect{Kind: Grant, Rank: rank, Range: rg, Pinned: pinned})
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
		if p.noticed <= limit || !slices.ContainsFunc(p.grants, func(g grant) bool { return r.q.key != nil || g.End > limit+1 }) {
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
// Who owes the answer to a Return notice holds nothing then: it answers with its
// last report, or before.
func (r *Root) stop(own Local) {
	if own.Idle < own.Healthy || own.Open || r.held > 0 || r.q.Left() > 0 {
		return
	}
	r.stopped = true
	for i := range r.peers {
		if i != r.opts.Me {
			r.effects = append(r.effects, Effect{Kind: Stop, Rank: i})
		}
	}
}
