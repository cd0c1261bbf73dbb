package hataori

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/trace"
)

// Codec turns values into bytes and back, for [Options.Codec]. The methods are
// called concurrently.
type Codec interface {
	// Name tells codecs apart: it must be the same on all ranks.
	Name() string

	// Append appends the encoding of *v to dst, v being a *T.
	Append(dst []byte, v any) ([]byte, error)

	// Decode sets *v, v being a *T that points to a zero value, from the whole
	// of src, which it must not keep.
	Decode(src []byte, v any) error
}

// Options of a collective call. The zero value is the default. Root, Batch,
// Depth, Group, Copies, Collect, Retries, ItemTimeout, FirstSeen, RoundTrip, Codec and MaxBytes must be the same on all ranks, and so must be whether
// there is a Trace; the rest is each rank's own.
type Options struct {
	// Root is the rank that holds the items and gets the results. Default: 0.
	Root int

	// Batch is the number of items in one message. 0: chosen from what is
	// left, the number of lanes and the measured time per item.
	Batch int

	// Depth bounds the batches of fixed size that a rank asks for before it
	// runs dry. 0: chosen from the measured time per item, at most 8. 1: a
	// rank asks only when a lane has nothing to do and nothing is in store.
	Depth int

	// Group parts the ranks but the root into groups of that many. The root then
	// grants only to the first rank of each, which grants to the others and passes
	// on their results; its lanes compute as all do. What a call promises stays the
	// same. 1: no groups. [GroupByHost]: one group per host. 0: none below 512
	// ranks, from there on groups of about the square root of their number.
	Group int

	// MaxBytes ends a batch whose encoded items reach that many bytes; a
	// larger item travels alone. 0: 1 MiB.
	MaxBytes int

	// Lanes is the number of lanes of [Pmap] on this rank; [PmapLanes] takes
	// them from its executor. 0: GOMAXPROCS − 1, at least one, which leaves
	// room for the coordinator. At most 65536. Negative: none, this rank only coordinates.
	Lanes int

	// Window bounds the items of [PmapStream] that are read from the source and
	// whose results the sink does not have yet. 0: 256 for each lane of the
	// world, at least 1024, at most 65536.
	Window int

	// Ordered hands the results of [PmapStream] to the sink by ascending index.
	Ordered bool

	// Cost is a hint: an estimate, in any unit, of what the item of an index costs.
	// Items are then handed out by falling cost, so that none that takes long is
	// begun last. Nothing else changes: results are in the order of the items, the
	// lowest failing index decides. It is called on the root alone, once for each
	// item, before any is evaluated; a NaN or a panic refuses the call. Not for
	// streams. nil: items are handed out by index.
	Cost func(index int) float64

	// Codec carries items and results. nil: see the package documentation.
	Codec Codec

	// ErrorCodec carries the errors of items. nil: they cross as text, but for
	// a few of the standard library.
	ErrorCodec ErrorCodec

	// Collect evaluates every item whatever fails. If items failed, the results
	// of [PmapLanes] and [Pmap] come with an [*ItemErrors], and theirs are zero;
	// the sink of [PmapStream] gets the others.
	Collect bool

	// Retries is how often an item may be evaluated again whose error says that
	// this may help, see [Retryable]. It is evaluated at once, by the same lane,
	// which counts it in LaneStats.Retries; the error that stays is the last one.
	Retries int

	// ItemTimeout ends the context of each evaluation of an item after that
	// time. If f then returns that context's error the item fails with
	// [ErrItemTimeout]; a result is taken although it is late. An item that goes
	// on for a second more is told to Logger, and counted in LaneStats.Overdue.
	// 0: none.
	ItemTimeout time.Duration

	// Copies lets ranks with idle lanes evaluate items that other ranks are still at,
	// when nothing else is left (speculative execution, backup tasks): up to so
	// many further evaluations of an item. The result that comes first
	// counts; the contexts of the others then end, and the call waits for them. An
	// item fails only if all its evaluations do. f must be a pure function: results
	// whose encodings differ are an [ItemError] with [ErrCopiesDiffer]. Items of the
	// root's own lanes are encoded, too. A copy starts when lanes have been idle for
	// as long as an item takes on the average. Not with Collect, Group or streams.
	// 0: none.
	Copies int

	// FirstSeen ends the call at the first failure seen, whatever its index,
	// instead of waiting for items of lower index. Which error is returned
	// then depends on timing; it is still the same on all ranks.
	FirstSeen bool

	// RoundTrip encodes and decodes every item and result on a world of one
	// too, to find faults of a codec early.
	RoundTrip bool

	// PreflightTimeout is how long the call waits for all ranks to come to it.
	// Then the ranks that came get a [*PreflightError] with [ErrAbsent] that
	// names the others, and the world is broken. 0: for ever, because a rank may
	// have an hour's work before it comes; after a minute, and again after two,
	// four, …, Logger of rank 0 is then told which ranks are missing.
	PreflightTimeout time.Duration

	// Progress is told on the root, about every ProgressEvery (0: a second) and
	// at the end of the work, how far the call has come. It runs on a goroutine
	// of the call's own, never twice at a time; the call returns after it. A
	// panic or Goexit in it ends the call, see [ErrCallback].
	Progress      func(Progress)
	ProgressEvery time.Duration

	// Trace records what each lane did when; it must be nil on all ranks or on
	// none. The call adds itself to it, at the root with all ranks, elsewhere with
	// this one, however it ends, unless the world breaks. See package trace.
	Trace *trace.Recording

	// Logger gets structured events of this rank, on goroutines of the call's
	// own. A panic or Goexit in its handler ends the call, see [ErrCallback], if
	// nothing else has. nil: none.
	Logger *slog.Logger

	// OnFatal, if not nil, is told when the world breaks, before the call
	// returns, on a goroutine of the call's own. A panic or Goexit in it is told
	// with the error of the call.
	OnFatal func(err error)

	// Stats, if not nil, is filled before the call returns: for all ranks at
	// the root, for this rank elsewhere.
	Stats *Stats
}

