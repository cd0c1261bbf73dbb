package trace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// event is one of Chrome's trace events, which Perfetto opens: "Trace Event
// Format", Google. Times are microseconds.
type event struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"`
	Time  float64        `json:"ts"`
	Took  float64        `json:"dur,omitempty"`
	Pid   int            `json:"pid"`
	Tid   int            `json:"tid"`
	Scope string         `json:"s,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

func micro(d time.Duration) float64 { return float64(d) / 1e3 }

// WritePerfetto writes the call as JSON for ui.perfetto.dev or chrome://tracing:
// a process for each rank, in it a thread for each lane.
func (c *Call) WritePerfetto(w io.Writer) error {
	b := bufio.NewWriter(w)
	before := "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
	put := func(e event) error {
		j, err := json.Marshal(e)
		if err != nil {
			return err
		}
		_, err = b.WriteString(before)
		before = ",\n"
		if err == nil {
			_, err = b.Write(j)
		}
		return err
	}
	name := func(what string, pid, tid int, is string) event {
		return event{Name: what, Phase: "M", Pid: pid, Tid: tid, Args: map[string]any{"name": is}}
	}
	for _, r := range c.Ranks {
		if err := put(name("process_name", r.Rank, 0, fmt.Sprintf("rank %d (%s)", r.Rank, r.Host))); err != nil {
			return err
		}
		for k, l := range r.Lanes {
			if err := put(name("thread_name", r.Rank, k+1, fmt.Sprintf("lane %d", k))); err != nil {
				return err
			}
			for _, s := range l.Spans {
				if err := put(s.event(r.Rank, k+1)); err != nil {
					return err
				}
				if s.Failed == 0 {
					continue
				}
				if err := put(event{Name: fmt.Sprintf("item %d failed", s.FailedIndex), Phase: "i", Time: micro(s.End), Pid: r.Rank, Tid: k + 1, Scope: "t"}); err != nil {
					return err
				}
			}
		}
	}
	if len(c.Ranks) == 0 {
		b.WriteString(before) // Flush tells the error
	}
	b.WriteString("\n]}\n")
	return b.Flush()
}

func (s *Span) event(pid, tid int) event {
	e := event{Phase: "X", Time: micro(s.Start), Took: micro(s.End - s.Start), Pid: pid, Tid: tid,
		Args: map[string]any{"items": s.Items, "busy µs": micro(s.Busy)}}
	e.Name = plural(s.Items, "item")
	if s.Items == 1 && s.Index >= 0 {
		e.Name = fmt.Sprintf("item %d", s.Index)
	} else if s.Longest > 0 {
		e.Args["longest"] = fmt.Sprintf("item %d, %v", s.Index, s.Longest)
	}
	if s.Failed > 0 {
		e.Args["failed"] = s.Failed
	}
	return e
}
