package mpitest

import (
	"bytes"
	"math"

	"github.com/hataori/hataori-go/transport"
)

// cases is the suite of Conform. Sizes lie around the places where MPI
// libraries change their way of sending.
var cases = []conformCase{
	{"identity", caseIdentity},
	{"ring", caseRing},
	{"head to head", caseHeadToHead},
	{"order", caseOrder},
	{"express", caseExpress},
	{"many in flight", caseManyInFlight},
	{"wildcards", caseWildcards},
	{"tags", caseTags},
	{"truncated", caseTruncated},
	{"cancel", caseCancel},
	{"private", casePrivate},
	{"part", casePart},
	{"reduce", caseReduce},
	{"broadcast", caseBroadcast},
	{"barrier", caseBarrier},
	{"arguments", caseArguments},
}

var sizes = []int{0, 1, 7, 8, 9, 4095, 4096, 4097, 8000, 8001, 20000, 65535, 65536, 65537, 1 << 20, 6185592}

func caseIdentity(p *proc) {
	p.require(p.Size() >= 1 && p.Rank() >= 0 && p.Rank() < p.Size(), "rank %d of %d", p.Rank(), p.Size())
	p.require(p.Host() != "", "host without a name")
	p.require(p.MaxTag() >= 32767, "largest tag is %d", p.MaxTag())
	seen, sum := make([]int64, p.Size()), make([]int64, p.Size())
	seen[p.Rank()] = 1
	r, err := p.Iallreduce(seen, sum, transport.Sum)
	p.must(err)
	p.wait("Iallreduce", r)
	for i, n := range sum {
		p.require(n == 1, "%d processes call themselves rank %d", n, i)
	}
}

// caseRing sends to the next rank, which is the rank itself in a world of one.
func caseRing(p *proc) {
	next, prev := (p.Rank()+1)%p.Size(), (p.Rank()+p.Size()-1)%p.Size()
	for _, n := range sizes {
		s := p.send(pattern(n, p.Rank()), next, 3)
		st := p.probe(prev, 3)
		want := transport.Status{Source: prev, Tag: 3, Count: n}
		p.require(st == want, "probe says %+v, want %+v", st, want)
		got := make([]byte, n+1) // room to spare must not matter
		st = p.wait("receive", p.recv(got, prev, 3))
		p.require(st == want, "receive says %+v, want %+v", st, want)
		p.require(bytes.Equal(got[:n], pattern(n, prev)), "%d bytes arrived damaged", n)
		p.wait("send", s)
	}
}

// caseHeadToHead has every rank send to every other, and to itself, before it
// receives.
func caseHeadToHead(p *proc) {
	for _, n := range sizes {
		if n > 1<<20 {
			continue
		}
		var rs []transport.Request
		got := make([][]byte, p.Size())
		for i := range p.Size() {
			rs = append(rs, p.send(pattern(n, p.Rank(), i), i, 1))
		}
		for i := range p.Size() {
			got[i] = make([]byte, n)
			rs = append(rs, p.recv(got[i], i, 1))
		}
		for _, r := range rs {
			p.wait("head to head", r)
		}
		for i := range got {
			p.require(bytes.Equal(got[i], pattern(n, i, p.Rank())), "%d bytes from %d arrived damaged", n, i)
		}
	}
}

// caseOrder sends messages of changing length on one tag; they must arrive in
// order, with lengths that a probe tells.
func caseOrder(p *proc) {
	const count = 60
	length := func(i int) int { return []int{0, 3, 70000, 8, 5000, 200000, 1}[i%7] + i }
	var sends []transport.Request
	for i := range count {
		for d := range p.Size() {
			sends = append(sends, p.send(pattern(length(i), i, p.Rank()), d, 5))
		}
	}
	next := make([]int, p.Size())
	for range count * p.Size() {
		st := p.probe(transport.AnySource, 5)
		i := next[st.Source]
		next[st.Source]++
		p.require(st.Count == length(i), "message %d from %d: %d bytes, want %d", i, st.Source, st.Count, length(i))
		got := make([]byte, st.Count)
		p.wait("receive", p.recv(got, st.Source, 5))
		p.require(bytes.Equal(got, pattern(length(i), i, st.Source)), "message %d from %d arrived damaged or out of order", i, st.Source)
	}
	for _, s := range sends {
		p.wait("send", s)
	}
}

