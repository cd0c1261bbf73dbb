package trace

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// String is the summary in words, in lines.
func (s *Summary) String() string {
	c := s.Call
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%s, call %d: %s on %s, %s, in %v", c.Kind, c.Number, plural(s.Items, "item"), plural(int64(s.Ranks), "rank"), plural(int64(s.Lanes), "lane"), short(c.Elapsed))
	if c.Error != "" {
		line("ended early: %s", oneLine(c.Error))
	}
	if s.Lanes > 0 && c.Elapsed > 0 {
		line("lanes were busy for %s of the time; they waited for %s before their first item, %s between items, %s after their last",
			percent(s.Busy), percent(s.Before), percent(s.Between), percent(s.After))
	}
	if s.Imbalance > 0 {
		line("imbalance %.2f; the busiest is lane %d of rank %d", s.Imbalance, s.Busiest.Lane, s.Busiest.Rank)
	}
	if len(s.Longest) > 0 {
		var items []string
		for _, i := range s.Longest {
			name := "an item"
			if i.Index >= 0 {
				name = fmt.Sprintf("item %d", i.Index)
			}
			items = append(items, fmt.Sprintf("%s %v (rank %d lane %d)", name, short(i.Took), i.Rank, i.Lane))
		}
		line("longest: %s", strings.Join(items, ", "))
	}
	if s.Failed > 0 {
		line("%s failed, the first is item %d", plural(s.Failed, "item"), s.Lowest)
	}
	if x := s.Slow; x != nil {
		line("rank %d (%s) is slow: an item takes %v there and %v on the other ranks (medians)", x.Rank, x.Host, short(x.Item), short(x.Others))
	}
	for k, h := range s.Crowded {
		if k == 4 {
			line("… and %d others like it", len(s.Crowded)-k)
			break
		}
		line("%s on %s %s %s for %s", ranks(h.Ranks), h.Host, have(h.Ranks), plural(int64(h.CPUs), "processor"), plural(int64(h.Lanes), "lane"))
	}
	line("limited by: %s", s.Verdict())
	return b.String()
}

// Verdict says in a sentence what limited the call and what to do.
func (s *Summary) Verdict() string {
	cost := fmt.Sprintf("which cost about %s of the lanes' time", percent(s.Loss))
	switch s.Limit {
	case LimitBinding:
		i := slices.IndexFunc(s.Crowded, func(h Crowd) bool { return h.Loss == s.Loss })
		h := s.Crowded[max(i, 0)]
		return fmt.Sprintf("binding: %s on %s %s %s for %s, %s. Start with mpirun --bind-to none or --map-by slot:PE=LANES (srun: --cpus-per-task=LANES), or use fewer lanes; hataori doctor shows the masks",
			ranks(h.Ranks), h.Host, have(h.Ranks), plural(int64(h.CPUs), "processor"), plural(int64(h.Lanes), "lane"), cost)
	case LimitSlowRank:
		return fmt.Sprintf("a slow rank: items take %.1f times as long on rank %d (%s), %s. Look there for other jobs, for a lower clock, for the binding and for the libraries in use (hataori doctor)",
			float64(s.Slow.Item)/float64(max(s.Slow.Others, 1)), s.Slow.Rank, s.Slow.Host, cost)
	case LimitRoot:
		_, load := s.Call.busiestCoordinator()
		return fmt.Sprintf("the root: its coordinator was busy for %s of the time while lanes waited, %s. Put more work into an item, send less with each, or let the root only coordinate (nil executor there)",
			percent(load), cost)
	case LimitRelay:
		rank, load := s.Call.busiestCoordinator()
		return fmt.Sprintf("rank %d: its coordinator was busy for %s of the time while lanes waited, %s. Put more work into an item, send less with each, or make groups smaller (Options.Group)",
			rank, percent(load), cost)
	case LimitMessages:
		return fmt.Sprintf("messages: lanes waited for items on their way, %s. Put more work into an item, or use fewer ranks with more lanes each", cost)
	case LimitSource:
		return fmt.Sprintf("the source, which gave items more slowly than lanes took them, %s. Read ahead in it, or give each item more work", cost)
	case LimitSink:
		return fmt.Sprintf("the sink: the source waited for it %d times, %v in all, %s. Take results faster, in larger pieces, or raise Options.Window", s.Call.Stalls, short(s.Call.Stalled), cost)
	case LimitFewItems:
		return fmt.Sprintf("few items: %d for %s, %s. Cut the work into more items (ten or more for a lane), or use fewer lanes", s.Items, plural(int64(s.Lanes), "lane"), cost)
	case LimitTail:
		text := "the tail: lanes had nothing left while the last items ran, " + cost + "."
		if i := s.lastLong(); i != nil {
			text += fmt.Sprintf(" The last was item %d with %v on rank %d lane %d.", i.Index, short(i.Took), i.Rank, i.Lane)
		}
		return text + " Put long items first, or cut them"
	}
	if s.Limit == LimitShort {
		return fmt.Sprintf("nothing that could be told: %v is too short to judge. Record a call of a second or more, of more items or of more work in each", short(s.Call.Elapsed))
	}
	return "nothing much: lanes were busy, and more of them would make it faster"
}

// lastLong is the one of the longest items that ended last, if it ended near the
// end.
func (s *Summary) lastLong() *Item {
	var last *Item
	for k := range s.Longest {
		if i := &s.Longest[k]; i.Index >= 0 && (last == nil || i.End > last.End) {
			last = i
		}
	}
	if last == nil || float64(last.End) < (1-s.After/2)*float64(s.Call.Elapsed) {
		return nil
	}
	return last
}

func percent(share float64) string {
	if share > 0 && share < 0.01 {
		return fmt.Sprintf("%.1f %%", 100*share)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// ranks names a few ranks.
func ranks(list []int) string {
	if len(list) == 1 {
		return fmt.Sprintf("rank %d", list[0])
	}
	text := "ranks"
	for k, r := range list {
		if k == 8 {
			return text + fmt.Sprintf(", … (%d in all)", len(list))
		}
		if k > 0 {
			text += ","
		}
		text += fmt.Sprintf(" %d", r)
	}
	return text
}

func have(list []int) string {
	if len(list) == 1 {
		return "has"
	}
	return "have"
}

// short is a time in three digits or so.
func short(d time.Duration) time.Duration {
	for unit := time.Duration(1); unit < time.Hour; unit *= 10 {
		if d.Abs() < 1000*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Second)
}

func oneLine(s string) string {
	first, _, more := strings.Cut(s, "\n")
	first = plain(first)
	if more {
		first += " …"
	}
	return first
}

// plain is a text that moves no cursor and fills no screen.
func plain(s string) string {
	const most = 500
	cut := len(s) > most
	if cut {
		s = s[:most]
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, s)
	if cut {
		s += " …"
	}
	return s
}