// Stats is what a call did.
type Stats struct {
	Items     int           // evaluations that ended, in whatever way; copies of an item count, further tries do not
	Failed    int           // of these, those that failed
	Cancelled int           // of these, those that only said that their context had ended
	Elapsed   time.Duration // from the end of the preflight to the end of the work
	Batches   int           // messages with items
	Smallest  int           // items in the smallest and largest of them
	Largest   int
	// Sizes counts batches by size: Sizes[k] those of 2^k ≤ items < 2^(k+1).
	Sizes    []int
	Messages int   // messages sent and received by this rank
	Sent     int64 // bytes
	Received int64
	Moved    int // items taken back from a rank and given to another; as Batches to Sizes, in groups only what the root did
	Copies   int // evaluations of items that another rank had begun or was to begin

	// Of PmapStream, at the root.
	Skipped int           // items whose results the sink had already
	Stalls  int           // times that the source waited for the window
	Stalled time.Duration // how long, together
	Gaps    int           // of the stalls, those with results that waited for one of lower index

	Lanes []LaneStats // by rank, then lane
}

// LaneStats is what one lane did.
type LaneStats struct {
	Rank      int
	Lane      lanes.Lane
	Items     int // items evaluated, with Failed and Cancelled of them as in Stats
	Failed    int
	Cancelled int
	Busy      time.Duration // time with an item, codec included
	Longest   time.Duration // longest item; items of a few µs are not timed one by one
	Wait      time.Duration // time spent waiting for items, but not after the last one
	Retries   int           // evaluations beyond the first of an item
	Overdue   int           // evaluations that went on long after Options.ItemTimeout

	LongestIndex int64 // of the longest item, −1 if none was timed by itself

	// InFlight is the item that the lane was at when the call was cancelled, if it ran
	// for a tenth of a second or more, else nil.
	InFlight *ItemInFlight
}

// Utilization is the share of the lanes' time spent with items: Σ Busy divided
// by Elapsed and the number of lanes, 0 without lanes.
func (s *Stats) Utilization() float64 {
	if len(s.Lanes) == 0 || s.Elapsed <= 0 {
		return 0
	}
	var busy time.Duration
	for _, l := range s.Lanes {
		busy += l.Busy
	}
	return float64(busy) / float64(s.Elapsed) / float64(len(s.Lanes))
}

// Imbalance is the busy time of the busiest lane divided by the mean of all, 1
// where all are equally busy, 0 where none is.
func (s *Stats) Imbalance() float64 {
	var sum, most time.Duration
	for _, l := range s.Lanes {
		sum += l.Busy
		most = max(most, l.Busy)
	}
	if sum == 0 {
		return 0
	}
	return float64(most) * float64(len(s.Lanes)) / float64(sum)
}

// Longest is the index of the item that took longest, −1 if none was timed by
// itself, and how long that was.
func (s *Stats) Longest() (index int64, d time.Duration) {
	index = -1
	for _, l := range s.Lanes {
		if l.LongestIndex >= 0 && l.Longest > d {
			index, d = l.LongestIndex, l.Longest
		}
	}
	return index, d
}

const (
	defaultMaxBytes = 1 << 20
	maxLanes        = 1 << 16 // of Pmap: a goroutine each
)

// check returns every fault of the options.
func (o *Options) check() error {
	var errs []error
	for _, f := range []struct {
		name  string
		value int
	}{{"Batch", o.Batch}, {"Depth", o.Depth}, {"MaxBytes", o.MaxBytes}, {"Window", o.Window}, {"Retries", o.Retries}, {"Copies", o.Copies}} {
		if f.value < 0 {
			errs = append(errs, fmt.Errorf("option %s is %d, must not be negative", f.name, f.value))
		}
	}
	if o.Lanes > maxLanes {
		errs = append(errs, fmt.Errorf("option Lanes is %d, at most %d are possible", o.Lanes, maxLanes))
	}
	if o.Group < GroupByHost {
		errs = append(errs, fmt.Errorf("option Group is %d, must be GroupByHost or not negative", o.Group))
	}
	for _, f := range []struct {
		name  string
		value time.Duration
	}{{"PreflightTimeout", o.PreflightTimeout}, {"ItemTimeout", o.ItemTimeout}, {"ProgressEvery", o.ProgressEvery}} {
		if f.value < 0 {
			errs = append(errs, fmt.Errorf("option %s is %v, must not be negative", f.name, f.value))
		}
	}
	if o.Copies > 0 && (o.Collect || o.Group > 1 || o.Group == GroupByHost) {
		errs = append(errs, errors.New("option Copies contradicts Collect and Group"))
	}
	if o.Collect && o.FirstSeen {
		errs = append(errs, errors.New("options Collect and FirstSeen contradict each other"))
	}
	return errors.Join(errs...)
}