// caseExpress mixes all ways to receive and to send. Messages of one source and tag
// arrive in order, whichever way each of them takes.
func caseExpress(p *proc) {
	x, ok := p.Comm.(transport.Express)
	if !ok {
		return
	}
	const count = 60 // from each rank, on two tags in turn
	length := func(i int) int { return []int{0, 48, 43, 70000, 64, 5000, 1024, 1025, 1}[i%9] }
	var sends []transport.Request
	for i := range count {
		for d := range p.Size() {
			b := pattern(length(i), i, p.Rank())
			if i%3 == 0 {
				sends = append(sends, p.send(b, d, 5+i%2))
			} else if r, err := x.Give(b, d, 5+i%2); r != nil {
				sends = append(sends, r)
			} else {
				p.must(err)
			}
		}
	}
	next := make([][2]int, p.Size()) // by source and tag: messages received
	check := func(source, tag int, got []byte) {
		i := 2*next[source][tag-5] + tag - 5
		next[source][tag-5]++
		p.require(bytes.Equal(got, pattern(length(i), i, source)), "message %d from %d arrived damaged or out of order, as %d bytes", i, source, len(got))
	}
	chance := uint32(p.Rank())
	for left := count * p.Size(); left > 0; left-- {
		chance = chance*1664525 + 1013904223
		source, tag := int(chance>>20)%p.Size(), 5+int(chance>>18)%2
		if chance>>30 < 2 || next[source][tag-5] == count/2 {
			got := make([]byte, []int{0, 48, 3000}[chance>>16%3])
			p.until("Take", func() bool {
				st, found, taken, err := x.Take(got, 1+int(chance>>24%4))
				p.must(err)
				switch {
				case taken:
					check(st.Source, st.Tag, got[:st.Count])
				case found:
					long := make([]byte, st.Count)
					p.wait("receive", p.recv(long, st.Source, st.Tag))
					check(st.Source, st.Tag, long)
				}
				return found
			})
			continue
		}
		got := make([]byte, length(2*next[source][tag-5]+tag-5))
		if chance>>30 == 2 {
			st := p.probe(source, tag)
			p.require(st.Count == len(got), "%d bytes, want %d", st.Count, len(got))
		}
		p.wait("receive", p.recv(got, source, tag))
		check(source, tag, got)
	}
	for _, s := range sends {
		p.wait("send", s)
	}
	if st, found, _, err := x.Take(nil, 1); found || err != nil {
		p.require(false, "a message was left over: %+v, %v", st, err)
	}
}

// caseManyInFlight posts receives before the sends and completes them in
// reverse.
func caseManyInFlight(p *proc) {
	const count = 64
	next, prev := (p.Rank()+1)%p.Size(), (p.Rank()+p.Size()-1)%p.Size()
	var recvs, sends []transport.Request
	got := make([][]byte, count)
	for i := range count {
		got[i] = make([]byte, 3000)
		recvs = append(recvs, p.recv(got[i], prev, i%4))
	}
	for i := range count {
		sends = append(sends, p.send(pattern(3000, i, p.Rank()), next, i%4))
	}
	for i := count - 1; i >= 0; i-- {
		p.wait("send", sends[i])
		p.wait("receive", recvs[i])
	}
	for i := range got {
		p.require(bytes.Equal(got[i], pattern(3000, i, prev)), "message %d arrived damaged or out of order", i)
	}
}

func caseWildcards(p *proc) {
	_, found, err := p.Iprobe(transport.AnySource, transport.AnyTag)
	p.must(err)
	p.require(!found, "a probe found a message before any was sent")
	p.barrier()
	var sends []transport.Request
	for d := range p.Size() {
		for tag := range 3 {
			sends = append(sends, p.send(pattern(10+tag, p.Rank(), tag), d, tag))
		}
	}
	// Of each source tag 1 first, then whatever comes.
	for s := range p.Size() {
		st := p.probe(s, 1)
		p.require(st.Source == s && st.Tag == 1 && st.Count == 11, "probe of source %d, tag 1 found %+v", s, st)
		p.wait("receive", p.recv(make([]byte, 11), s, 1))
	}
	last := make([]int, p.Size())
	for range 2 * p.Size() {
		st := p.probe(transport.AnySource, transport.AnyTag)
		p.require(st.Tag == last[st.Source], "found tag %d from %d, want %d: an earlier message was overtaken", st.Tag, st.Source, last[st.Source])
		last[st.Source] = 2
		again := p.probe(st.Source, transport.AnyTag)
		p.require(again == st, "probe says %+v, then %+v", st, again)
		got := make([]byte, st.Count)
		p.wait("receive", p.recv(got, st.Source, st.Tag))
		p.require(bytes.Equal(got, pattern(10+st.Tag, st.Source, st.Tag)), "message damaged")
	}
	for _, s := range sends {
		p.wait("send", s)
	}
}

