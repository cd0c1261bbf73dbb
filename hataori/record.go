package hataori

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/hataori/hataori-go/trace"
	"github.com/hataori/hataori-go/transport"
)

// tagRecord is for clocks and recordings, outside of the work.
const tagRecord = 3

// recorder is Options.Trace during one call on one rank. A nil one records
// nothing.
type recorder struct {
	call  *call
	kind  string
	rank  trace.Rank
	lanes []*trace.Recorder
	first trace.Offset // of this rank's clock to the root's; zero on the root

	base  time.Time // what this rank's times count from
	began time.Time // of the work
	cpu   time.Duration
	sum   Stats // what is known of messages
}

// startRecorder is collective, after a preflight that found that all ranks want
// it.
func (c *call) startRecorder(kind string) error {
	if c.opts.Trace == nil {
		return nil
	}
	c.rec = &recorder{call: c, kind: kind, base: time.Now()}
	c.rec.began, c.rec.cpu = c.rec.base, cpuTime()
	err := c.rec.clocks(func(o trace.Offset) { c.rec.first = o })
	c.rec.began = time.Now()
	return err
}

// follow makes the recorders of the lanes, in a world that has so many of them.
func (r *recorder) follow(c *crew, world int) {
	if r == nil {
		return
	}
	for k := range c.lanes {
		l := trace.NewRecorder(r.call.opts.Trace.PerLane(world))
		r.lanes = append(r.lanes, l)
		c.lanes[k].log = &laneLog{to: l, base: r.base}
	}
}

// note takes in what a coordinator did.
func (r *recorder) note(s Stats) {
	if r != nil {
		r.sum = s
	}
}

// stalled takes in how the source of a stream fared.
func (r *recorder) stalled(times int, together time.Duration) {
	if r != nil {
		r.sum.Stalls, r.sum.Stalled = times, together
	}
}

// turn is the time at which a coordinator begins a turn of its loop.
func (r *recorder) turn() time.Time {
	if r == nil {
		return time.Time{}
	}
	return time.Now()
}

// worked takes in that there was something to do in the turn.
func (r *recorder) worked(since time.Time) {
	if r != nil {
		r.rank.Coordinator += time.Since(since)
	}
}

// finish brings what the ranks recorded to the root's Options.Trace. It is
// collective, unless the world is broken. It returns end, or why the world
// broke meanwhile.
func (r *recorder) finish(end error) error {
	if r == nil {
		return end
	}
	c := r.call
	elapsed := time.Since(r.began)
	r.close()
	out := &trace.Call{Kind: r.kind, Number: c.w.epoch, Root: c.opts.Root, Began: r.began, Elapsed: elapsed,
		Batches: r.sum.Batches, Stalls: r.sum.Stalls, Stalled: r.sum.Stalled}
	if end != nil {
		out.Error = end.Error()
	}
	if c.w.size > 1 && !errors.Is(end, ErrWorldBroken) && !errors.Is(end, ErrAbsent) {
		if err := r.gather(out); err != nil {
			return err
		}
	}
	if c.w.rank != c.opts.Root || c.w.size == 1 || len(out.Ranks) == 0 {
		out.Ranks = []trace.Rank{r.rank}
		out.Ranks[0].Align(trace.Offset{}, trace.Offset{}, r.began.Sub(r.base))
	}
	c.opts.Trace.Calls = append(c.opts.Trace.Calls, out)
	return end
}

// close completes this rank's part, after its lanes ended.
func (r *recorder) close() {
	w, k := r.call.w, &r.rank
	k.Rank, k.Host, k.Procs = w.rank, w.host, runtime.GOMAXPROCS(0)
	k.CPUs = allowedCPUs()
	k.CPU = cpuTime() - r.cpu
	k.Messages, k.Sent, k.Received = r.sum.Messages, r.sum.Sent, r.sum.Received
	k.Lanes = make([]trace.Lane, len(r.lanes))
	for i, l := range r.lanes {
		k.Lanes[i].Spans = l.Spans()
	}
}

// gather compares clocks again, and collects what the ranks recorded.
func (r *recorder) gather(out *trace.Call) error {
	c := r.call
	var last trace.Offset
	if err := r.clocks(func(o trace.Offset) { last = o }); err != nil {
		return err
	}
	if c.w.rank != c.opts.Root {
		return c.sendRecord(appendOffset(appendOffset(nil, r.first), last), r.rank.Append(nil))
	}
	for rank := range c.w.size {
		if rank == c.w.rank {
			mine := r.rank
			mine.Align(trace.Offset{}, trace.Offset{}, r.began.Sub(r.base))
			out.Ranks = append(out.Ranks, mine)
			continue
		}
		msg, err := c.recvRecord(rank)
		if err != nil {
			return err
		}
		theirs, err := parseRecord(msg, rank, r.began.Sub(r.base))
		if err != nil {
			return c.breakdown(err)
		}
		out.Ranks = append(out.Ranks, theirs)
	}
	return nil
}

