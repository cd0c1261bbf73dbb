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
	Copy   bool // the index is out elsewhere, too
	Notice NoticeKind
	N      int64
}

// Options of a [Root].
type Options struct {
	Me, Size  int   // Me −1: the root's own lanes are a rank like the others
	Batch     int64 // fixed size of a grant, 0: automatic
	Lanes     int   // largest number of lanes of any rank, until they tell
	FirstSeen bool  // the first failure seen ends the call
	Copies    int   // further evaluations of an index that is out; see copies

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
	copies  map[int64]*copies
	losers  []int64 // indices whose copies are to be told
	spare   [][]uint64

	// Sums over the peers, so that a step costs the same for any number of them.
	lanes      int           // healthy lanes
	ranks      int           // ranks with lanes
	held       int64         // indices granted and not accounted for
	waiting    int           // ranks that have not answered a Return notice
	candidates int           // ranks that takeBack may ask
	scant      int           // ranks whose last grant was not ample
	timing     int           // lanes of the ranks that have measured their items
	timed      time.Duration // sum of the times per item of these lanes
	busy       int64         // lanes that have items, as far as that is known
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
	Copies             int64
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

// Limit is the lowest failing index known, or −1 once the call was aborted.
func (r *Root) Limit() int64 {
	if r.aborted {
		return -1
	}
	return r.limit
}

// Done reports whether every other rank has said good-bye.
func (r *Root) Done() bool {
	others := r.opts.Size
	if r.opts.Me >= 0 {
		others--
	}
	return r.stopped && r.byes == others
}

// NoLanes reports whether indices are left that no healthy lane anywhere can
// evaluate. The call was aborted then.
func (r *Root) NoLanes() bool { return r.noLanes }

// OnResults takes in that the rank evaluated the indices of rg.
func (r *Root) OnResults(rank int, rg Range) error {
	err := r.account(rank, rg, "result")
	if err == nil {
		r.finished(rank, rg)
	}
	return err
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
		if !r.failedAt(rank, i) {
			continue
		}
		key := r.q.Key(nil, i)
		if r.opts.Copies == 0 { // else it waits to be told
			p.noticed = min(p.noticed, key)
		}
		r.OnFailed(key)
	}
	if rep.Abort {
		p.noticed = -1
		r.OnAbort()
	}
	for _, d := range rep.Dropped {
		if err := r.account(rank, d, "drop"); err != nil {
			return err
		}
		if !r.unneeded(d) {
			return fmt.Errorf("rank %d dropped indices of [%d, %d), which are wanted", rank, d.First, d.End)
		}
	}
	for _, b := range rep.Back {
		if err := r.account(rank, b, "return"); err != nil {
			return err
		}
		r.Granted.TakenBack += b.Len()
		r.returned(rank, b, true)
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

// Dry is how long it takes about until the rank has lanes without work, if it has
// nothing in store: 0 if it has, if that is not known, or if there is nothing that
// it could have.
func (r *Root) Dry(rank int) time.Duration {
	p := &r.peers[rank]
	if p.held == 0 || p.held > int64(p.load.Lanes) || r.q.Left() == 0 {
		return 0
	}
	return p.load.Item / time.Duration(p.held)
}

// Enough is the number of items in store above which nobody needs an answer soon, as
// all ranks got much at a time: the largest number if somebody may.
func (r *Root) Enough() int64 {
	if r.scant > 0 || len(r.parked) > 0 || r.aborted {
		return maxIndex
	}
	return 0
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
	woke := min(last.woke, last.left)
	p.load.Idle += int(last.woke - woke)
	last.woke = woke
	r.hold(p, -n, last.pinned)
	p.last -= n
	r.stock(p)
	r.Granted.Items -= n
	pinned := last.pinned
	if last.left == 0 {
		r.Granted.Batches--
		r.recycle(p, i)
		r.park(rank, 1)
	}
	r.returned(rank, Range{cut, g.End}, pinned)
}

// OnFailed takes in that the index with the key failed, on this rank or another.
func (r *Root) OnFailed(key int64) {
	if key < r.limit {
		r.limit = key
		r.q.Clip(key)
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
