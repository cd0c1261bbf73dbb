package mpitest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"testing"
	"time"

	"github.com/hataori/hataori-go/transport"
)

// Conform runs the suite that every implementation of [transport.Comm] has to
// pass, each case as a subtest. launch calls body once per rank, at the same
// time, with that rank's communicator, and returns when all have returned, with
// their errors joined; [Net.Run] is such a function. A rank that cannot go on
// within a time limit fails its case rather than hang.
func Conform(t *testing.T, launch func(body func(c transport.Comm) error) error) {
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			if err := launch(k.run); err != nil {
				t.Error(err)
			}
		})
	}
}

// Check runs the suite of [Conform] on one rank; all ranks of c must call it.
// It is for ranks that are processes. The error names the case.
func Check(c transport.Comm) error {
	for _, k := range cases {
		if err := k.run(c); err != nil {
			return err
		}
	}
	return nil
}

const patience = 30 * time.Second // of one case, for liveness only

type conformCase struct {
	name string
	body func(p *proc)
}

// run runs one case on a communicator of its own, and checks that it left
// nothing behind.
func (k conformCase) run(c transport.Comm) (err error) {
	defer func() {
		if f, ok := recover().(failure); ok {
			err = fmt.Errorf("case %s, rank %d of %d: %w", k.name, c.Rank(), c.Size(), f.err)
		} else if err != nil {
			err = fmt.Errorf("case %s, rank %d of %d: %w", k.name, c.Rank(), c.Size(), err)
		}
	}()
	private, err := c.Private()
	if err != nil {
		return err
	}
	p := &proc{Comm: private, deadline: time.Now().Add(patience), origin: private.Rank()}
	k.body(p)
	p.barrier()
	_, found, err := p.Iprobe(transport.AnySource, transport.AnyTag)
	p.must(err)
	p.require(!found, "a message was left over")
	return private.Free()
}

// failure is what a case panics with; run turns it into an error.
type failure struct{ err error }

// proc is one rank inside a case.
type proc struct {
	transport.Comm
	deadline time.Time
	origin   int // rank on the communicator of the case
}

func (p *proc) require(ok bool, format string, args ...any) {
	if !ok {
		panic(failure{fmt.Errorf(format, args...)})
	}
}

func (p *proc) must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

func (p *proc) is(err, want error, what string) {
	p.require(errors.Is(err, want), "%s: got error %v, want %v", what, err, want)
}

// until calls ready until it says true, giving way between calls.
func (p *proc) until(what string, ready func() bool) {
	for i := 0; !ready(); i++ {
		if i < 100 {
			runtime.Gosched()
			continue
		}
		p.require(time.Now().Before(p.deadline), "%s: not within %v", what, patience)
		time.Sleep(20 * time.Microsecond)
	}
}

func (p *proc) finish(what string, r transport.Request) (st transport.Status, err error) {
	p.until(what, func() (done bool) {
		done, st, err = r.Test()
		return done || err != nil
	})
	return st, err
}

func (p *proc) wait(what string, r transport.Request) transport.Status {
	st, err := p.finish(what, r)
	p.must(err)
	return st
}

func (p *proc) send(b []byte, dest, tag int) transport.Request {
	r, err := p.Isend(b, dest, tag)
	p.must(err)
	return r
}

func (p *proc) recv(b []byte, source, tag int) transport.Request {
	r, err := p.Irecv(b, source, tag)
	p.must(err)
	return r
}

func (p *proc) probe(source, tag int) (st transport.Status) {
	p.until("Iprobe", func() (found bool) {
		var err error
		st, found, err = p.Iprobe(source, tag)
		p.must(err)
		return found
	})
	return st
}

func (p *proc) barrier() {
	r, err := p.Ibarrier()
	p.must(err)
	p.wait("Ibarrier", r)
}

// pattern returns n bytes that depend on the key, so that a byte from another
// message or place shows.
func pattern(n int, key ...int) []byte {
	x := uint64(n) + 1
	for _, k := range key {
		x = (x ^ uint64(k+7)) * 0x100000001b3
	}
	b := make([]byte, n)
	for i := 0; i < n; i += 8 {
		x = x*6364136223846793005 + 1442695040888963407
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], bits.Reverse64(x))
		copy(b[i:], word[:])
	}
	return b
}
