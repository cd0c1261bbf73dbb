package hataori

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/hataori/hataori-go/hataori/internal/farm"
	"github.com/hataori/hataori-go/hataori/internal/wire"
	"github.com/hataori/hataori-go/lanes"
)

// flushBytes is the size of results that do not wait.
const flushBytes = 1 << 20

// upward is the side of a coordinator that faces the rank which grants to it: the
// root or a relay.
type upward struct {
	coordinator
	parent  int
	ranks   int       // that one and all that it grants to
	keyed   bool      // items come with their keys
	size    int       // encoded size of an item, −1: variable
	since   time.Time // when results were first seen to wait; zero: not since the last report
	noLanes bool      // the root says that items are left which nobody can take

	parts [][]byte // results of the lanes, while they are sent
	spare [][]byte // by lane
}

// workerLoop is the coordinator of a rank that grants to nobody.
type workerLoop struct {
	upward
	m *farm.Worker
}

// run coordinates until the root has said that nothing follows.
func (l *workerLoop) run(ctl *lanes.Control) error {
	l.coordinate(ctl)
	return nil
}

// turn is one turn, see turns.
func (l *workerLoop) turn() (moved, done bool, err error) {
	if err := l.flush(); err != nil {
		return false, false, err
	}
	got := false
	if !l.speak {
		if got, err = l.mail(); err != nil {
			return false, false, err
		}
	}
	if !got && !l.speak && len(l.sends) == 0 && l.resting() {
		return false, false, nil
	}
	failed := l.takeIn()
	l.own = l.snapshot()
	said, err := l.step(l.own)
	l.watchLanes()
	l.enough.Store(l.m.Enough())
	return got || said || failed, l.m.Done() && len(l.sends) == 0, err
}

// takeIn tells the machine what became of items, and says whether any failed.
func (l *workerLoop) takeIn() bool {
	failed, dropped := l.collect()
	for _, i := range failed {
		l.m.OnFailedKey(i.place, i.index, l.opts.FirstSeen)
	}
	for _, d := range dropped {
		l.m.OnDropped(d)
	}
	if l.gaveUp() {
		l.m.OnAbort()
	}
	l.lower(l.m.Limit())
	return len(failed) > 0
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
		if source != l.parent {
			return got, fmt.Errorf("message of kind %d from rank %d, which does not grant to this rank", h.Kind, source)
		}
		if err := l.on(h, body); err != nil {
			return got, fmt.Errorf("from rank %d: %w", source, err)
		}
		if !l.m.Expects() {
			break
		}
	}
	if got {
		l.fed = l.feed() || l.fed
	}
	return got, nil
}

func (l *workerLoop) on(h wire.Header, body []byte) error {
	if h.Kind != wire.Grant {
		return l.onOrder(h, l.m)
	}
	items := l.emptyItems()
	g, err := l.onGrant(items, h, body)
	if err != nil {
		return err
	}
	if items.Keyed() && !l.keyed {
		l.keyed = true
		l.q.SetOrder(func(load any, i int64) int64 { return load.(*wire.Items).Key(i) }, nil)
	}
	return l.m.OnGrant(g, h.Flags&wire.Pinned != 0, items)
}

// emptyItems returns items for a grant: ones that every lane is done with, or new ones.
func (l *workerLoop) emptyItems() *wire.Items {
	if s := l.snapshot(); s.Idle == s.Healthy {
		if items, ok := l.q.Reuse().(*wire.Items); ok {
			return items
		}
	}
	return new(wire.Items)
}

// onGrant cuts a grant into items, and keeps the message if they lie in it.
func (u *upward) onGrant(items *wire.Items, h wire.Header, body []byte) (farm.Range, error) {
	u.recv.keep = len(body) > wire.Small
	return farm.Range{First: h.First, End: h.First + h.Count}, items.Parse(h, body, u.size)
}

