package hataori

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/hataori/hataori-go/hataori/internal/farm"
)

// overdueAfter is how long ranks may take to let go of their items after a
// cancellation before the rank that granted them names them. It is less than the second that
// launchers grant between the signal that asks and the one that kills.
const overdueAfter = 300 * time.Millisecond

// overdue is when a call was cancelled, and whether that was said.
type overdue struct {
	since time.Time
	told  bool
}

// watch looks, after the call was cancelled, whether ranks still have items some
// time later: they may be lost, and the launcher about to end this one too. Nobody
// else will know what they had.
func (d *dealer) watch() {
	if d.late.due(d.c.call, d.m.Limit()) {
		if s := d.overdue(); s != "" {
			d.c.log(slog.LevelWarn, "the call was cancelled, but ranks have not let go of their items", "overdue", s)
		}
	}
}

// due reports, once and if somebody listens, that the limit has been negative for
// long enough.
func (o *overdue) due(c *call, limit int64) bool {
	switch {
	case o.told || c.opts.Logger == nil || limit >= 0:
	case o.since.IsZero():
		o.since = time.Now()
	case time.Since(o.since) > overdueAfter:
		o.told = true
		return true
	}
	return false
}

// What overdue names at most, of a job of any size.
const (
	overdueRanks  = 16
	overdueRanges = 8
)

// overdue names the ranks that have items, and the items.
func (d *dealer) overdue() string {
	var parts []string
	more := 0
	for place, rank := range d.peers[1:] {
		out := d.indices(d.m.Outstanding(place + 1))
		switch {
		case len(out) == 0:
		case len(parts) == overdueRanks:
			more++
		default:
			parts = append(parts, fmt.Sprintf("%s: items %s", d.tree.name(rank), rangeList(out, overdueRanges)))
		}
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more ranks", more))
	}
	return strings.Join(parts, "; ")
}

// indices are those of the items at the places.
func (d *dealer) indices(places []farm.Range) (out []farm.Range) {
	if !d.cargo.keyed() {
		return places
	}
	for _, r := range places {
		for i := r.First; i < r.End; i++ {
			k := int64(0)
			if d.root != nil {
				k = d.root.Key(i)
			} else {
				k = d.c.q.Key(nil, i)
			}
			out = append(out, farm.Range{First: k, End: k + 1})
		}
	}
	slices.SortFunc(out, func(a, b farm.Range) int { return cmp.Compare(a.First, b.First) })
	joined := out[:0]
	for _, r := range out {
		if n := len(joined); n > 0 && joined[n-1].End == r.First {
			joined[n-1].End = r.End
		} else {
			joined = append(joined, r)
		}
	}
	return joined
}

// rangeList is 3, 7–9, …, with at most so many ranges.
func rangeList(all []farm.Range, most int) string {
	var parts []string
	for i, g := range all {
		switch {
		case i == most:
			return strings.Join(append(parts, "…"), ", ")
		case g.Len() == 1:
			parts = append(parts, fmt.Sprint(g.First))
		default:
			parts = append(parts, fmt.Sprintf("%d–%d", g.First, g.End-1))
		}
	}
	return strings.Join(parts, ", ")
}
