package farm

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Range is the half-open interval [First, End) of indices.
type Range struct{ First, End int64 }

// Len is the number of indices in the range.
func (r Range) Len() int64 { return max(r.End-r.First, 0) }

// Segment is a run of consecutive indices in a [Queue]. Lanes claim them from
// the front without a lock.
type Segment struct {
	Range
	// Pinned says that the indices were taken back from a rank once and are
	// not moved again, so that they cannot travel for ever.
	Pinned bool
	// Load is whatever the indices came with; it stays with every part of a
	// segment that is cut.
	Load any

	next atomic.Int64 // first index that nobody has claimed; may exceed End
}

func newSegment(r Range, pinned bool, load any) *Segment {
	s := &Segment{Range: r, Pinned: pinned, Load: load}
	s.next.Store(r.First)
	return s
}

// left is the part that nobody has claimed.
func (s *Segment) left() Range { return Range{min(s.next.Load(), s.End), s.End} }

// seize claims all that is left. A lane that is claiming at the same moment
// either got its index before or finds nothing.
func (s *Segment) seize() Range { return Range{min(s.next.Swap(s.End), s.End), s.End} }

// Queue holds indices that nobody has claimed. Claim and ClaimRun may be called
// by any number of goroutines, and are a single atomic addition as long as the current
// segment lasts; the other methods take a lock. The zero value is empty and
// closed for input.
type Queue struct {
	cur  atomic.Pointer[Segment]
	open atomic.Bool // more indices may be pushed by a source

	mu    sync.Mutex
	rest  []*Segment // by First, lowest first
	used  *Segment   // the last one, all claimed
	spare *Segment   // for the next Push
	limit int64      // indices whose keys are from here on are not wanted, if cut is set
	cut   bool

	key   func(load any, i int64) int64 // nil: an index is its own key
	place []int64                       // the index with each key, if known
}

// SetOrder gives indices keys: they are claimed by ascending index, and wanted up
// to a key. Load is what an index came with, nil where that is not known. With
// place, the index of each key, Clip is fast where it finds little.
func (q *Queue) SetOrder(key func(load any, i int64) int64, place []int64) {
	q.mu.Lock()
	q.key, q.place = key, place
	q.mu.Unlock()
}

// Key is the key of an index.
func (q *Queue) Key(load any, i int64) int64 {
	q.mu.Lock()
	key := q.key
	q.mu.Unlock()
	if key == nil {
		return i
	}
	return key(load, i)
}

// From returns the indices of r whose keys are limit or above.
func (q *Queue) From(limit int64, r Range, load any) (above []Range) {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, above = q.split(limit, r, load)
	return above
}

// split parts r by the limit.
func (q *Queue) split(limit int64, r Range, load any) (below, above []Range) {
	if q.key == nil {
		if cut := min(max(limit, r.First), r.End); cut == r.End {
			return []Range{r}, nil
		} else if cut == r.First {
			return nil, []Range{r}
		} else {
			return []Range{{r.First, cut}}, []Range{{cut, r.End}}
		}
	}
	for i := r.First; i < r.End; {
		side := q.key(load, i) < limit
		first := i
		for i++; i < r.End && (q.key(load, i) < limit) == side; i++ {
		}
		if side {
			below = append(below, Range{first, i})
		} else {
			above = append(above, Range{first, i})
		}
	}
	return below, above
}

// SetOpen says whether a source may still push indices.
func (q *Queue) SetOpen(open bool) { q.open.Store(open) }

// Open reports whether a source may still push indices.
func (q *Queue) Open() bool { return q.open.Load() }

// Push adds the indices of r. Those above the limit set by Clip are not kept;
// they are returned.
func (q *Queue) Push(r Range, pinned bool, load any) (dropped []Range) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.push(r, pinned, load)
}

func (q *Queue) push(r Range, pinned bool, load any) (dropped []Range) {
	switch {
	case r.Len() == 0:
	case !q.cut && q.spare != nil:
		s := q.spare
		q.spare = nil
		s.Range, s.Pinned, s.Load = r, pinned, load
		s.next.Store(r.First)
		q.insert(s)
	case !q.cut:
		q.insert(newSegment(r, pinned, load))
	default:
		below, above := q.split(q.limit, r, load)
		for _, b := range below {
			q.insert(newSegment(b, pinned, load))
		}
		return above
	}
	return nil
}

// insert keeps the lowest indices in front, for a failure or an ordered result
// waits for them.
func (q *Queue) insert(s *Segment) {
	cur := q.cur.Load()
	switch {
	case cur == nil || cur.left().Len() == 0:
		if len(q.rest) == 0 {
			q.cur.Store(s)
			return
		}
		q.rest = insertByFirst(q.rest, s)
		q.advance()
	case s.First < cur.left().First:
		// A lane that still holds cur finds it used up and comes back here.
		if r := cur.seize(); r.Len() > 0 {
			q.rest = insertByFirst(q.rest, newSegment(r, cur.Pinned, cur.Load))
		}
		q.cur.Store(s)
	default:
		q.rest = insertByFirst(q.rest, s)
	}
}

// insertByFirst puts s in its place among segments that no lane claims from. What
// a source pushes one by one grows together, so that it can be claimed and
// granted in runs.
func insertByFirst(segs []*Segment, s *Segment) []*Segment {
	if n := len(segs) - 1; n >= 0 && segs[n].End == s.First && !segs[n].Pinned && !s.Pinned && segs[n].Load == nil && s.Load == nil {
		segs[n].End = s.End
		return segs
	}
	i, _ := slices.BinarySearchFunc(segs, s, func(a, b *Segment) int {
		switch {
		case a.First < b.First:
			return -1
		case a.First > b.First:
			return 1
		}
		return 0
	})
	return slices.Insert(segs, i, s)
}

