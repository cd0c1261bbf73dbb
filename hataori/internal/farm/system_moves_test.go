package farm

import "fmt"

// What happens to a system, move by move.

func (s *system) claim(r, l int) error {
	rs := &s.ranks[r]
	seg, i := rs.q.Claim()
	if seg == nil {
		return fmt.Errorf("rule: %d indices left and none to claim", rs.q.Left())
	}
	if s.c.key(i) > rs.limit || rs.needless>>i&1 == 1 {
		return s.drop(r, i)
	}
	rs.lanes[l] = i
	if s.ran[i]++; int(s.ran[i]) > 1+s.c.copies {
		return fmt.Errorf("rule 2: item %d evaluated %d times", i, s.ran[i])
	}
	return nil
}

func (s *system) drop(r int, i int64) error {
	rs := &s.ranks[r]
	s.lost |= 1 << i
	if s.c.copies > 0 && (s.c.key(i) > s.root.limit || s.result[i]) {
		// It is above a failure that the root has judged, or done.
	} else if s.c.key(i) < s.failed && !s.ended && !s.c.first {
		return fmt.Errorf("rule 3: item %d dropped, lowest failure so far is %d", i, s.failed)
	}
	if rs.w != nil {
		rs.dropped = append(rs.dropped, Range{i, i + 1})
	}
	return nil
}

func (s *system) finish(r, l int) error {
	rs := &s.ranks[r]
	i := rs.lanes[l]
	if rs.lanes[l] = idleLane; s.c.late {
		rs.lanes[l] = lateLane
	}
	switch {
	case s.c.copies > 0 && s.c.failOn[r]>>i&1 == 1:
		rs.failed = append(rs.failed, i)
	case s.c.fail&(1<<i) != 0:
		s.failed = min(s.failed, s.c.key(i))
		rs.failed = append(rs.failed, i)
		rs.limit = min(rs.limit, s.c.key(i))
		if s.c.first {
			rs.limit = -1
		}
		if rs.w == nil {
			rs.q.Clip(max(rs.limit, 0))
		}
	case rs.w == nil:
		s.result[i] = true
	default:
		s.fine |= 1 << i
		rs.finished = append(rs.finished, i)
	}
	return nil
}

func (s *system) stepWorker(r int, flush bool) error {
	rs := &s.ranks[r]
	w := rs.w
	for _, i := range rs.failed {
		w.OnFailedKey(i, s.c.key(i), s.c.first)
	}
	for _, d := range rs.dropped {
		w.OnDropped(d)
	}
	rs.failed, rs.dropped = nil, nil
	if rs.cancelled && !rs.told {
		rs.told = true
		w.OnAbort()
	}
	rs.limit = min(rs.limit, w.Limit())
	healthy, idle := rs.count()
	rep, say := w.Step(Pulse{Lanes: healthy, Idle: idle, Finished: len(rs.finished) > 0, Flush: flush, Item: s.c.item})
	if !say {
		return nil
	}
	w.OnFinished(int64(len(rs.finished)))
	if w.held < 0 {
		return fmt.Errorf("rule: rank %d holds %d items", r, w.held)
	}
	rs.up = append(rs.up, upMsg{rs.finished, rep})
	rs.finished = nil
	return nil
}

func (s *system) deliverUp(r int) error {
	rs := &s.ranks[r]
	m := rs.up[0]
	rs.up = rs.up[1:]
	for _, i := range m.finished {
		if err := s.root.OnResults(r, Range{i, i + 1}); err != nil {
			return err
		}
		s.result[i] = true
	}
	return s.root.OnReport(r, m.rep)
}

func (s *system) deliverDown(r int) error {
	rs := &s.ranks[r]
	m := rs.down[0]
	rs.down = rs.down[1:]
	var err error
	switch {
	case m.stop:
		err = rs.w.OnStop()
	case m.notice != 0:
		if m.notice == Superseded {
			rs.needless |= 1 << m.n
		}
		err = rs.w.OnNotice(m.notice, m.n)
	default:
		err = rs.w.OnGrant(m.grant, m.pinned, nil)
	}
	rs.limit = min(rs.limit, rs.w.Limit())
	return err
}

func (s *system) stepRoot(cut, patient bool) error {
	rs := &s.ranks[s.c.root]
	for _, i := range rs.failed {
		s.root.OnFailed(s.c.key(i))
	}
	rs.failed = nil
	if rs.cancelled && !rs.told {
		rs.told = true
		s.root.OnAbort()
	}
	healthy, idle := rs.count()
	effects := s.root.Step(Local{Healthy: healthy, Idle: idle, Open: rs.q.Open(), Patient: patient})
	if err := s.root.checkSums(); err != nil {
		return err
	}
	s.ended = s.ended || s.root.NoLanes()
	for _, e := range effects {
		if err := s.effect(e, cut); err != nil {
			return err
		}
	}
	rs.limit = min(rs.limit, s.root.Limit())
	if len(effects) == 0 {
		return s.idleKnown()
	}
	return nil
}

func (s *system) effect(e Effect, cut bool) error {
	rs := &s.ranks[e.Rank]
	switch e.Kind {
	case Stop:
		rs.down = append(rs.down, downMsg{stop: true})
		lowest := s.failed
		if s.c.copies > 0 {
			lowest = s.root.limit
		}
		for i := range s.ran {
			if !s.result[i] && s.c.fail>>i&1 == 0 && s.c.key(int64(i)) < lowest && !s.ended && !s.c.first {
				return fmt.Errorf("rule: stop while item %d is missing", i)
			}
		}
	case Notify:
		rs.down = append(rs.down, downMsg{notice: e.Notice, n: e.N})
	case Grant:
		end := e.Range.End
		if cut && e.Range.Len() > 1 {
			end = e.Range.First + 1
		}
		bad := int64(-1)
		for i := e.Range.First; i < end && bad < 0; i++ {
			if s.c.badEncode&(1<<i) != 0 {
				bad, end = i, i
			}
		}
		if end < e.Range.End {
			s.root.OnShrunk(e.Rank, e.Range, end)
		}
		if bad >= 0 {
			s.failed = min(s.failed, s.c.key(bad))
			s.ranks[s.c.root].failed = append(s.ranks[s.c.root].failed, bad)
			s.root.OnFailed(s.c.key(bad))
		}
		if end > e.Range.First {
			rs.down = append(rs.down, downMsg{grant: Range{e.Range.First, end}, pinned: e.Pinned})
		}
	}
	return nil
}
