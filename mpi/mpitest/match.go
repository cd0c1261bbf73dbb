package mpitest

import (
	"slices"
	"time"

	"github.com/hataori/hataori-go/transport"
)

// group is one communicator: all its ranks, and the messages between them. Its
// fields are guarded by the net's lock.
type group struct {
	net    *Net
	id     int
	comms  []*Comm        // by rank
	place  []int          // rank of each process of the net, −1 if it has none
	boxes  []box          // by destination
	rounds map[int]*round // collective calls not completed everywhere
	seqs   map[[2]int]int // messages sent, by source and destination
	freed  int
}

func (g *group) size() int { return len(g.comms) }

// dead reports whether the process of a rank is.
func (g *group) dead(rank int) bool { return g.net.dead[g.comms[rank].proc] }

// procs returns the processes by rank.
func (g *group) procs() []int {
	procs := make([]int, g.size())
	for rank, c := range g.comms {
		procs[rank] = c.proc
	}
	return procs
}

// box holds what has been sent to one rank and what it waits for.
type box struct {
	msgs   []*message     // not received, in the order of sending
	posted []*recvRequest // not matched, in the order of posting
	looks  int            // probes of any source so far
}

type message struct {
	Message
	due   time.Time
	late  int  // looks until it becomes visible
	eager bool // Bytes is a copy
	taken bool
}

func (m *message) status() transport.Status {
	return transport.Status{Source: m.Source, Tag: m.Tag, Count: len(m.Bytes)}
}

// visible reports whether the message has arrived. Looking brings it nearer.
func (m *message) visible() bool {
	if m.late > 0 {
		m.late--
		return false
	}
	return m.due.IsZero() || !time.Now().Before(m.due)
}

func matches(m *message, source, tag int) bool {
	return (source == transport.AnySource || source == m.Source) && (tag == transport.AnyTag || tag == m.Tag)
}

// match gives messages that have arrived to the receives of one rank, the
// earliest posted first. It runs on that rank's goroutine, so that the race
// detector sees who writes into which buffer.
func (g *group) match(rank int) {
	b := &g.boxes[rank]
	var waiting [][2]int // a receive must not overtake one posted before it
	b.posted = slices.DeleteFunc(b.posted, func(r *recvRequest) bool {
		key := [2]int{r.source, r.tag}
		if slices.Contains(waiting, key) {
			return false
		}
		m := g.find(rank, r.source, r.tag)
		if m == nil {
			waiting = append(waiting, key)
			return false
		}
		b.msgs = slices.DeleteFunc(b.msgs, func(x *message) bool { return x == m })
		m.taken = true
		r.status = m.status()
		r.done = true
		if len(m.Bytes) > len(r.p) {
			r.err = r.c.fail("Irecv", transport.ErrTruncated, m.String())
		} else {
			copy(r.p, m.Bytes)
		}
		r.p = nil
		return true
	})
}

// find returns the message that a receive or probe with this pattern would
// get now, or nil. Of each source only the first message that matches is a
// candidate: later ones must not overtake it.
func (g *group) find(rank, source, tag int) *message {
	b := &g.boxes[rank]
	var seen []int
	var found []*message
	for _, m := range b.msgs {
		if !matches(m, source, tag) || slices.Contains(seen, m.Source) {
			continue
		}
		seen = append(seen, m.Source)
		if m.visible() {
			found = append(found, m)
		}
	}
	if len(found) == 0 {
		return nil
	}
	b.looks++
	return found[g.net.chance(len(found), g.id, rank, b.looks)]
}

// stray is a message that nobody received, and the process that it was for.
type stray struct {
	Message
	proc int
}

func (g *group) unmatched() []stray {
	var all []stray
	for i := range g.boxes {
		for _, m := range g.boxes[i].msgs {
			all = append(all, stray{m.Message, g.comms[i].proc})
		}
	}
	return all
}
