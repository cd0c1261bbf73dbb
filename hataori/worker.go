package hataori

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/hataori/hataori-go/hataori/internal/farm"
	"github.com/hataori/hataori-go/hataori/internal/wire"
	"github.com/hataori/hataori-go/lanes"
)

// flushBytes is the size of results that do not wait.
const flushBytes = 1 << 20

// workerLoop is the coordinator of a rank that is not the root.
type workerLoop struct {
	coordinator
	m       *farm.Worker
	root    int
	size    int // encoded size of an item, −1: variable
	pace    pace
	told    time.Time
	noLanes bool // the root says that items are left which nobody can take

	parts [][]byte // results of the lanes, while they are sent
	spare [][]byte // by lane
}

// run coordinates until the root has said that nothing follows.
func (l *workerLoop) run(ctl *lanes.Control) error {
	l.ctl = ctl
	err := l.loop()
	l.release(err)
	return nil
}

func (l *workerLoop) loop() error {
	l.told = time.Now()
	for {
		turn := l.rec.turn()
		if err := l.flush(); err != nil {
			return err
		}
		got, err := l.mail()
		if err != nil {
			return err
		}
		failed, dropped := l.collect()
		for _, i := range failed {
			l.m.OnFailed(i, l.opts.FirstSeen)
		}
		for _, d := range dropped {
			l.m.OnDropped(d)
		}
		if l.gaveUp() {
			l.m.OnAbort()
		}
		l.lower(l.m.Limit())
		own := l.snapshot()
		said, err := l.step(own)
		if err != nil {
			return err
		}
		if l.m.Done() && len(l.sends) == 0 {
			return nil
		}
		if got || said || len(failed) > 0 {
			l.rec.worked(turn)
			l.ladder.reset()
			continue
		}
		l.rest(own, l.pace.item)
	}
}

// burst is the number of grants taken in before lanes and results are looked
// at again.
const burst = 16

// mail takes in what the root sent and says whether there was anything. It goes
// on as long as grants are due, so that one report answers several.
func (l *workerLoop) mail() (got bool, err error) {
	for range burst {
		source, h, body, ok, err := l.poll()
		if err != nil {
			return got, err
		}
		if !ok {
			break
		}
		got = true
		if source != l.root {
			return got, fmt.Errorf("message of kind %d from rank %d, which is not the root", h.Kind, source)
		}
		if err := l.on(h, body); err != nil {
			return got, fmt.Errorf("from the root: %w", err)
		}
		if !l.m.Expects() {
			break
		}
	}
	if got && l.feed() {
		runtime.Gosched() // the lanes that were woken go first, the last of them on this processor
	}
	return got, nil
}

func (l *workerLoop) on(h wire.Header, body []byte) error {
	switch h.Kind {
	case wire.Grant:
		items, err := wire.ParseItems(h, body, l.size)
		if err != nil {
			return err
		}
		l.recv.keep = true
		return l.m.OnGrant(farm.Range{First: h.First, End: h.First + h.Count}, h.Flags&wire.Pinned != 0, items)
	case wire.Notice:
		if h.First < 0 || h.First > math.MaxUint8 || h.Count < 0 {
			return fmt.Errorf("notice %d of %d", h.First, h.Count)
		}
		if farm.NoticeKind(h.First) == farm.Return {
			l.spill()
		}
		return l.m.OnNotice(farm.NoticeKind(h.First), h.Count)
	case wire.Stop:
		l.noLanes = h.Count != 0
		return l.m.OnStop()
	}
	return fmt.Errorf("message of kind %d", h.Kind)
}

// step lets the machine decide whether there is something to say, and says it.
func (l *workerLoop) step(own farm.Local) (said bool, err error) {
	pending := l.pending()
	p := farm.Pulse{Lanes: own.Healthy, Idle: own.Idle, Finished: pending > 0, Item: l.pace.item}
	if p.Finished && own.Idle == 0 {
		p.Flush = pending > flushBytes || l.ladder.nap > 0 && time.Since(l.told) > farm.FlushTime(l.w.size)
	}
	if l.pace.item == 0 || l.ladder.polls == 0 {
		l.pace.update(l.progress())
		p.Item = l.pace.item
	}
	rep, say := l.m.Step(p)
	if !say {
		return false, nil
	}
	l.m.OnFinished(l.drain())
	var stats []byte
	if rep.Bye {
		stats = appendLaneStats(nil, l.crew.stats())
	}
	msg := wire.AppendHeader(l.buffer(), wire.Header{Kind: wire.Report, Flags: wire.ReportFlags(rep), Epoch: l.w.epoch})
	msg = wire.AppendReport(msg, rep, l.parts, stats)
	l.told = time.Now()
	return true, l.send(msg, l.root)
}

// drain takes the results that the lanes have put out. A lane that is putting
// out one at the moment is left for the next time.
func (l *workerLoop) drain() (n int64) {
	l.parts = l.parts[:0]
	for k := range l.lanes {
		st := &l.lanes[k]
		if st.bytes.Load() == 0 || !st.outMu.TryLock() {
			continue
		}
		n += st.out.Count
		full := st.out.Buf
		st.out.Buf = l.spare[k]
		st.out.Reset()
		st.bytes.Store(0)
		st.outMu.Unlock()
		l.parts = append(l.parts, full)
		l.spare[k] = nil
		if cap(full) <= keepBuffer {
			l.spare[k] = full[:0] // read before the lane gets it back, at the next drain
		}
	}
	return n
}

const laneStatsSize = 7 * 8

func appendLaneStats(b []byte, ls []LaneStats) []byte {
	for _, l := range ls {
		b = binary.LittleEndian.AppendUint64(b, uint64(l.Items))
		b = binary.LittleEndian.AppendUint64(b, uint64(l.Busy))
		b = binary.LittleEndian.AppendUint64(b, uint64(l.Longest))
		b = binary.LittleEndian.AppendUint64(b, uint64(l.Retries))
		b = binary.LittleEndian.AppendUint64(b, uint64(l.Overdue))
		b = binary.LittleEndian.AppendUint64(b, uint64(l.Wait))
		b = binary.LittleEndian.AppendUint64(b, uint64(l.LongestIndex))
	}
	return b
}

func parseLaneStats(b []byte, rank int) ([]LaneStats, error) {
	if len(b)%laneStatsSize != 0 {
		return nil, fmt.Errorf("statistics of rank %d in %d bytes", rank, len(b))
	}
	ls := make([]LaneStats, len(b)/laneStatsSize)
	for k := range ls {
		ls[k] = LaneStats{Rank: rank, Lane: lanes.Lane(k), Items: int(binary.LittleEndian.Uint64(b)),
			Busy: time.Duration(binary.LittleEndian.Uint64(b[8:])), Longest: time.Duration(binary.LittleEndian.Uint64(b[16:])),
			Retries: int(binary.LittleEndian.Uint64(b[24:])), Overdue: int(binary.LittleEndian.Uint64(b[32:])),
			Wait: time.Duration(binary.LittleEndian.Uint64(b[40:])), LongestIndex: int64(binary.LittleEndian.Uint64(b[48:]))}
		b = b[laneStatsSize:]
	}
	return ls, nil
}
