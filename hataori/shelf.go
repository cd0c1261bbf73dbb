package hataori

import (
	"fmt"
	"sync/atomic"

	"github.com/hataori/hataori-go/hataori/internal/farm"
	"github.com/hataori/hataori-go/hataori/internal/wire"
)

// shelf keeps the encoded items of a relay's grants, each until none of its
// indices is here any more: unstarted ones may come back from one rank of the
// group and go to another. Lanes look items up while the coordinator adds and
// takes; an index is looked up only by who has it.
type shelf struct {
	grants atomic.Pointer[[]*shelved] // replaced as a whole; oldest first
}

type shelved struct {
	farm.Range
	items *wire.Items
	left  int64 // indices that are here; the coordinator's
}

func (s *shelf) list() []*shelved {
	if p := s.grants.Load(); p != nil {
		return *p
	}
	return nil
}

// add puts the items of a grant on the shelf.
func (s *shelf) add(r farm.Range, items *wire.Items) {
	old := s.list()
	list := append(make([]*shelved, 0, len(old)+1), old...)
	list = append(list, &shelved{r, items, r.Len()})
	s.grants.Store(&list)
}

// find is the grant of an index that is here, else nil. Of several grants that had
// it the newest counts, the others have given it back; the bytes are the same.
func (s *shelf) find(i int64) *wire.Items {
	list := s.list()
	for k := len(list) - 1; k >= 0; k-- {
		if g := list[k]; g.First <= i && i < g.End {
			return g.items
		}
	}
	return nil
}

// at is the encoded item of an index that is here.
func (s *shelf) at(i int64) []byte { return s.find(i).At(i) }

// key is the key of an index that is here. Of one that is not, of which a peer
// speaks by mistake, it says anything: the machine finds the mistake.
func (s *shelf) key(i int64) int64 {
	if it := s.find(i); it != nil {
		return it.Key(i)
	}
	return i
}

// take records that the indices are not here any more.
func (s *shelf) take(r farm.Range) error {
	list := s.list()
	if err := takeFrom(list, r); err != nil {
		return err
	}
	kept := make([]*shelved, 0, len(list))
	for _, g := range list {
		if g.left > 0 {
			kept = append(kept, g)
		}
	}
	if len(kept) < len(list) {
		s.grants.Store(&kept)
	}
	return nil
}

func takeFrom(list []*shelved, r farm.Range) error {
	for k := len(list) - 1; k >= 0 && r.Len() > 0; k-- {
		g := list[k]
		if r.End <= g.First || g.End <= r.First {
			continue
		}
		if r.First < g.First {
			if err := takeFrom(list[:k], farm.Range{First: r.First, End: g.First}); err != nil {
				return err
			}
			r.First = g.First
		}
		end := min(r.End, g.End)
		if g.left -= end - r.First; g.left < 0 {
			return fmt.Errorf("items of the grant [%d, %d) left this relay twice", g.First, g.End)
		}
		r.First = end
	}
	if r.Len() > 0 {
		return fmt.Errorf("items [%d, %d) are not at this relay", r.First, r.End)
	}
	return nil
}

// transit is the cargo of a relay: items and results that stay encoded.
type transit struct {
	shelf
	in, out int    // encoded sizes of an item and a result, −1: variable
	results []byte // of the group, not yet passed on
	count   int64
}

func (t *transit) watch(int64) {} // calls with copies have no relays

func (t *transit) variable() bool { return t.in < 0 }

// keyed: all grants of a call are, or none.
func (t *transit) keyed() bool {
	list := t.list()
	return len(list) > 0 && list[0].items.Keyed()
}

func (t *transit) load(msg []byte, r farm.Range, max int) ([]byte, int64, *fault) {
	size := t.in
	if size >= 0 && t.keyed() {
		size += wire.KeySize
	}
	k := startPacking(msg, size, r, max, func(msg []byte, i int64) ([]byte, error) { return append(msg, t.find(i).Raw(i)...), nil })
	k.run()
	k.close()
	return k.msg, k.i, nil
}

func (t *transit) unload(results []byte, account func(farm.Range) error) ([]*fault, error) {
	n, err := t.leave(results, account)
	t.results = append(t.results, results...)
	t.count += n
	return nil, err
}

// leave takes the items of results off the shelf, telling account of each run
// first, and counts them.
func (t *transit) leave(results []byte, account func(farm.Range) error) (n int64, err error) {
	rd := wire.ResultReader{Size: t.out, Data: results}
	err = rd.Runs(func(first, count int64) error {
		r := farm.Range{First: first, End: first + count}
		if account != nil {
			if err := account(r); err != nil {
				return err
			}
		}
		n += count
		return t.take(r)
	})
	return n, err
}
