package hataori

import (
	"math"
	"time"
)

// dry is when ranks that have nothing in store may report, by their place among
// the peers: their lanes have no work then until they are answered. Times are
// those of the clock of turns, in ns.
type dry []spell

type spell struct {
	since int64         // when it got its last item; 0: it has some in store
	usual time.Duration // how long such a rank took at least, of late
}

// heard takes in a report.
func (d dry) heard(place int, now int64) {
	if d[place].since == 0 {
		return
	}
	s := &d[place]
	took := time.Duration(now - s.since)
	if s.usual == 0 || took < s.usual {
		s.usual = took
	} else {
		s.usual += min(took-s.usual, s.usual) / 64
	}
	s.since = 0
}

// expect takes in that the rank will be without work after about as long as
// lasts; 0: that it will not.
func (d dry) expect(place int, lasts time.Duration, now int64) {
	s := &d[place]
	if s.since = 0; lasts == 0 {
		return
	}
	s.since = now
	if s.usual == 0 {
		s.usual = lasts
	}
}

// first is when a rank may report at the earliest.
func (d dry) first() int64 {
	first := int64(math.MaxInt64)
	for _, s := range d {
		if s.since > 0 {
			first = min(first, s.since+int64(s.usual-s.usual/8))
		}
	}
	return first
}
