package store

// bitset is a set of row indices, in pages so that memory follows the rows
// that are there rather than the highest index.
type bitset struct {
	pages map[int64]*[1024]uint64
	count int64
	limit int64 // highest member + 1
}

const pageBits = 16

func newBitset() *bitset { return &bitset{pages: map[int64]*[1024]uint64{}} }

func (b *bitset) has(i int64) bool {
	p := b.pages[i>>pageBits]
	return p != nil && p[i>>6&1023]&(1<<(i&63)) != 0
}

func (b *bitset) set(i int64) {
	p := b.pages[i>>pageBits]
	if p == nil {
		p = new([1024]uint64)
		b.pages[i>>pageBits] = p
	}
	if p[i>>6&1023]&(1<<(i&63)) == 0 {
		p[i>>6&1023] |= 1 << (i & 63)
		b.count++
		b.limit = max(b.limit, i+1)
	}
}
