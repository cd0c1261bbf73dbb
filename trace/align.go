package trace

import "time"

// Offset is what a rank's clock lacks to the root's at one moment.
type Offset struct {
	At    time.Duration // by the rank's clock
	Ahead time.Duration // root's clock minus the rank's
	Error time.Duration // Ahead is right within this
}

// Better is the offset that one message to the root and back gives, if it is
// more exact than o: sent and got by the rank's clock, there by the root's. The
// zero Offset is worse than any.
func (o Offset) Better(sent, there, got time.Duration) Offset {
	half := max((got-sent)/2, 1)
	if o.Error != 0 && o.Error <= half {
		return o
	}
	return Offset{At: sent + half, Ahead: there - (sent + half), Error: half}
}

// Align moves the rank's times to the root's clock, and then back by began. Where
// the two offsets differ by no more than their errors the better one holds, else
// what lies between them. Times before the beginning of the work, which the
// error of the clocks makes, become zero.
func (r *Rank) Align(first, last Offset, began time.Duration) {
	over := last.At - first.At
	drift := 0.0
	if d := last.Ahead - first.Ahead; over > 0 && d.Abs() > first.Error+last.Error {
		drift = float64(d) / float64(over)
	} else if last.Error < first.Error {
		first = last
	}
	r.ClockError = max(first.Error, last.Error)
	if drift == 0 {
		r.ClockError = first.Error
	}
	move := func(t time.Duration) time.Duration {
		ahead := float64(first.Ahead) + drift*float64(t-first.At)
		return max(t+time.Duration(ahead)-began, 0)
	}
	for _, l := range r.Lanes {
		for k := range l.Spans {
			s := &l.Spans[k]
			s.Start, s.End = move(s.Start), move(s.End)
			s.Busy = min(s.Busy, s.End-s.Start)
			s.Longest = min(s.Longest, s.Busy)
		}
	}
}
