package farm

import "time"

// Relay is the machine of a rank that stands between the root and a group of
// ranks, so that the root hears of the group as of one rank with many lanes. To
// the root it is a [Worker], to its group a [Root] over the same Queue, whose
// source are the root's grants; the relay's own lanes claim from it as well. What
// holds for a call holds through it: the limit and its notices go both ways, an
// index is where exactly one of the machines accounts for it, and the group is
// stopped when the root says so.
//
// The caller feeds it with On… methods and then calls Step, carries out the
// effects and sends the report that comes out, in this order. The indices in the
// queue come without their encoded items: the caller keeps the bytes of a grant
// until its last index is accounted for, because unstarted ones may come back
// from one rank of the group and go to another.
type Relay struct {
	q         *Queue
	up        *Worker
	down      *Root
	firstSeen bool
}

// NewRelay returns the machine of a relay with an empty queue. Options are those
// of its group, in which Me is the relay itself; Batch is the fixed size of the
// grants to its group.
func NewRelay(q *Queue, opts Options) *Relay {
	q.SetOpen(true)
	r := &Relay{q: q, up: NewWorker(q, 0, 0), down: NewRoot(q, opts), firstSeen: opts.FirstSeen}
	r.up.group = true
	return r
}

// Limit is the lowest failing index known here, or −1 once the call was aborted.
func (r *Relay) Limit() int64 { return r.up.Limit() }

// Done reports whether the group is gone and the last report has been made.
func (r *Relay) Done() bool { return r.up.Done() }

// Outstanding returns the indices granted to a rank of the group and not
// accounted for.
func (r *Relay) Outstanding(rank int) []Range { return r.down.Outstanding(rank) }

// Dry is as [Root.Dry] for a rank of the group.
func (r *Relay) Dry(rank int) time.Duration { return r.down.Dry(rank) }

// OnGrant takes in a grant of the root.
func (r *Relay) OnGrant(g Range, pinned bool) error { return r.up.OnGrant(g, pinned, nil) }

// OnStop takes in that no index can become runnable any more.
func (r *Relay) OnStop() error {
	if err := r.up.OnStop(); err != nil {
		return err
	}
	r.q.SetOpen(false)
	return nil
}

// OnNotice takes in a notice of the root.
func (r *Relay) OnNotice(kind NoticeKind, n int64) error {
	// The worker's machine goes first throughout: it accounts for what is
	// clipped from the queue, which the root's machine would forget.
	if err := r.up.OnNotice(kind, n); err != nil {
		return err
	}
	switch kind {
	case CancelAbove:
		r.down.OnFailed(n)
	case Abort:
		r.down.OnAbort()
	}
	return nil
}

// OnFailed takes in that the index failed on one of the relay's own lanes.
func (r *Relay) OnFailed(index int64) {
	key := r.q.Key(nil, index)
	r.up.OnFailedKey(index, key, r.firstSeen)
	r.down.OnFailed(key)
}

// OnDropped takes in that one of the relay's own lanes gave up or skipped the
// indices.
func (r *Relay) OnDropped(g Range) { r.up.OnDropped(g) }

// OnAbort takes in that the relay's context was cancelled. Its executor's
// failure is the same.
func (r *Relay) OnAbort() {
	r.up.OnAbort()
	r.down.OnAbort()
}

// OnResults takes in that a rank of the group evaluated the indices of rg. The
// caller keeps their results for its next report.
func (r *Relay) OnResults(rank int, rg Range) error { return r.down.OnResults(rank, rg) }

// OnReport takes in the rest of the report of a rank of the group.
func (r *Relay) OnReport(rank int, rep Report) error {
	for _, i := range rep.Failed {
		r.up.OnFailedKey(i, r.q.Key(nil, i), r.firstSeen)
	}
	if rep.Abort {
		r.up.OnAbort()
	}
	for _, d := range rep.Dropped {
		r.up.OnDropped(d)
	}
	for _, b := range rep.Back {
		r.refused(b)
	}
	return r.down.OnReport(rank, rep)
}

// refused accounts for indices that come back and that the queue will not take.
func (r *Relay) refused(b Range) {
	for _, d := range r.q.From(max(r.up.Limit(), 0), b, nil) {
		r.up.OnDropped(d)
	}
}

// OnShrunk takes in that only the indices below cut of the grant just made to a
// rank of the group were sent.
func (r *Relay) OnShrunk(rank int, g Range, cut int64) {
	r.refused(Range{cut, g.End})
	r.down.OnShrunk(rank, g, cut)
}

// OnFinished takes in that the results of n indices, the group's and the relay's
// own, go with the report that Step has just returned.
func (r *Relay) OnFinished(n int64) { r.up.OnFinished(n) }

// Step decides what to tell the group and whether there is something to say to
// the root. The pulse is that of the relay's own lanes; results of the group
// that wait to be reported count as Finished.
func (r *Relay) Step(own Pulse) (effects []Effect, rep Report, say bool) {
	if own.Lanes+r.down.lanes == 0 {
		// Nobody here can take what is in the queue.
		rep, say = r.report(own)
		return r.down.Step(r.local(own)), rep, say
	}
	effects = r.down.Step(r.local(own))
	rep, say = r.report(own)
	return effects, rep, say
}

func (r *Relay) local(own Pulse) Local {
	return Local{Healthy: own.Lanes, Idle: own.Idle, Open: r.q.Open()}
}

// report lets the worker's machine speak for the group. Its last word comes after
// everybody else's.
func (r *Relay) report(own Pulse) (Report, bool) {
	if r.up.stopped && !r.down.Done() {
		return Report{}, false
	}
	p := own
	p.Lanes += r.down.lanes
	// Own lanes may have what is left in the queue.
	p.Idle = int(max(int64(own.Idle)-r.q.Left(), 0)) + r.down.idle()
	p.Item = r.down.item(own)
	return r.up.Step(p)
}

// idle is the number of idle lanes whose ranks wait for a grant.
func (r *Root) idle() (n int) {
	for _, rank := range r.parked {
		n += r.peers[rank].load.Idle
	}
	return n
}

// item is the mean time per item of the lanes that have measured it.
func (r *Root) item(own Pulse) time.Duration {
	sum, lanes := r.timed, r.timing
	if own.Item > 0 {
		sum += own.Item * time.Duration(own.Lanes)
		lanes += own.Lanes
	}
	return sum / time.Duration(max(lanes, 1))
}
