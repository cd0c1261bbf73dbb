package mpi

import (
	"bytes"
	"slices"
)

// solo is the traffic of a communicator of one rank without a library: what a
// rank sends to itself. It is guarded by the gate.
type solo struct {
	sent   []*soloMessage // not received, in order
	posted []*request     // not matched, in order
}

// soloMessage is a message of a rank to itself.
type soloMessage struct {
	tag   int
	bytes []byte
	taken bool
}

// soloEager is the length up to which a send is done without its receive, about
// what MPI libraries do.
const soloEager = 4096

// newSolo makes a communicator that lives until *ended is set.
func newSolo(host string, ended *bool) *Comm {
	return &Comm{size: 1, host: host, maxTag: 1<<30 - 1, solo: new(solo), ended: ended}
}

// soloDone is a collective operation, which is done.
func (c *Comm) soloDone() *request {
	return &request{c: c, kind: kindCollective, stage: stageReady}
}

func (c *Comm) soloSend(p []byte, tag int) *request {
	m := &soloMessage{tag: tag, bytes: p}
	r := &request{c: c, kind: kindSend, local: m}
	if len(p) <= soloEager {
		m.bytes = bytes.Clone(p)
		r.stage = stageReady
	}
	c.solo.sent = append(c.solo.sent, m)
	c.solo.match()
	return r
}

func (c *Comm) soloReceive(p []byte, tag int) *request {
	r := &request{c: c, kind: kindReceive, buf: p, tag: tag}
	c.solo.posted = append(c.solo.posted, r)
	c.solo.match()
	return r
}

// match gives messages to receives, both in order.
func (s *solo) match() {
	s.posted = slices.DeleteFunc(s.posted, func(r *request) bool {
		i := slices.IndexFunc(s.sent, func(m *soloMessage) bool { return m.tag == r.tag })
		if i < 0 {
			return false
		}
		m := s.sent[i]
		s.sent = slices.Delete(s.sent, i, i+1)
		m.taken = true
		r.stage = stageReady
		r.st = Status{Tag: m.tag, Count: len(m.bytes)}
		if len(m.bytes) > len(r.buf) {
			r.err = truncated(len(m.bytes), len(r.buf))
		} else {
			copy(r.buf, m.bytes)
		}
		return true
	})
}

func (c *Comm) soloProbe(tag int) (Status, bool) {
	for _, m := range c.solo.sent {
		if tag == AnyTag || tag == m.tag {
			return Status{Tag: m.tag, Count: len(m.bytes)}, true
		}
	}
	return Status{}, false
}

func (r *request) testSolo() (bool, Status, error) {
	if *r.c.ended {
		return false, Status{}, usedAfterEnd("Test", "after Finalize")
	}
	if r.local != nil && r.local.taken {
		r.stage = stageReady
	}
	if r.stage != stageReady {
		return false, Status{}, nil
	}
	r.c = nil
	return r.err == nil, r.st, r.err
}

func (r *request) cancelSolo() {
	if r.stage == stageReady {
		return
	}
	if s := r.c.solo; s != nil {
		s.posted = slices.DeleteFunc(s.posted, func(x *request) bool { return x == r })
	}
	r.stage = stageReady
	r.st = Status{Tag: r.tag, Cancelled: true}
}
