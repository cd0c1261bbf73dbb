package farm

import (
	"fmt"
	"time"
)

// NoticeKind says what a notice asks of a rank.
type NoticeKind uint8

const (
	// CancelAbove: indices above the number need not be evaluated.
	CancelAbove NoticeKind = iota + 1
	// Return: ranks with that many idle lanes would like unstarted items.
	Return
	// Abort: nothing needs to be evaluated any more.
	Abort
	// Superseded: the index has its result from elsewhere.
	Superseded
)

// Report is what a rank tells the root, besides the results themselves.
type Report struct {
	Want     int     // further grants it can take now
	Load     Load    // how it fares
	Failed   []int64 // indices that failed, each accounted for by this
	Dropped  []Range // indices that were not finished and need not be
	Back     []Range // unstarted indices that go back to the root
	Returned bool    // this answers a Return notice
	Abort    bool    // the rank's context was cancelled or its executor failed
	Bye      bool    // nothing follows
}

// Pulse is what a rank's loop has seen since the last step of its machine.
type Pulse struct {
	Lanes    int           // healthy lanes
	Idle     int           // of these, without an item
	Finished bool          // results wait to be reported
	Flush    bool          // they have waited long enough, or are large enough
	Item     time.Duration // measured time per item and lane
}

// Worker is the machine of a rank that is not the root. The Queue holds the
// granted indices that no lane has claimed.
//
// The caller feeds it with On… methods, then calls Step and sends the report
// that comes out, before anything else of the same rank.
type Worker struct {
	q      *Queue
	batch  int64 // fixed size of a grant, 0: chosen by the root
	depth  int   // grants to ask for ahead, 0: chosen here
	group  bool  // it speaks for a group of ranks
	defers bool  // the root judges failures

	asked   int   // grants asked for and not received
	last    int64 // size of the last one
	low     int64 // indices in store below which it asks; negative: that is not known
	held    int64 // indices granted and not yet accounted for
	limit   int64
	aborted bool
	stopped bool

	tellAbort bool
	lanesTold int
	idleTold  int  // idle lanes that the root knows of, less what it granted since
	answer    bool // a Return notice wants its answer
	failed    []int64
	dropped   []Range
	back      []Range
	byed      bool
}

// NewWorker returns the machine of a rank with an empty queue.
func NewWorker(q *Queue, batch int64, depth int) *Worker {
	return &Worker{q: q, batch: batch, depth: depth, low: -1, limit: maxIndex, lanesTold: -1}
}

// Defer leaves it to the root whether a failure here is one of the index: there may
// be copies of it.
func (w *Worker) Defer() { w.defers = true }

// Limit is the lowest failing index known here; higher ones need not be
// evaluated. It is -1 once the call was aborted.
func (w *Worker) Limit() int64 {
	if w.aborted {
		return -1
	}
	return w.limit
}

// Done reports whether the last report has been made.
func (w *Worker) Done() bool { return w.byed }

// Expects reports whether grants that were asked for have not come.
func (w *Worker) Expects() bool { return w.asked > 0 }

// Enough is the number of indices in store above which the rank neither has to ask nor
// waits for an answer: the largest number if it does.
func (w *Worker) Enough() int64 {
	if w.asked > 0 || w.low < 0 {
		return maxIndex
	}
	return w.low
}

// Held is the number of indices granted and not accounted for in a report.
func (w *Worker) Held() int64 { return w.held }

// OnGrant takes in the indices of r, which come with load.
func (w *Worker) OnGrant(r Range, pinned bool, load any) error {
	switch {
	case w.asked == 0:
		return fmt.Errorf("grant of [%d, %d) that was not asked for", r.First, r.End)
	case w.stopped:
		return fmt.Errorf("grant of [%d, %d) after the stop", r.First, r.End)
	case r.First < 0 || r.Len() == 0:
		return fmt.Errorf("grant of the empty range [%d, %d)", r.First, r.End)
	}
	w.asked--
	w.last = r.Len()
	w.held += r.Len()
	w.idleTold -= int(min(r.Len(), int64(w.idleTold)))
	w.dropped = append(w.dropped, w.q.Push(r, pinned, load)...)
	return nil
}

// OnStop takes in that no index can become runnable any more.
func (w *Worker) OnStop() error {
	if w.stopped {
		return fmt.Errorf("a second stop")
	}
	if w.held > 0 {
		return fmt.Errorf("stop while %d items are out", w.held)
	}
	w.stopped = true
	return nil
}

