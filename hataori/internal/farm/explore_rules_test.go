package farm

import (
	"fmt"
	"slices"
)

// The rules that TestExplore holds states and ends of a call to.

// idleKnown reports a rank that waits while the root does not know: when nothing is
// on its way and nobody has anything to say, it would wait until some item ends,
// and nobody would send it a copy or somebody else's items.
func (s *system) idleKnown() error {
	for r := range s.ranks {
		rs := &s.ranks[r]
		if len(rs.up)+len(rs.down)+len(rs.failed)+len(rs.dropped) > 0 || rs.cancelled != rs.told {
			return nil
		}
		if rs.w == nil {
			continue
		}
		healthy, idle := rs.count()
		rs.q.copyTo(s.probe.q)
		rs.w.copyTo(s.probe, s.probe.q)
		if _, say := s.probe.Step(Pulse{Lanes: healthy, Idle: idle, Finished: len(rs.finished) > 0, Item: s.c.item}); say {
			return nil
		}
	}
	for r := range s.ranks {
		rs := &s.ranks[r]
		if rs.w == nil || rs.w.aborted || rs.w.stopped || rs.q.Left() > 0 {
			continue
		}
		_, idle := rs.count()
		if p := &s.root.peers[r]; idle > 0 && (p.load.Idle == 0 || !slices.Contains(s.root.parked, r)) {
			return fmt.Errorf("rule: rank %d has %d idle lanes, and the root does not know", r, idle)
		}
	}
	return nil
}

func (s *system) done() bool {
	if !s.root.Done() {
		return false
	}
	for r := range s.ranks {
		if w := s.ranks[r].w; w != nil && !w.Done() {
			return false
		}
	}
	return true
}

// final checks the rules of a finished call.
func (s *system) final() error {
	for r := range s.ranks {
		rs := &s.ranks[r]
		if len(rs.up)+len(rs.down)+len(rs.finished)+len(rs.failed)+len(rs.dropped) > 0 || rs.q.Left() > 0 {
			return fmt.Errorf("rule 8: rank %d left something behind", r)
		}
		for _, l := range rs.lanes {
			if l >= 0 {
				return fmt.Errorf("rule 8: rank %d still evaluates item %d", r, l)
			}
		}
		if rs.w != nil && (rs.w.Held() != 0 || s.root.peers[r].held != 0) {
			return fmt.Errorf("rule 8: rank %d still holds items", r)
		}
	}
	if s.ended || s.c.first && s.failed != maxIndex {
		return nil
	}
	if s.c.copies > 0 {
		return s.finalCopies()
	}
	// The lowest failing item that can be reached decides. An item that cannot
	// be encoded fails only if it is sent.
	if s.failed != s.root.limit {
		return fmt.Errorf("rule 3: the root knows of failure %d, the lowest is %d", s.root.limit, s.failed)
	}
	for i := range s.ran {
		if s.c.key(int64(i)) < s.failed && (s.ran[i] != 1 || !s.result[i]) {
			return fmt.Errorf("rule 1, 2: item %d below the lowest failure %d: evaluated %d times, result %v", i, s.failed, s.ran[i], s.result[i])
		}
		if s.c.fail>>i&1 == 1 && s.c.key(int64(i)) < s.failed {
			return fmt.Errorf("rule 3: item %d fails, but %d was reported", i, s.failed)
		}
	}
	return nil
}

// finalCopies checks the rules of a finished call with copies: an item failed if
// every evaluation of it did, and the lowest such decides.
func (s *system) finalCopies() error {
	for i := range s.ran {
		k := s.c.key(int64(i))
		switch {
		case k < s.root.limit && !s.result[i]:
			return fmt.Errorf("rule 1: item %d, below the failure %d, has no result", i, s.root.limit)
		case k == s.root.limit && (s.fine>>i&1 == 1 || s.ran[i] == 0):
			return fmt.Errorf("rule 3: item %d counts as failed after %d evaluations, of which one did not fail", i, s.ran[i])
		}
	}
	return nil
}

// What the root sums up is what its peers have.
func (r *Root) checkSums() error {
	var lanes, ranks, waiting, candidates int
	var held int64
	for i := range r.peers {
		p := &r.peers[i]
		lanes += p.load.Lanes
		ranks += min(p.load.Lanes, 1)
		held += p.held
		var movable int64
		for _, g := range p.grants {
			if !g.pinned {
				movable += g.left
			}
		}
		if movable != p.movable {
			return fmt.Errorf("rank %d: %d indices are movable, counted %d", i, movable, p.movable)
		}
		if p.waiting {
			waiting++
		}
		if !p.asked && worthMoving(movable-int64(p.load.Lanes), p.load) {
			candidates++
		}
	}
	if lanes != r.lanes || ranks != r.ranks || held != r.held || waiting != r.waiting || candidates != r.candidates {
		return fmt.Errorf("%d lanes on %d ranks hold %d, %d waited for, %d candidates; summed up %d, %d, %d, %d, %d",
			lanes, ranks, held, waiting, candidates, r.lanes, r.ranks, r.held, r.waiting, r.candidates)
	}
	return nil
}