func parseRecord(msg []byte, rank int, began time.Duration) (trace.Rank, error) {
	first, msg, ok1 := cutOffset(msg)
	last, msg, ok2 := cutOffset(msg)
	if !ok1 || !ok2 {
		return trace.Rank{}, fmt.Errorf("trace of rank %d is cut", rank)
	}
	k, err := trace.DecodeRank(msg)
	if err == nil && k.Rank != rank {
		err = fmt.Errorf("it says rank %d", k.Rank)
	}
	if err != nil {
		return k, fmt.Errorf("trace of rank %d: %w", rank, err)
	}
	k.Align(first, last, began)
	return k, nil
}

const offsetSize = 3 * 8

func appendOffset(b []byte, o trace.Offset) []byte {
	for _, d := range []time.Duration{o.At, o.Ahead, o.Error} {
		b = binary.LittleEndian.AppendUint64(b, uint64(d))
	}
	return b
}

func cutOffset(b []byte) (o trace.Offset, rest []byte, ok bool) {
	if len(b) < offsetSize {
		return o, nil, false
	}
	for k, d := range []*time.Duration{&o.At, &o.Ahead, &o.Error} {
		*d = time.Duration(binary.LittleEndian.Uint64(b[8*k:]))
	}
	return o, b[offsetSize:], true
}

// questions is how often a rank asks the root for the time.
const questions = 5

// clocks lets one rank after the other ask the root for the time, so that none
// waits behind another; set is called on each rank but the root.
func (r *recorder) clocks(set func(trace.Offset)) error {
	c := r.call
	now := func() []byte { return binary.LittleEndian.AppendUint64(nil, uint64(time.Since(r.base))) }
	if c.w.rank == c.opts.Root {
		for rank := range c.w.size {
			if rank == c.w.rank {
				continue
			}
			for k := range questions + 1 {
				if k > 0 { // the first says that it is the rank's turn
					if _, err := c.recvRecord(rank); err != nil {
						return err
					}
				}
				if err := c.sendRecordTo(now(), rank); err != nil {
					return err
				}
			}
		}
		return nil
	}
	var best trace.Offset
	for k := range questions + 1 {
		sent := time.Since(r.base)
		if k > 0 {
			if err := c.sendRecord(nil, []byte{1}); err != nil {
				return err
			}
		}
		answer, err := c.recvRecord(c.opts.Root)
		if err != nil {
			return err
		}
		if len(answer) != 8 {
			return c.breakdown(fmt.Errorf("a time of %d bytes", len(answer)))
		}
		if k > 0 {
			best = best.Better(sent, time.Duration(binary.LittleEndian.Uint64(answer)), time.Since(r.base))
		}
	}
	set(best)
	return nil
}

func (c *call) sendRecord(head, body []byte) error {
	return c.sendRecordTo(append(head, body...), c.opts.Root)
}

func (c *call) sendRecordTo(msg []byte, rank int) error {
	req, err := c.w.comm.Isend(msg, rank, tagRecord)
	if err != nil {
		return c.breakdown(fmt.Errorf("sending to rank %d: %w", rank, err))
	}
	c.inFlight = []any{req, msg}
	return c.await(req, len(msg))
}

// recvRecord waits for a message of the rank with tagRecord.
func (c *call) recvRecord(rank int) ([]byte, error) {
	c.ladder.reset()
	for {
		st, ok, err := c.w.comm.Iprobe(rank, tagRecord)
		if err != nil {
			return nil, c.breakdown(fmt.Errorf("receiving from rank %d: %w", rank, err))
		}
		if ok {
			return c.recvFound(st)
		}
		if c.ladder.polls > 16 {
			if err := c.worldMail(); err != nil {
				return nil, err
			}
		}
		c.ladder.wait(hotStarving, idleNap)
	}
}

func (c *call) recvFound(st transport.Status) ([]byte, error) {
	msg := make([]byte, st.Count)
	req, err := c.w.comm.Irecv(msg, st.Source, st.Tag)
	if err != nil {
		return nil, c.breakdown(fmt.Errorf("receiving from rank %d: %w", st.Source, err))
	}
	c.inFlight = []any{req, msg}
	return msg, c.await(req, len(msg))
}

// laneLog is where a lane puts down what it did. It belongs to the lane's
// goroutine.
type laneLog struct {
	to     *trace.Recorder
	base   time.Time // what times count from
	failed int64     // of the items since the last span
	lowest int64     // of these
}

// fail takes in that the item that is evaluated failed.
func (g *laneLog) fail(index int64) {
	if g == nil {
		return
	}
	if g.failed == 0 || index < g.lowest {
		g.lowest = index
	}
	g.failed++
}

// add puts down the items that were evaluated since the clock was read last.
func (g *laneLog) add(k *laneClock, now time.Duration, index int64) {
	from := k.base.Sub(g.base)
	s := trace.Span{Start: from + k.last, End: from + now, Busy: now - k.last, Items: int64(k.since), Index: index,
		Failed: g.failed, FailedIndex: g.lowest}
	if k.since == 1 {
		s.Longest = s.Busy
	}
	if s.Failed == 0 {
		s.FailedIndex = 0
	}
	g.failed = 0
	g.to.Add(s)
}
