package simulate

import "time"

type eventKind uint8

const (
	wakeUp  eventKind = iota // the coordinator of a node polls
	itemEnd                  // a lane of a node ends its item
	arrival                  // a message reaches a node
	flush                    // results of a node may have waited long enough
)

type event struct {
	at   time.Duration
	seq  uint64 // order of what happens at the same time
	kind eventKind
	node int32
	arg  int32 // lane, message
}

// events is a binary heap, the earliest event first.
type events struct {
	heap []event
	seq  uint64
}

func (q *events) add(at time.Duration, kind eventKind, node, arg int) {
	q.seq++
	h := append(q.heap, event{at, q.seq, kind, int32(node), int32(arg)})
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(&h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	q.heap = h
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// next removes the earliest event. There must be one.
func (q *events) next() event {
	h := q.heap
	first := h[0]
	n := len(h) - 1
	h[0] = h[n]
	h = h[:n]
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && h[c+1].before(&h[c]) {
			c++
		}
		if !h[c].before(&h[i]) {
			break
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
	q.heap = h
	return first
}
