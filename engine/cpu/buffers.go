package cpu

import (
	"math/bits"
	"sync"

	"github.com/hataori/hataori-go/engine"
)

// BufferStats are the counters of an engine's buffers.
type BufferStats struct {
	LiveBytes int64  // of tensors not yet released
	KeptBytes int64  // of released tensors, kept for later ones
	Reused    uint64 // allocations served from kept memory
	Fresh     uint64 // allocations served with new memory
}

// Buffers returns the counters of the engine's buffers.
//
// Released memory is kept by size class (four per power of two, of 64 KiB and more
// thirty-two, so that at most 3 % is given away) up to Options.KeepBytes; what does not fit is left to the garbage collector. Those
// of 4 MiB and more lie in large pages where Linux grants them (madvise). The
// engine owns it; Close drops it. Limits count what the classes give.
func (e *Engine) Buffers() BufferStats {
	e.buffers.mu.Lock()
	defer e.buffers.mu.Unlock()
	return e.buffers.stats
}

type buffers struct {
	mu          sync.Mutex
	keep, limit int64
	most        int64 // of the machine; 0: not yet asked
	stats       BufferStats
	free        map[int][][]byte // by class size
	closed      bool
}

const (
	smallest   = 64
	addressing = 1 << 47 // bytes that a process can address
)

// classSize rounds up to four sizes per power of two, or thirty-two.
func classSize(n int) int {
	if n <= smallest {
		return smallest
	}
	step := 1 << (bits.Len(uint(n-1)) - 3)
	if n >= 64<<10 {
		step >>= 3
	}
	return (n + step - 1) &^ (step - 1)
}

func (b *buffers) get(n int) ([]byte, error) {
	size := classSize(n)
	b.mu.Lock()
	if err := b.room(int64(size)); err != nil {
		b.mu.Unlock()
		return nil, err
	}
	if live := b.stats.LiveBytes + int64(size); b.limit > 0 && live > b.limit {
		b.mu.Unlock()
		return nil, &engine.MemoryError{Op: "Alloc", Bytes: live, Limit: b.limit}
	}
	b.stats.LiveBytes += int64(size)
	if list := b.free[size]; len(list) > 0 {
		last := len(list) - 1
		m := list[last]
		list[last] = nil
		b.free[size] = list[:last]
		b.stats.KeptBytes -= int64(size)
		b.stats.Reused++
		b.mu.Unlock()
		return m, nil
	}
	b.stats.Fresh++
	b.mu.Unlock()
	if size >= 2*hugePage {
		return wide(size), nil
	}
	return engine.AlignedBytes(size), nil
}

// muchBytes is from where it is asked what the machine holds.
const muchBytes = 1 << 30

// room refuses what the machine cannot hold beside the live tensors: the runtime,
// or the system, would end the process. The caller holds the lock.
func (b *buffers) room(size int64) error {
	all := b.stats.LiveBytes + size
	if all < muchBytes {
		return nil
	}
	if b.most == 0 {
		b.most = limit()
	}
	if all > b.most {
		return &engine.MemoryError{Op: "Alloc", Bytes: all, Limit: b.most}
	}
	return nil
}

func (b *buffers) put(m []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	size := int64(len(m))
	b.stats.LiveBytes -= size
	if b.closed || b.stats.KeptBytes+size > b.keep {
		return
	}
	if b.free == nil {
		b.free = make(map[int][][]byte)
	}
	b.free[len(m)] = append(b.free[len(m)], m)
	b.stats.KeptBytes += size
}

func (b *buffers) drop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.free, b.stats.KeptBytes = true, nil, 0
}
