package farm

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestScripts plays the histories under testdata: "new" sets up a world, "run"
// takes the steps of its lines, named as the explorer names them, and prints
// which messages each of them sends. With -rewrite the expected output is
// written anew.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var s *system
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "new":
				s = newSystem(scriptConfig(t, d))
				return ""
			case "run":
				var b strings.Builder
				for _, line := range strings.Split(d.Input, "\n") {
					s.play(t, d, &b, strings.TrimSpace(line))
				}
				return b.String()
			case "state":
				return s.describe()
			}
			d.Fatalf(t, "unknown command")
			return ""
		})
	})
}

func scriptConfig(t *testing.T, d *datadriven.TestData) *config {
	c := &config{name: d.Pos}
	bitset := func(vals []string) (set uint64) {
		for _, v := range vals {
			i, err := strconv.Atoi(v)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			set |= 1 << i
		}
		return set
	}
	ints := func(vals []string) (out []int) {
		for _, v := range vals {
			i, err := strconv.Atoi(v)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			out = append(out, i)
		}
		return out
	}
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "items":
			c.items = ints(a.Vals)[0]
		case "lanes":
			c.lanes = ints(a.Vals)
		case "root":
			c.root = ints(a.Vals)[0]
		case "batch":
			c.batch = int64(ints(a.Vals)[0])
		case "depth":
			c.depth = ints(a.Vals)[0]
		case "sick":
			c.sick = ints(a.Vals)[0]
		case "us":
			c.item = time.Duration(ints(a.Vals)[0]) * time.Microsecond
		case "cancel":
			c.cancel = ints(a.Vals)
		case "fail":
			c.fail = bitset(a.Vals)
		case "bad-encode":
			c.badEncode = bitset(a.Vals)
		case "first-seen":
			c.first = true
		case "flush":
			c.flush = true
		case "cut":
			c.cut = true
		default:
			d.Fatalf(t, "unknown setting %s", a.Key)
		}
	}
	return c
}

func (s *system) play(t *testing.T, d *datadriven.TestData, b *strings.Builder, name string) {
	for _, st := range s.moves(nil) {
		if st.String() != name {
			continue
		}
		ups, downs := make([]int, len(s.ranks)), make([]int, len(s.ranks))
		for r := range s.ranks {
			ups[r], downs[r] = len(s.ranks[r].up), len(s.ranks[r].down)
		}
		fmt.Fprintf(b, "%s\n", name)
		if err := st.do(s); err != nil {
			fmt.Fprintf(b, "  error: %v\n", err)
		}
		for r := range s.ranks {
			rs := &s.ranks[r]
			for k := min(ups[r], len(rs.up)); k < len(rs.up); k++ {
				fmt.Fprintf(b, "  %d → root  %s\n", r, rs.up[k])
			}
			for k := min(downs[r], len(rs.down)); k < len(rs.down); k++ {
				fmt.Fprintf(b, "  root → %d  %s\n", r, rs.down[k])
			}
		}
		return
	}
	var names []string
	for _, st := range s.moves(nil) {
		names = append(names, st.String())
	}
	d.Fatalf(t, "%q is not possible here; these are: %q", name, names)
}

func (m upMsg) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "report: %d lanes, %d idle", m.rep.Load.Lanes, m.rep.Load.Idle)
	part := func(show bool, format string, args ...any) {
		if show {
			fmt.Fprintf(&b, ", "+format, args...)
		}
	}
	part(m.rep.Want > 0, "wants %d", m.rep.Want)
	part(len(m.finished) > 0, "results %v", m.finished)
	part(len(m.rep.Failed) > 0, "failed %v", m.rep.Failed)
	part(len(m.rep.Dropped) > 0, "dropped %v", m.rep.Dropped)
	part(len(m.rep.Back) > 0, "gives back %v", m.rep.Back)
	part(m.rep.Returned, "answers")
	part(m.rep.Abort, "aborts")
	part(m.rep.Bye, "bye")
	return b.String()
}

func (m downMsg) String() string {
	switch {
	case m.stop:
		return "stop"
	case m.notice == CancelAbove:
		return fmt.Sprintf("cancel above %d", m.n)
	case m.notice == Return:
		return fmt.Sprintf("return unstarted items, %d lanes are idle", m.n)
	case m.notice == Abort:
		return "abort"
	case m.pinned:
		return fmt.Sprintf("grant %v, pinned", m.grant)
	}
	return fmt.Sprintf("grant %v", m.grant)
}

func (r Range) String() string { return fmt.Sprintf("[%d, %d)", r.First, r.End) }

// describe says where every index is.
func (s *system) describe() string {
	var b strings.Builder
	for r := range s.ranks {
		rs := &s.ranks[r]
		fmt.Fprintf(&b, "rank %d: unclaimed", r)
		for _, left := range rs.q.parts() {
			fmt.Fprintf(&b, " %v", left)
		}
		fmt.Fprintf(&b, ", lanes")
		for _, l := range rs.lanes {
			switch l {
			case idleLane:
				b.WriteString(" idle")
			case deadLane:
				b.WriteString(" sick")
			default:
				fmt.Fprintf(&b, " %d", l)
			}
		}
		b.WriteString("\n")
	}
	var done []int
	for i, ok := range s.result {
		if ok {
			done = append(done, i)
		}
	}
	fmt.Fprintf(&b, "results %v, over: %v\n", done, s.done())
	if s.done() {
		if err := s.final(); err != nil {
			fmt.Fprintf(&b, "%v\n", err)
		}
	}
	return b.String()
}

// Indices that a rank gave back may go to the same rank again, and results may
// then come in runs that cross the two grants.
func TestBackToTheSameRank(t *testing.T) {
	q := new(Queue)
	q.Push(Range{0, 6}, false, nil)
	r := NewRoot(q, Options{Me: 0, Size: 2, Batch: 6, Lanes: 1})
	step := func(rep Report) []Effect {
		t.Helper()
		if err := r.OnReport(1, rep); err != nil {
			t.Fatal(err)
		}
		return r.Step(Local{})
	}
	free := Load{Lanes: 1, Idle: 1}
	step(Report{Want: 1, Load: free})
	if e := step(Report{Want: 1, Load: free, Back: []Range{{2, 4}}}); len(e) != 1 || e[0].Range != (Range{2, 4}) || !e[0].Pinned {
		t.Fatalf("%+v", e)
	}
	if err := r.OnResults(1, Range{1, 6}); err != nil {
		t.Fatal(err)
	}
	if err := r.OnResults(1, Range{3, 4}); err == nil {
		t.Error("a second result of an index was taken")
	}
	if err := r.OnResults(1, Range{0, 1}); err != nil {
		t.Fatal(err)
	}
	if e := step(Report{Load: free}); len(e) != 1 || e[0].Kind != Stop {
		t.Fatalf("%+v", e)
	}
}
