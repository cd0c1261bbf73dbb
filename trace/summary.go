package trace

import (
	"cmp"
	"slices"
	"time"
)

// Limit is what kept a call from being faster.
type Limit string

// The limits.
const (
	LimitNone     Limit = "nothing"   // lanes were busy nearly all the time
	LimitBinding  Limit = "binding"   // lanes shared processors
	LimitSlowRank Limit = "slow rank" // items took longer on one rank
	LimitRoot     Limit = "root"      // the root's coordinator was busy while lanes waited
	LimitRelay    Limit = "relay"     // the coordinator of another rank was, which grants to a group
	LimitMessages Limit = "messages"  // lanes waited for items that were on their way
	LimitSource   Limit = "source"    // of a stream: it gave items too slowly
	LimitSink     Limit = "sink"      // of a stream: it took results too slowly
	LimitFewItems Limit = "few items" // there were too few items for so many lanes
	LimitTail     Limit = "tail"      // lanes had nothing left while the last items ran
	LimitShort    Limit = "too short" // the call was too short for any of these to mean much
)

// Summary is what a call comes to.
type Summary struct {
	Call   *Call
	Ranks  int
	Lanes  int
	Items  int64
	Failed int64
	Lowest int64 // index of the lowest failed item

	// Shares of the lanes' time, which is Elapsed for each: with items, before
	// the first item, between items, after the last.
	Busy, Before, Between, After float64

	// Imbalance is the busy time of the busiest lane divided by the mean of all.
	Imbalance float64
	Busiest   Place
	Longest   []Item // the longest that were timed by themselves, at most five, longest first

	Slow    *SlowRank // nil: none
	Crowded []Crowd

	Limit Limit
	Loss  float64 // share of the lanes' time that it costs, roughly
}

// Place is a lane.
type Place struct{ Rank, Lane int }

// Item is one item.
type Item struct {
	Index int64
	Took  time.Duration
	End   time.Duration // of the span it is in
	Place
}

// SlowRank is a rank whose items take long.
type SlowRank struct {
	Rank         int
	Host         string
	Item, Others time.Duration // median time of an item there, and on the other ranks
}

// Crowd is ranks of a host whose lanes have to share processors.
type Crowd struct {
	Host  string
	Ranks []int
	Lanes int
	CPUs  int     // that these ranks may use, together
	Loss  float64 // share of all lanes' time; 0 where lanes had the time they wanted
}

const (
	slight     = 0.05 // a loss below this is none
	mostItems  = 5
	perLaneFew = 4 // items per lane below which they are few
)

// Summary makes the summary of a call.
func (c *Call) Summary() *Summary {
	s := &Summary{Call: c, Ranks: len(c.Ranks), Limit: LimitNone}
	s.count()
	if s.Lanes > 0 && c.Elapsed > 0 {
		s.Slow = c.slowRank()
		s.Crowded = c.crowded()
		if s.judge(); c.Elapsed < shortest {
			s.Limit, s.Loss = LimitShort, 0
		}
	}
	return s
}

// shortest is the length of a call below which it is not judged. Lanes start, and
// coordinators wake up, within some milliseconds, which is nothing in a job and most
// of such a call.
const shortest = 20 * time.Millisecond

// count fills in what can be added up.
func (s *Summary) count() {
	c := s.Call
	var busy, before, between, after float64 // of all lanes together they may exceed a Duration
	var most time.Duration
	for _, r := range c.Ranks {
		for k, l := range r.Lanes {
			s.Lanes++
			var mine, end time.Duration
			for i, sp := range l.Spans {
				if i == 0 {
					before += float64(sp.Start)
				} else {
					between += float64(sp.Start - end)
				}
				between += float64(sp.End - sp.Start - sp.Busy)
				mine, end = mine+sp.Busy, sp.End
				s.take(sp, Place{r.Rank, k})
			}
			after += float64(max(c.Elapsed-end, 0))
			busy += float64(mine)
			if mine > most {
				most, s.Busiest = mine, Place{r.Rank, k}
			}
		}
	}
	if whole := float64(c.Elapsed) * float64(s.Lanes); whole > 0 {
		s.Busy, s.Before, s.Between, s.After = busy/whole, before/whole, between/whole, after/whole
	}
	if busy > 0 {
		s.Imbalance = float64(most) * float64(s.Lanes) / busy
	}
}

// take counts the items of a span.
func (s *Summary) take(sp Span, at Place) {
	s.Items += sp.Items
	if sp.Failed > 0 && (s.Failed == 0 || sp.FailedIndex < s.Lowest) {
		s.Lowest = sp.FailedIndex
	}
	s.Failed += sp.Failed
	i := Item{sp.Index, sp.Longest, sp.End, at}
	if i.Took == 0 || len(s.Longest) == mostItems && i.Took <= s.Longest[mostItems-1].Took {
		return
	}
	k, _ := slices.BinarySearchFunc(s.Longest, i, func(a, b Item) int { return cmp.Compare(b.Took, a.Took) })
	s.Longest = slices.Insert(s.Longest, k, i)
	s.Longest = s.Longest[:min(len(s.Longest), mostItems)]
}

// judge finds what costs most.
func (s *Summary) judge() {
	c := s.Call
	weigh := func(l Limit, loss float64) {
		if loss >= slight && loss > s.Loss {
			s.Limit, s.Loss = l, loss
		}
	}
	for _, h := range s.Crowded {
		weigh(LimitBinding, h.Loss)
	}
	if s.Slow != nil {
		weigh(LimitSlowRank, s.slowLoss())
	}
	if s.Items < perLaneFew*int64(s.Lanes) {
		weigh(LimitFewItems, s.After)
	} else {
		weigh(LimitTail, s.After)
	}
	waiting := LimitMessages
	rank, load := c.busiestCoordinator()
	switch {
	case c.Kind == "PmapStream" && c.Stalled > c.Elapsed/4:
		waiting = LimitSink
	case load > 0.5 && rank == c.Root:
		waiting = LimitRoot
	case load > 0.5:
		waiting = LimitRelay
	case c.Kind == "PmapStream":
		waiting = LimitSource
	}
	weigh(waiting, s.Before+s.Between)
}

