package hataori

import (
	"fmt"
	"slices"
	"time"

	"github.com/hataori/hataori-go/hataori/internal/farm"
	"github.com/hataori/hataori-go/hataori/internal/wire"
)

// cargo is the typed side of a rank that grants: items into bytes, bytes into
// results.
type cargo interface {
	// load appends the body of a grant of the range to msg, ending it before
	// an item that cannot be encoded, or that would exceed max bytes and is
	// not the first. It returns where it ended and, if it was a fault, which.
	load(msg []byte, r farm.Range, max int) ([]byte, int64, *fault)

	// variable reports whether encoded items have different lengths.
	variable() bool

	// keyed reports whether every item comes after its key.
	keyed() bool

	// watch expects more than one result of the index.
	watch(i int64)

	// unload puts the results, of which account is told first, run by run. Those
	// that cannot be decoded are returned as faults.
	unload(results []byte, account func(farm.Range) error) ([]*fault, error)
}

// dealer is the side of a coordinator that faces the ranks it grants to. To the
// machine a rank's number is its place among the peers.
type dealer struct {
	c     *coordinator
	m     dealing
	cargo cargo
	tree  *tree
	peers []int // this rank, then those it grants to, ascending
	max   int   // Options.MaxBytes
	gone  []LaneStats
	late  overdue
	dry   dry

	root   *farm.Root // with copies, m
	source int        // of the report that is taken in
	place  int        // and its place among the peers

	account func(farm.Range) error // for unload: made once
}

// dealing is what the machines of ranks that grant have in common.
type dealing interface {
	OnResults(place int, r farm.Range) error
	OnReport(place int, rep farm.Report) error
	OnShrunk(place int, g farm.Range, cut int64)
	OnFailed(index int64)
	Limit() int64
	Dry(place int) time.Duration
	Outstanding(place int) []farm.Range
}

// onReport takes in a message that is not of the rank that grants to this one.
func (d *dealer) onReport(source int, h wire.Header, body []byte) error {
	k, found := slices.BinarySearch(d.peers[1:], source)
	if d.root != nil && source == d.peers[0] {
		k, found = -1, true
	}
	if h.Kind != wire.Report || !found {
		return fmt.Errorf("message of kind %d from rank %d, to which this rank does not grant", h.Kind, source)
	}
	place := k + 1
	rep, results, stats, err := wire.ParseReport(h, body)
	if err != nil {
		return fmt.Errorf("from rank %d: %w", source, err)
	}
	if d.root == nil {
		d.dry.heard(place, d.c.now())
	}
	d.source = source
	if d.place = place; d.account == nil {
		d.account = func(r farm.Range) error { return d.m.OnResults(d.place, r) }
	}
	faults, err := d.cargo.unload(results, d.account)
	if err != nil {
		return fmt.Errorf("from rank %d: %w", source, err)
	}
	for _, f := range faults {
		if d.root != nil {
			d.c.note(f)
			d.root.OnFailed(f.index)
			continue
		}
		d.c.fail(f) // the machine hears of it with the failures of this rank's own lanes
	}
	if rep.Bye {
		ls, err := parseLaneStats(stats, d.c.w.size)
		if err != nil {
			return fmt.Errorf("from rank %d: %w", source, err)
		}
		d.gone = append(d.gone, ls...)
	}
	if err := d.m.OnReport(place, rep); err != nil {
		return fmt.Errorf("from rank %d, at place %d: %w", source, place, err)
	}
	d.expect(place)
	return nil
}

// expect takes in that what a rank holds has changed.
func (d *dealer) expect(place int) {
	if d.root == nil { // else its own lanes are a rank, too
		d.dry.expect(place, d.m.Dry(place), d.c.now())
	}
}

// soon is when a rank may ask that has nothing to do until it is answered.
func (d *dealer) soon() int64 { return d.dry.first() }

// do carries out what the machine decided. noLanes goes with a stop.
func (d *dealer) do(e farm.Effect, noLanes bool) error {
	c := d.c
	h := wire.Header{Epoch: c.w.epoch}
	switch e.Kind {
	case farm.Grant:
		return d.grant(e, h)
	case farm.Notify:
		h.Kind, h.First, h.Count = wire.Notice, int64(e.Notice), e.N
	case farm.Stop:
		h.Kind = wire.Stop
		if noLanes {
			h.Count = 1
		}
		if d.root != nil {
			h.First = d.root.Failed()
		}
	}
	return c.send(wire.AppendHeader(c.buffer(), h), d.peers[e.Rank])
}

func (d *dealer) grant(e farm.Effect, h wire.Header) error {
	c := d.c
	h.Kind, h.First, h.Count = wire.Grant, e.Range.First, e.Range.Len()
	if e.Pinned {
		h.Flags |= wire.Pinned
	}
	if e.Copy {
		d.cargo.watch(e.Range.First)
	}
	if d.cargo.variable() {
		h.Flags |= wire.Variable
	}
	if d.cargo.keyed() {
		h.Flags |= wire.Keyed
	}
	msg, end, bad := d.cargo.load(wire.AppendHeader(c.buffer(), h), e.Range, d.max)
	if end < e.Range.End {
		d.m.OnShrunk(e.Rank, e.Range, end)
		wire.SetCount(msg, end-e.Range.First)
	}
	if bad != nil {
		if d.root != nil {
			c.note(bad)
		} else {
			c.fail(bad)
		}
		d.m.OnFailed(bad.index)
	}
	if end == e.Range.First {
		c.recycle(msg)
		return nil
	}
	d.expect(e.Rank)
	return c.send(msg, d.peers[e.Rank])
}
