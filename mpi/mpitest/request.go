package mpitest

import (
	"fmt"
	"slices"

	"github.com/hataori/hataori-go/transport"
)

// request is what all requests share.
type request struct {
	c     *Comm
	late  int  // tests until completion shows
	ended bool // reported as done or failed
}

// enter opens a Test or Cancel.
func (r *request) enter(op string) error {
	if r.ended {
		panic("mpitest: request used after it was done")
	}
	if err := r.c.enter(op); err != nil {
		r.ended = true
		r.c.g.net.mu.Lock()
		r.c.g.net.open[r.c.proc]--
		r.c.g.net.mu.Unlock()
		return err
	}
	return nil
}

func (r *request) end() {
	r.ended = true
	r.c.g.net.open[r.c.proc]--
}

// held reports whether a completion is still to be kept back.
func (r *request) held() bool {
	if r.late > 0 {
		r.late--
		return true
	}
	return false
}

type sendRequest struct {
	request
	msg *message
}

func (r *sendRequest) Test() (bool, transport.Status, error) {
	var st transport.Status
	if err := r.enter("Test"); err != nil {
		return false, st, err
	}
	defer r.c.leave()
	if r.msg.taken || r.msg.eager {
		if r.held() {
			return false, st, nil
		}
		r.end()
		return true, st, nil
	}
	net := r.c.g.net
	if r.c.g.dead(r.msg.Dest) && net.opts.ReportDead {
		r.end()
		return false, st, r.c.fail("Isend", ErrDead, fmt.Sprintf("rank %d", r.msg.Dest))
	}
	return false, st, nil
}

func (r *sendRequest) Cancel() error {
	return r.c.fail("Cancel", transport.ErrArgument, "a send cannot be cancelled")
}

type recvRequest struct {
	request
	p           []byte
	source, tag int
	done        bool
	status      transport.Status
	err         error
}

func (r *recvRequest) Test() (bool, transport.Status, error) {
	if err := r.enter("Test"); err != nil {
		return false, transport.Status{}, err
	}
	defer r.c.leave()
	switch {
	case r.done && r.err != nil:
		r.end()
		return false, r.status, r.err
	case r.done:
		r.end()
		return true, r.status, nil
	case r.c.g.dead(r.source) && r.c.g.net.opts.ReportDead:
		if slices.ContainsFunc(r.c.g.boxes[r.c.rank].msgs, func(m *message) bool { return matches(m, r.source, r.tag) }) {
			return false, transport.Status{}, nil // sent before the rank died
		}
		r.withdraw()
		r.end()
		return false, transport.Status{}, r.c.fail("Irecv", ErrDead, fmt.Sprintf("rank %d", r.source))
	}
	return false, transport.Status{}, nil
}

func (r *recvRequest) Cancel() error {
	if err := r.enter("Cancel"); err != nil {
		return err
	}
	defer r.c.leave()
	if !r.done {
		r.withdraw()
		r.done = true
		r.status = transport.Status{Source: r.source, Tag: r.tag, Cancelled: true}
	}
	return nil
}

func (r *recvRequest) withdraw() {
	b := &r.c.g.boxes[r.c.rank]
	b.posted = slices.DeleteFunc(b.posted, func(x *recvRequest) bool { return x == r })
	r.p = nil
}