// OnNotice takes in a notice of the root.
func (w *Worker) OnNotice(kind NoticeKind, n int64) error {
	switch kind {
	case CancelAbove:
		w.lower(n)
	case Abort:
		w.abort()
	case Superseded:
		if w.q.Take(n) {
			w.dropped = append(w.dropped, Range{n, n + 1})
		}
	case Return:
		w.answer = true
		w.back = append(w.back, w.q.GiveBack(w.portion(n), false)...)
	default:
		return fmt.Errorf("notice of unknown kind %d", kind)
	}
	return nil
}

// portion is how much of what can move goes to idle lanes elsewhere, so that
// all lanes get the same.
func (w *Worker) portion(idle int64) int64 {
	n := w.q.Movable()
	lanes := int64(max(w.lanesTold, 0))
	return min(n, max((n*idle+idle+lanes-1)/max(idle+lanes, 1), 1))
}

// OnFailed takes in that the index, which is its own key, failed here.
func (w *Worker) OnFailed(index int64, firstSeen bool) { w.OnFailedKey(index, index, firstSeen) }

// OnFailedKey takes in that the index with the key failed here.
func (w *Worker) OnFailedKey(index, key int64, firstSeen bool) {
	w.failed = append(w.failed, index)
	w.held--
	if w.defers {
		return
	}
	w.lower(key)
	if firstSeen {
		w.abort()
	}
}

// OnFinished takes in that n indices were evaluated; their results go with the
// next report.
func (w *Worker) OnFinished(n int64) { w.held -= n }

// OnDropped takes in that a lane gave up or skipped the indices.
func (w *Worker) OnDropped(r Range) { w.dropped = append(w.dropped, r) }

// OnAbort takes in that the rank's context was cancelled or that its executor
// failed.
func (w *Worker) OnAbort() {
	if !w.aborted {
		w.tellAbort = true
	}
	w.abort()
}

func (w *Worker) lower(limit int64) {
	if limit < w.limit {
		w.limit = limit
		w.dropped = append(w.dropped, w.q.Clip(limit)...)
	}
}

func (w *Worker) abort() {
	w.aborted = true
	w.dropped = append(w.dropped, w.q.Clip(0)...)
}

// Step decides whether the rank has something to say.
func (w *Worker) Step(p Pulse) (Report, bool) {
	if w.byed {
		return Report{}, false
	}
	if p.Lanes == 0 {
		w.back = append(w.back, w.q.GiveBack(maxIndex, true)...)
	}
	load := Load{Lanes: p.Lanes, Idle: p.Idle, Item: p.Item, Group: w.group}
	want := w.want(load)
	say := want > 0 || w.tellAbort || w.answer || len(w.failed) > 0 || len(w.back) > 0 ||
		p.Lanes != w.lanesTold || p.Finished && (p.Flush || p.Idle == p.Lanes || p.Idle > 0 && !w.group) ||
		len(w.dropped) > 0 && (p.Idle == p.Lanes || p.Flush) ||
		p.Idle > 0 && w.idleTold == 0 && w.asked > 0 && w.q.Left() == 0 && !w.aborted // it asked when all were busy
	bye := w.stopped
	if !say && !bye {
		return Report{}, false
	}
	for _, r := range w.dropped {
		w.held -= r.Len()
	}
	for _, r := range w.back {
		w.held -= r.Len()
	}
	r := Report{Want: want, Load: load, Failed: w.failed, Dropped: w.dropped, Back: w.back,
		Returned: w.answer, Abort: w.tellAbort, Bye: bye}
	w.asked += want
	w.failed, w.dropped, w.back = nil, nil, nil
	w.answer, w.tellAbort, w.byed, w.lanesTold, w.idleTold = false, false, bye, p.Lanes, p.Idle
	return r, true
}

// want is the number of grants to ask for now.
func (w *Worker) want(of Load) int {
	w.low = -1
	if w.aborted || w.stopped || of.Lanes == 0 {
		return 0
	}
	stored := w.q.Left()
	low := lowWater(of, w.last)
	if w.depth == 1 {
		low = int64(min(of.Idle, 1))
	}
	if ample(w.last, of) {
		w.low = low
	}
	if w.depth == 1 || w.batch == 0 {
		if w.asked == 0 && stored < low {
			return 1
		}
		return 0
	}
	most := maxAsked
	if w.depth > 0 {
		most = w.depth
	}
	missing := max(low, int64(of.Idle)) - stored - int64(w.asked)*w.batch
	if missing <= 0 {
		return 0
	}
	return min(int((missing+w.batch-1)/w.batch), most-w.asked)
}