// onOrder takes in what else may come from the parent.
func (u *upward) onOrder(h wire.Header, m interface {
	OnNotice(kind farm.NoticeKind, n int64) error
	OnStop() error
}) error {
	switch h.Kind {
	case wire.Notice:
		if h.First < 0 || h.First > math.MaxUint8 || h.Count < 0 {
			return fmt.Errorf("notice %d of %d", h.First, h.Count)
		}
		switch farm.NoticeKind(h.First) {
		case farm.Return:
			u.spill()
		case farm.Superseded:
			u.spill()
			u.supersede(h.Count)
		}
		return m.OnNotice(farm.NoticeKind(h.First), h.Count)
	case wire.Stop:
		u.noLanes = h.Count != 0
		u.final = h.First
		return m.OnStop()
	}
	return fmt.Errorf("message of kind %d", h.Kind)
}

// step lets the machine decide whether there is something to say, and says it.
func (l *workerLoop) step(own farm.Local) (said bool, err error) {
	pending := l.pending()
	p := farm.Pulse{Lanes: own.Healthy, Idle: own.Idle, Finished: pending > 0, Item: l.measure()}
	if p.Finished && own.Idle == 0 {
		p.Flush = pending > flushBytes || l.waited()
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
	return true, l.say(rep, stats)
}

// waited reports whether results have waited for as long as they may.
func (u *upward) waited() bool {
	if u.since.IsZero() {
		u.since = time.Now()
		return false
	}
	return time.Since(u.since) > farm.FlushTime(u.ranks)
}

// say sends a report with the results in parts.
func (u *upward) say(rep farm.Report, stats []byte) error {
	msg := wire.AppendHeader(u.buffer(), wire.Header{Kind: wire.Report, Flags: wire.ReportFlags(rep), Epoch: u.w.epoch})
	u.since = time.Time{}
	return u.send(wire.AppendReport(msg, rep, u.parts, stats), u.parent)
}

// drain takes the results that the lanes have put out. A lane that is putting
// out one at the moment is left for the next time.
func (l *upward) drain() (n int64) {
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

const laneStatsSize = 14 * 8

func appendLaneStats(b []byte, ls []LaneStats) []byte {
	for _, l := range ls {
		f := ItemInFlight{Index: -1}
		if l.InFlight != nil {
			f = *l.InFlight
		}
		for _, v := range [...]int64{int64(l.Rank), int64(l.Lane), int64(l.Items), int64(l.Busy), int64(l.Longest),
			int64(l.Retries), int64(l.Overdue), int64(l.Wait), l.LongestIndex,
			int64(l.Failed), int64(l.Cancelled), int64(f.Index), int64(f.Ran), int64(f.Late)} {
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		}
	}
	return b
}

// parseLaneStats reads what appendLaneStats wrote, in a world of that many ranks.
func parseLaneStats(b []byte, size int) ([]LaneStats, error) {
	if len(b)%laneStatsSize != 0 {
		return nil, fmt.Errorf("statistics of %d bytes", len(b))
	}
	ls := make([]LaneStats, len(b)/laneStatsSize)
	for k := range ls {
		var v [laneStatsSize / 8]int64
		for i := range v {
			v[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
		}
		if v[0] < 0 || v[0] >= int64(size) || v[1] < 0 || v[1] > math.MaxInt32 {
			return nil, fmt.Errorf("statistics of lane %d of rank %d", v[1], v[0])
		}
		ls[k] = LaneStats{Rank: int(v[0]), Lane: lanes.Lane(v[1]), Items: int(v[2]), Busy: time.Duration(v[3]), Longest: time.Duration(v[4]),
			Retries: int(v[5]), Overdue: int(v[6]), Wait: time.Duration(v[7]), LongestIndex: v[8], Failed: int(v[9]), Cancelled: int(v[10])}
		if v[11] >= 0 {
			ls[k].InFlight = &ItemInFlight{Index: int(v[11]), Rank: int(v[0]), Lane: lanes.Lane(v[1]), Ran: time.Duration(v[12]), Late: time.Duration(v[13])}
		}
		b = b[laneStatsSize:]
	}
	return ls, nil
}