func caseTags(p *proc) {
	for _, tag := range []int{0, 1, 32767, p.MaxTag()} {
		s := p.send([]byte{1, 2, 3}, p.Rank(), tag)
		p.wait("receive", p.recv(make([]byte, 3), p.Rank(), tag))
		p.wait("send", s)
	}
}

// caseTruncated receives into buffers that are too short; the communicator
// stays usable.
func caseTruncated(p *proc) {
	next, prev := (p.Rank()+1)%p.Size(), (p.Rank()+p.Size()-1)%p.Size()
	for _, n := range []int{1, 1000, 5000, 300000} {
		s := p.send(pattern(n, 1), next, 2)
		s2 := p.send(pattern(n, 2), next, 2)
		got := make([]byte, n)
		for i := range got {
			got[i] = 0x5a
		}
		p.probe(prev, 2)
		_, err := p.finish("receive", p.recv(got[:n/2], prev, 2))
		p.is(err, transport.ErrTruncated, "a message longer than the buffer")
		for _, b := range got[n/2:] {
			p.require(b == 0x5a, "the receive wrote past its buffer")
		}
		p.wait("receive", p.recv(got, prev, 2))
		p.require(bytes.Equal(got, pattern(n, 2)), "the message after the truncated one arrived damaged")
		p.wait("send", s)
		p.wait("send", s2)
	}
}

func caseCancel(p *proc) {
	r := p.recv(make([]byte, 8), p.Rank(), 9)
	p.must(r.Cancel())
	st := p.wait("cancelled receive", r)
	p.require(st.Cancelled, "a receive without a message was not cancelled: %+v", st)

	// The message sent afterwards goes to the next receive, not the cancelled.
	got := make([]byte, 8)
	s := p.send(pattern(8, 4), p.Rank(), 9)
	st = p.wait("receive", p.recv(got, p.Rank(), 9))
	p.require(!st.Cancelled && bytes.Equal(got, pattern(8, 4)), "the receive after a cancelled one got %+v % x", st, got)
	p.wait("send", s)

	s = p.send([]byte{1}, p.Rank(), 9)
	p.probe(p.Rank(), 9)
	p.is(s.Cancel(), transport.ErrArgument, "cancelling a send")
	p.wait("receive", p.recv(got, p.Rank(), 9))
	p.wait("send", s)
}

func casePrivate(p *proc) {
	d, err := p.Private()
	p.must(err)
	q := &proc{Comm: d, deadline: p.deadline}
	p.require(d.Rank() == p.Rank() && d.Size() == p.Size(), "the duplicate is rank %d of %d", d.Rank(), d.Size())
	next, prev := (p.Rank()+1)%p.Size(), (p.Rank()+p.Size()-1)%p.Size()
	a := p.send([]byte("original"), next, 1)
	b := q.send([]byte("duplicate"), next, 1)
	got := make([]byte, 16)
	st := q.wait("receive on the duplicate", q.recv(got, prev, 1))
	p.require(string(got[:st.Count]) == "duplicate", "the duplicate received %q", got[:st.Count])
	st = p.wait("receive on the original", p.recv(got, prev, 1))
	p.require(string(got[:st.Count]) == "original", "the original received %q", got[:st.Count])
	p.wait("send", a)
	q.wait("send", b)
	p.must(d.Free())
	_, err = d.Isend(nil, 0, 0)
	p.is(err, transport.ErrFreed, "Isend after Free")
	_, err = d.Irecv(nil, 0, 0)
	p.is(err, transport.ErrFreed, "Irecv after Free")
	_, _, err = d.Iprobe(0, 0)
	p.is(err, transport.ErrFreed, "Iprobe after Free")
	_, err = d.Ibarrier()
	p.is(err, transport.ErrFreed, "Ibarrier after Free")
	_, err = d.Private()
	p.is(err, transport.ErrFreed, "Private after Free")
	p.is(d.Free(), transport.ErrFreed, "second Free")
}

