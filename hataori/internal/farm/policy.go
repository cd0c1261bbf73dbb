package farm

import "time"

// What the automatic sizes aim at.
const (
	// batchTime is how long a batch should keep the lanes of its rank busy:
	// a report and its grant cost some 80 µs, because the code that handles them
	// is out of the caches by then.
	batchTime = 8 * time.Millisecond

	// groupTime is the same for a group of ranks, whose relay cuts what it has in
	// store into batches by the same rule: the store must be larger than they.
	groupTime = 2 * batchTime

	// rootTime is what a batch takes of the root's time at least: a report and a
	// grant. With more than batchTime/rootTime/spare ranks a batch is made longer,
	// so that the root is not busy for more than one part in spare of the time.
	rootTime = 3 * time.Microsecond
	spare    = 8

	// prefetchTime is how much work a rank keeps in store while its request
	// travels. Lanes look for messages between items, so that each end may take
	// as long as an item to see one; the coordinators of busy lanes look every
	// two milliseconds or so.
	prefetchTime = 2500 * time.Microsecond

	// ampleTime is what a grant keeps the lanes of a rank busy for at least if the
	// rank need not be answered within prefetchTime: it asks again when half of the
	// grant is left.
	ampleTime = 2 * prefetchTime

	// moveTime is how much work in store is worth a message that takes some of
	// it back.
	moveTime = 500 * time.Microsecond

	// LongItem is the time from which an item is sent only to a lane that has
	// nothing to do: the wait for the answer is under a hundredth of it, and
	// hoarding it would cost more.
	LongItem = 50 * time.Millisecond

	// growth bounds how much larger a batch is than the one before, because the
	// first measurements are made on few items.
	growth = 16

	// maxAsked bounds the grants of a fixed size that a rank asks for ahead.
	maxAsked = 8

	// maxBatch bounds the items of one message.
	maxBatch = 1 << 20
)

// Load is what a rank says about itself when it asks.
type Load struct {
	Lanes int           // healthy lanes
	Idle  int           // lanes without an item
	Item  time.Duration // measured time per item and lane; 0: not yet
	Group bool          // it speaks for a group of ranks whose lanes these are
}

// batchSize is the number of items of the next automatic batch for a rank: a
// half of its share of what is left (guided self-scheduling), no more than
// batchTime's worth, longer where many ranks would keep the root too busy, no
// more than growth times the last one, at least one. With left indices that
// nobody has claimed, all lanes of the world and the number of ranks that ask, it
// costs O(1).
func batchSize(left int64, of Load, all, ranks int, last int64) int64 {
	lanes := int64(max(of.Lanes, 1))
	share := left * lanes / int64(2*max(all, of.Lanes, 1))
	n, least := lanes, int64(1)
	switch {
	case of.Item > 0 && of.Group:
		// Whatever lane of the group is free next takes the next item, so that
		// long ones may wait there, too.
		n = int64(max(groupTime, spare*rootTime*time.Duration(ranks))*time.Duration(lanes)/of.Item) + 1
		least = int64(rootTime*time.Duration(ranks)*time.Duration(lanes)/of.Item) + 1
	case of.Item >= max(LongItem, spare*rootTime*time.Duration(all)):
		n = int64(of.Idle)
	case of.Item > 0:
		n = max(int64(max(batchTime, spare*rootTime*time.Duration(ranks))/of.Item), 1) * lanes
		least = max(int64(rootTime*time.Duration(ranks)/of.Item), 1)
	}
	if last > 0 {
		n = min(n, growth*last)
	}
	return max(min(n, max(share, least), maxBatch), 1)
}

// FlushTime is how long the results of a rank whose lanes are all busy wait at
// most: a blink, or longer in a world of so many ranks that their reports would
// keep the root too busy.
func FlushTime(size int) time.Duration {
	return max(10*time.Millisecond, spare*rootTime/2*time.Duration(size))
}

// lowWater is the number of items in store below which a rank asks for more: what
// keeps it busy until the answer comes, and half of the last batch, because the
// root needs time in proportion to pack the next one and to unpack its results.
func lowWater(of Load, last int64) int64 {
	if of.Group && of.Item > 0 {
		return min(max(int64(prefetchTime*time.Duration(of.Lanes)/of.Item)+1, last/2), maxBatch)
	}
	if of.Item == 0 || of.Item >= LongItem {
		return int64(min(of.Idle, 1))
	}
	lanes := int64(of.Lanes)
	return min(max(int64((prefetchTime+of.Item-1)/of.Item)*lanes, last/2), maxBatch)
}

// ample reports whether a rank that was granted so many items will not need an
// answer for a while.
func ample(last int64, of Load) bool {
	return of.Lanes == 0 || of.Item > 0 && time.Duration(last)*of.Item/time.Duration(of.Lanes) >= ampleTime
}

// worthMoving reports whether n items in store at a rank are worth a message
// that takes some of them back.
func worthMoving(n int64, of Load) bool {
	return n > 0 && (of.Item == 0 || time.Duration(n)*of.Item/time.Duration(max(of.Lanes, 1)) >= moveTime)
}
