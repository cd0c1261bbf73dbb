package trace

import "time"

// Recording collects calls, for Options.Trace of package hataori. The zero value
// is ready. It serves one call at a time.
type Recording struct {
	// Spans bounds the spans kept of each lane. 0: 4096, less where the lanes
	// of all ranks together would keep more than two million. Of a value below
	// 16, 16 are kept.
	Spans int

	// Calls that were recorded, in their order. On a rank that is not the root
	// they hold that rank alone, by its own clock.
	Calls []*Call
}

// Call is what one call did.
type Call struct {
	Kind    string // PmapLanes, PmapStream
	Number  uint64 // of the call on its world
	Root    int
	Began   time.Time     // by the root's clock
	Elapsed time.Duration // from the beginning of the work to its end on all ranks
	Error   string        // why it ended early, or empty

	Batches int           // messages with items
	Stalls  int           // of PmapStream: times that the source waited for the window
	Stalled time.Duration // how long, together

	Ranks []Rank // rising
}

// Rank is what one rank did.
type Rank struct {
	Rank  int
	Host  string
	CPUs  []int // processors that the process may use, rising; nil if the system does not tell
	Procs int   // GOMAXPROCS

	CPU         time.Duration // processor time of the whole process, during the call
	Coordinator time.Duration // time in which the coordinator had something to do
	Messages    int           // sent and received
	Sent        int64         // bytes
	Received    int64
	ClockError  time.Duration // largest error of this rank's times against the root's

	Lanes []Lane
}

// Lane is what one lane did: spans in the order of time, which do not overlap.
type Lane struct {
	Spans []Span
}

// Span is a stretch of time in which a lane had items.
type Span struct {
	Start, End time.Duration // since the beginning of the work
	Busy       time.Duration // less than End − Start if short waits lie inside
	Items      int64

	// Longest is the time of the longest item that was timed by itself, Index
	// that item. If none was, Longest is 0 and Index the last item, −1 if that is
	// not known.
	Longest time.Duration
	Index   int64

	Failed      int64 // items that failed
	FailedIndex int64 // the lowest of them
}

// join adds the span that follows.
func (s *Span) join(t *Span) {
	s.End = t.End
	s.Busy += t.Busy
	s.Items += t.Items
	if t.Longest > s.Longest || s.Longest == 0 {
		s.Longest, s.Index = t.Longest, t.Index
	}
	if t.Failed > 0 && (s.Failed == 0 || t.FailedIndex < s.FailedIndex) {
		s.FailedIndex = t.FailedIndex
	}
	s.Failed += t.Failed
}

const (
	defaultSpans = 4096
	leastSpans   = 16
	mostSpans    = 1 << 21
)

// PerLane is the bound that holds for each of so many lanes.
func (r *Recording) PerLane(lanes int) int {
	n := r.Spans
	if n == 0 {
		n = min(defaultSpans, mostSpans/max(lanes, 1))
	}
	return max(n, leastSpans)
}

// Recorder keeps the spans of one lane in a buffer of fixed size. It is for
// schedulers, and for one goroutine.
type Recorder struct {
	spans []Span
	grain time.Duration // neighbours are joined that together are not longer
}

// NewRecorder returns a recorder of at most so many spans, at least 16.
func NewRecorder(spans int) *Recorder {
	return &Recorder{spans: make([]Span, 0, max(spans, leastSpans))}
}

// Add records a span, which must not begin before the end of the last one.
func (r *Recorder) Add(s Span) {
	if n := len(r.spans); n > 0 && s.End-r.spans[n-1].Start <= r.grain {
		r.spans[n-1].join(&s)
		return
	}
	if len(r.spans) == cap(r.spans) {
		r.thin(s.End)
	}
	r.spans = append(r.spans, s)
}

// thin frees half of the buffer. Two neighbours that were not joined are
// together longer than the grain, a quarter of the capacity of which covers the
// time so far: no more than half of the capacity are left.
func (r *Recorder) thin(now time.Duration) {
	whole := now - r.spans[0].Start
	r.grain = max(whole/time.Duration(cap(r.spans)/4), 2*r.grain, 1)
	kept := r.spans[:1]
	for i := 1; i < len(r.spans); i++ {
		last := &kept[len(kept)-1]
		if r.spans[i].End-last.Start <= r.grain {
			last.join(&r.spans[i])
		} else {
			kept = append(kept, r.spans[i])
		}
	}
	r.spans = kept
}

// Spans returns what was recorded. It is valid until the next Add.
func (r *Recorder) Spans() []Span { return r.spans }