func caseReduce(p *proc) {
	n, r := int64(p.Size()), int64(p.Rank())
	send := []int64{r, -r, math.MinInt64 + r, math.MaxInt64 - r, 1, -1}
	for _, k := range []struct {
		op   transport.Op
		want []int64
	}{
		{transport.Min, []int64{0, -(n - 1), math.MinInt64, math.MaxInt64 - (n - 1), 1, -1}},
		{transport.Max, []int64{n - 1, 0, math.MinInt64 + n - 1, math.MaxInt64, 1, -1}},
		{transport.Sum, []int64{n * (n - 1) / 2, -n * (n - 1) / 2, 0, 0, n, -n}},
	} {
		recv := make([]int64, len(send))
		req, err := p.Iallreduce(send, recv, k.op)
		p.must(err)
		p.wait("Iallreduce", req)
		for i, w := range k.want {
			if k.op == transport.Sum && (i == 2 || i == 3) {
				continue // wraps
			}
			p.require(recv[i] == w, "operator %d, element %d: %d, want %d", k.op, i, recv[i], w)
		}
	}
	for _, length := range []int{0, 1, 5000} {
		send, recv := make([]int64, length), make([]int64, length)
		for i := range send {
			send[i] = r*int64(i) + 1
		}
		req, err := p.Iallreduce(send, recv, transport.Sum)
		p.must(err)
		p.wait("Iallreduce", req)
		for i, v := range recv {
			want := int64(i)*n*(n-1)/2 + n
			p.require(v == want, "sum %d of %d: %d, want %d", i, length, v, want)
		}
	}
}

func caseBroadcast(p *proc) {
	for root := range p.Size() {
		for _, n := range []int{0, 1, 9, 5000, 70000, 6185592} {
			if n > 1<<20 && root > 0 {
				continue
			}
			b := make([]byte, n)
			if p.Rank() == root {
				copy(b, pattern(n, root))
			}
			r, err := p.Ibcast(b, root)
			p.must(err)
			p.wait("Ibcast", r)
			p.require(bytes.Equal(b, pattern(n, root)), "%d bytes from %d arrived damaged", n, root)
		}
	}
}

// caseBarrier keeps rank 0 away from the barrier until every other rank has
// seen that it stays closed.
func caseBarrier(p *proc) {
	if p.Rank() == 0 {
		for i := 1; i < p.Size(); i++ {
			p.wait("receive", p.recv(make([]byte, 1), i, 0))
		}
		p.barrier()
		return
	}
	r, err := p.Ibarrier()
	p.must(err)
	for range 50 {
		done, _, err := r.Test()
		p.must(err)
		p.require(!done, "the barrier opened before rank 0 came")
	}
	p.wait("send", p.send([]byte{1}, 0, 0))
	p.wait("Ibarrier", r)
}

func caseArguments(p *proc) {
	b := make([]byte, 1)
	for _, rank := range []int{-1, -2, -3, p.Size(), math.MaxInt32, math.MaxInt64} {
		_, err := p.Isend(b, rank, 0)
		p.is(err, transport.ErrArgument, "Isend to a rank out of range")
		_, err = p.Irecv(b, rank, 0)
		p.is(err, transport.ErrArgument, "Irecv from a rank out of range")
		_, err = p.Ibcast(b, rank)
		p.is(err, transport.ErrArgument, "Ibcast with a root out of range")
	}
	for _, tag := range []int{-1, -2, p.MaxTag() + 1, math.MaxInt64, math.MinInt64} {
		_, err := p.Isend(b, 0, tag)
		p.is(err, transport.ErrArgument, "Isend with a tag out of range")
		_, err = p.Irecv(b, 0, tag)
		p.is(err, transport.ErrArgument, "Irecv with a tag out of range")
	}
	_, _, err := p.Iprobe(-2, 0)
	p.is(err, transport.ErrArgument, "Iprobe of a rank out of range")
	_, _, err = p.Iprobe(0, -2)
	p.is(err, transport.ErrArgument, "Iprobe of a tag out of range")
	_, err = p.Iallreduce(make([]int64, 2), make([]int64, 1), transport.Sum)
	p.is(err, transport.ErrArgument, "Iallreduce into a shorter slice")
	_, err = p.Iallreduce(make([]int64, 1), make([]int64, 1), 0)
	p.is(err, transport.ErrArgument, "Iallreduce without an operator")
}
