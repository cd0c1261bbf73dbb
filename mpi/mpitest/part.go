package mpitest

import (
	"bytes"
	"math"

	"github.com/hataori/hataori-go/transport"
)

// casePart parts the ranks in several ways, and one of the parts again.
func casePart(p *proc) {
	if _, ok := p.Comm.(transport.Splitter); !ok {
		return
	}
	n, me := p.Size(), p.Rank()
	everybody := make([]int, n)
	for i := range everybody {
		everybody[i] = i
	}
	var even, odd, turned []int // by rank in the part
	for i := range n {
		if i%2 == 0 {
			even = append([]int{i}, even...)
		} else {
			odd = append([]int{i}, odd...)
		}
		turned = append(turned, n-1-i)
	}
	mine := even
	if me%2 == 1 {
		mine = odd
	}
	p.part(me%2, -me, mine, func(q *proc) {
		q.part(0, q.Rank(), mine, func(*proc) {})
		q.part(q.Rank(), 0, []int{me}, func(*proc) {})
	})
	p.part(math.MaxInt32, 7, everybody, func(*proc) {}) // equal keys: by rank
	p.part(me, math.MinInt32, []int{me}, func(*proc) {})
	p.part(3, math.MaxInt32-me, turned, func(*proc) {})
	casePartArguments(p)
}

// part parts the ranks, looks at the part of this rank, which has those members of
// the communicator that all came from, and has body use it.
func (p *proc) part(color, key int, members []int, body func(q *proc)) {
	d, err := p.Comm.(transport.Splitter).Part(color, key)
	p.must(err)
	q := &proc{Comm: d, deadline: p.deadline, origin: p.origin}
	n, me := q.Size(), q.Rank()
	p.require(n == len(members) && me < n && members[me] == p.origin, "rank %d of %d in a part of %v", me, n, members)
	p.require(q.Host() == p.Host() && q.MaxTag() >= 32767 && q.AnyThread() == p.AnyThread(), "the part differs from the whole")
	next, prev := (me+1)%n, (me+n-1)%n
	for _, length := range []int{0, 43, 5000, 70000} {
		got := make([]byte, length)
		r := q.recv(got, prev, 1)
		s := q.send(pattern(length, members[me]), next, 1)
		st := q.wait("receive in a part", r)
		q.wait("send in a part", s)
		p.require(st.Source == prev && bytes.Equal(got, pattern(length, members[prev])), "%d bytes in a part of %v arrived damaged: %+v", length, members, st)
	}
	send, recv := []int64{int64(members[me]), 1}, make([]int64, 2)
	r, err := q.Iallreduce(send, recv, transport.Sum)
	p.must(err)
	q.wait("Iallreduce in a part", r)
	sum := int64(0)
	for _, m := range members {
		sum += int64(m)
	}
	p.require(recv[0] == sum && recv[1] == int64(n), "sum over a part of %v: %v", members, recv)
	b := pattern(9000, members[me])
	r, err = q.Ibcast(b, n-1)
	p.must(err)
	q.wait("Ibcast in a part", r)
	p.require(bytes.Equal(b, pattern(9000, members[n-1])), "broadcast in a part of %v arrived damaged", members)
	body(q)
	q.barrier()
	_, found, err := q.Iprobe(transport.AnySource, transport.AnyTag)
	p.must(err)
	p.require(!found, "a message was left over in a part")
	p.must(d.Free())
	_, err = d.(transport.Splitter).Part(0, 0)
	p.is(err, transport.ErrFreed, "Part after Free")
}

// casePartArguments has one rank pass what it may not: all are told, and none hangs.
func casePartArguments(p *proc) {
	for _, bad := range [][2]int{{-1, 0}, {math.MaxInt32 + 1, 0}, {0, math.MaxInt32 + 1}, {0, math.MinInt64}} {
		color, key := 0, p.Rank()
		if p.Rank() == p.Size()-1 {
			color, key = bad[0], bad[1]
		}
		_, err := p.Comm.(transport.Splitter).Part(color, key)
		p.is(err, transport.ErrArgument, "Part with a color or key out of range on the last rank")
	}
}