// busiestCoordinator is the rank whose coordinator had something to do for the
// largest share of the time, and the share.
func (c *Call) busiestCoordinator() (rank int, load float64) {
	for _, r := range c.Ranks {
		if l := float64(r.Coordinator) / float64(max(c.Elapsed, 1)); l > load {
			rank, load = r.Rank, l
		}
	}
	return rank, load
}

// slowLoss is what would be saved if the items of the slow rank took as long as
// those of others: of its own time, and of that in which others waited for it
// at the end.
func (s *Summary) slowLoss() float64 {
	c := s.Call
	var busy, wait float64
	var latest time.Duration
	last := -1
	for _, r := range c.Ranks {
		for _, l := range r.Lanes {
			var end time.Duration
			for _, sp := range l.Spans {
				end = sp.End
				if r.Rank == s.Slow.Rank {
					busy += float64(sp.Busy)
				}
			}
			if end > latest {
				latest, last = end, r.Rank
			}
			wait += float64(max(c.Elapsed-end, 0))
		}
	}
	if last == s.Slow.Rank {
		busy += wait
	}
	saved := busy * (1 - float64(s.Slow.Others)/float64(s.Slow.Item))
	return saved / (float64(c.Elapsed) * float64(s.Lanes))
}

// timed is a number of items that took about the same.
type timed struct {
	each  time.Duration
	items int64
}

// times are the quartiles of the rank's items, of less than eight the shortest
// instead of the first. Where a span holds several items all took its mean.
func (r *Rank) times() (items int64, quartile [3]time.Duration) {
	var list []timed
	for _, l := range r.Lanes {
		for _, s := range l.Spans {
			list = append(list, timed{s.Busy / time.Duration(s.Items), s.Items})
			items += s.Items
		}
	}
	slices.SortFunc(list, func(a, b timed) int { return cmp.Compare(a.each, b.each) })
	for k := range quartile {
		left := items * int64(k+1) / 4
		if k == 0 && items < 8 {
			left = 0
		}
		for _, t := range list {
			if left -= t.items; left < 0 {
				quartile[k] = t.each
				break
			}
		}
	}
	return items, quartile
}

// leastTimed is the number of items below which times are not compared: a few
// items may be long by themselves.
const leastTimed = 4

// slowRank finds the rank, if there is one, three quarters of whose items (of less
// than eight, all) take longer than three quarters of those elsewhere, and the
// middle one at least half again as long. "Elsewhere" is the middle one of the
// other ranks.
func (c *Call) slowRank() *SlowRank {
	type row struct {
		*Rank
		quartile [3]time.Duration
	}
	var rows []row
	for k := range c.Ranks {
		if n, q := c.Ranks[k].times(); n >= leastTimed {
			rows = append(rows, row{&c.Ranks[k], q})
		}
	}
	if len(rows) < 2 {
		return nil
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.quartile[1], b.quartile[1]) })
	slowest := rows[len(rows)-1]
	others := rows[(len(rows)-1)/2]
	if slowest.quartile[0] <= others.quartile[2] || slowest.quartile[1] <= others.quartile[1]+others.quartile[1]/2 {
		return nil
	}
	return &SlowRank{Rank: slowest.Rank.Rank, Host: slowest.Host, Item: slowest.quartile[1], Others: others.quartile[1]}
}

// crowd is a [Crowd] while it is added up.
type crowd struct {
	Crowd
	cpus      map[int]bool
	cpu, busy time.Duration
	unknown   bool // on which processors some rank runs
}

func (g *crowd) add(r *Rank) {
	g.Host = r.Host
	g.Ranks = append(g.Ranks, r.Rank)
	g.Lanes += len(r.Lanes)
	g.unknown = g.unknown || r.CPUs == nil
	for _, cpu := range r.CPUs {
		g.cpus[cpu] = true
	}
	g.CPUs = len(g.cpus)
	g.cpu += r.CPU
	for _, l := range r.Lanes {
		for _, s := range l.Spans {
			g.busy += s.Busy
		}
	}
}

// crowded finds the ranks whose lanes are more than the processors that they may
// use, and the hosts of which that holds for the other ranks together.
func (c *Call) crowded() (list []Crowd) {
	var groups []*crowd
	hosts := map[string]*crowd{}
	lanes := 0
	for k := range c.Ranks {
		r := &c.Ranks[k]
		lanes += len(r.Lanes)
		g := hosts[r.Host]
		alone := r.CPUs != nil && len(r.Lanes) > len(r.CPUs)
		if g == nil || alone {
			g = &crowd{cpus: map[int]bool{}}
			groups = append(groups, g)
			if !alone {
				hosts[r.Host] = g
			}
		}
		g.add(r)
	}
	for _, g := range groups {
		if g.unknown || g.Lanes <= g.CPUs {
			continue
		}
		// Lanes that wait for a disk or a network may well be more than
		// processors: these must have been at work.
		full := float64(g.cpu) / (float64(c.Elapsed) * float64(g.CPUs))
		if lost := g.busy - g.cpu; lost > 0 && full > 0.7 {
			g.Loss = float64(lost) / (float64(c.Elapsed) * float64(lanes))
		}
		list = append(list, g.Crowd)
	}
	return list
}