// advance makes the lowest segment with something left the current one.
func (q *Queue) advance() *Segment {
	s := q.cur.Load()
	for s == nil || s.left().Len() == 0 {
		if s != nil {
			q.used = s
		}
		if len(q.rest) == 0 {
			q.cur.Store(nil)
			return nil
		}
		s = q.rest[0]
		q.rest[0] = nil
		q.rest = q.rest[1:]
		q.cur.Store(s)
	}
	return s
}

// Claim takes the next index. It returns a nil segment if there is none.
func (q *Queue) Claim() (*Segment, int64) {
	s, r := q.ClaimRun(1)
	return s, r.First
}

// ClaimRun takes up to n consecutive indices from the front. It returns a nil
// segment if there are none.
func (q *Queue) ClaimRun(n int64) (*Segment, Range) {
	if s := q.cur.Load(); s != nil {
		if i := s.next.Add(n) - n; i < s.End {
			return s, Range{i, min(i+n, s.End)}
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		s := q.advance()
		if s == nil {
			return nil, Range{}
		}
		if i := s.next.Add(n) - n; i < s.End {
			return s, Range{i, min(i+n, s.End)}
		}
	}
}

// Reuse returns what the last segment came with, if all indices were claimed, and
// lets the next Push use that segment again. The caller knows that nobody is claiming
// and that nobody needs what was claimed.
func (q *Queue) Reuse() (load any) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.used == nil || q.advance() != nil {
		return nil
	}
	q.spare, q.used = q.used, nil
	return q.spare.Load
}

// Left is the number of indices that nobody has claimed.
func (q *Queue) Left() (n int64) {
	q.mu.Lock()
	if s := q.cur.Load(); s != nil {
		n = s.left().Len()
	}
	for _, s := range q.rest {
		n += s.left().Len()
	}
	q.mu.Unlock() // without defer: asked in every turn
	return n
}

// Pinned reports whether the next index is one that stays where it is sent.
func (q *Queue) Pinned() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if s := q.cur.Load(); s != nil && s.left().Len() > 0 {
		return s.Pinned
	}
	for _, s := range q.rest {
		if s.left().Len() > 0 {
			return s.Pinned
		}
	}
	return false
}

// Clip drops the indices from limit on and refuses them from now on. It returns
// what was dropped. A higher limit than before has no effect.
func (q *Queue) Clip(limit int64) (dropped []Range) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.cut && limit >= q.limit {
		return nil
	}
	clear := q.clear(limit)
	q.cut, q.limit = true, limit
	if clear {
		return nil
	}
	for _, s := range q.seizeAll() {
		dropped = append(dropped, q.push(s.Range, s.Pinned, s.Load)...)
	}
	return dropped
}

// clear reports whether the queue is known to hold nothing that the limit drops.
// Items that fail one after the other, each of the highest key there is, do not
// make a long queue be looked through for each of them.
func (q *Queue) clear(limit int64) bool {
	old := int64(len(q.place))
	if q.cut {
		old = min(old, q.limit)
	}
	if q.place == nil || old-limit > 64 {
		return false
	}
	for k := limit; k < old; k++ {
		i := q.place[k]
		has := func(s *Segment) bool { l := s.left(); return l.First <= i && i < l.End }
		if s := q.cur.Load(); s != nil && has(s) || slices.ContainsFunc(q.rest, has) {
			return false
		}
	}
	return true
}

// seizeAll empties the queue.
func (q *Queue) seizeAll() []*Segment {
	var all []*Segment
	if s := q.cur.Load(); s != nil {
		all = append(all, s)
		q.cur.Store(nil)
	}
	all = append(all, q.rest...)
	q.rest = nil
	parts := all[:0]
	for _, s := range all {
		if r := s.seize(); r.Len() > 0 {
			parts = append(parts, newSegment(r, s.Pinned, s.Load))
		}
	}
	return parts
}

// GiveBack takes up to n unclaimed indices, the highest first, leaving pinned
// ones unless all is set.
func (q *Queue) GiveBack(n int64, all bool) (back []Range) {
	q.mu.Lock()
	defer q.mu.Unlock()
	parts := q.seizeAll()
	for i := len(parts) - 1; i >= 0; i-- {
		s := parts[i]
		if n > 0 && (all || !s.Pinned) {
			k := min(n, s.Len())
			back = append(back, Range{s.End - k, s.End})
			s.End -= k
			n -= k
		}
		if s.Len() > 0 {
			q.insert(newSegment(s.Range, s.Pinned, s.Load))
		}
	}
	return back
}

// Take removes the index, if nobody has claimed it, and says whether it did.
func (q *Queue) Take(i int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	found := false
	for _, s := range q.seizeAll() {
		if s.First <= i && i < s.End {
			found = true
			if i > s.First {
				q.insert(newSegment(Range{s.First, i}, s.Pinned, s.Load))
			}
			s.First = i + 1
			s.next.Store(s.First)
		}
		if s.Len() > 0 {
			q.insert(s)
		}
	}
	return found
}

// Movable is the number of unclaimed indices that are not pinned.
func (q *Queue) Movable() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	var n int64
	if s := q.cur.Load(); s != nil && !s.Pinned {
		n = s.left().Len()
	}
	for _, s := range q.rest {
		if !s.Pinned {
			n += s.left().Len()
		}
	}
	return n
}
