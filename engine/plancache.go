package engine

import (
	"fmt"
	"reflect"
	"sync"
	"unique"
)

// DefaultPlans is the number of kernels that a PlanCache keeps by default.
const DefaultPlans = 4096

// PlanCache keeps bound kernels.
//
//   - Key: the target, the operation, and the specs of inputs and outputs.
//   - Owner: whoever made it. Engines may share one; kernels are immutable, a
//     look-up is over before the kernel runs, so engines that share a cache
//     never wait for each other's work.
//   - Bound: a number of kernels; the least recently used one goes. A kernel
//     that went stays valid for those who hold it.
//   - Two simultaneous misses of one key both bind; the first stored is what
//     both get.
//
// The zero value is an empty cache of DefaultPlans kernels. Safe for concurrent use.
type PlanCache struct {
	mu    sync.Mutex
	max   int
	plans map[planKey]*plan
	lru   plan // ring: lru.next was used last
	stats CacheStats
}

// CacheStats are the counters of a cache since it was made.
type CacheStats struct {
	Hits, Misses, Evictions uint64
	Entries                 int
}

type plan struct {
	key        planKey
	kernel     Kernel
	prev, next *plan
}

// keySpecs specs lie in the key itself; more are interned.
const keySpecs = 4

type planKey struct {
	op      Op
	target  unique.Handle[Target]
	in, out int // out −1: inferred
	specs   [keySpecs]Spec
	rest    any // unique.Handle[specChunk] or nil
}

type specChunk struct {
	specs [keySpecs]Spec
	rest  any
}

// NewPlanCache returns an empty cache of at most max kernels; 0 means
// DefaultPlans.
func NewPlanCache(max int) *PlanCache { return &PlanCache{max: max} }

// Stats returns the counters.
func (c *PlanCache) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Entries = len(c.plans)
	return s
}

// Binder makes the kernel of a miss.
type Binder func(op Op, in, out []Spec) (Kernel, error)

// Bind returns the kernel kept for target, op and specs, or the one that bind
// makes. Failures are not kept. A hit allocates nothing for up to four specs.
// For engines.
func (c *PlanCache) Bind(target unique.Handle[Target], op Op, in, out []Spec, bind Binder) (Kernel, error) {
	if op == nil || !reflect.TypeOf(op).Comparable() {
		return nil, &UnsupportedError{Op: fmt.Sprintf("%T", op), Provider: target.Value().Kind, Reason: "an operation is a comparable value"}
	}
	key := planKey{op: op, target: target, in: len(in), out: len(out)}
	if out == nil {
		key.out = -1
	}
	if len(in)+len(out) <= keySpecs {
		copy(key.specs[:], in)
		copy(key.specs[len(in):], out)
	} else {
		key.spill(in, out)
	}
	if k := c.lookup(&key); k != nil {
		return k, nil
	}
	k, err := bind(op, in, out)
	if err != nil {
		return nil, err
	}
	return c.store(&key, k), nil
}

// spill puts the first specs into the key and interns the others.
func (k *planKey) spill(in, out []Spec) {
	all := append(append(make([]Spec, 0, len(in)+len(out)), in...), out...)
	all = all[copy(k.specs[:], all):]
	for len(all) > 0 {
		n := (len(all) - 1) / keySpecs * keySpecs
		var c specChunk
		copy(c.specs[:], all[n:])
		c.rest = k.rest
		k.rest = unique.Make(c)
		all = all[:n]
	}
}

func (c *PlanCache) lookup(key *planKey) Kernel {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.plans[*key]
	if p == nil {
		c.stats.Misses++
		return nil
	}
	c.stats.Hits++
	if c.lru.next != p {
		p.unlink()
		c.linkFirst(p)
	}
	return p.kernel
}

func (c *PlanCache) store(key *planKey, k Kernel) Kernel {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plans == nil {
		c.plans = make(map[planKey]*plan)
		c.lru.prev, c.lru.next = &c.lru, &c.lru
	}
	if p := c.plans[*key]; p != nil {
		return p.kernel
	}
	limit := c.max
	if limit <= 0 {
		limit = DefaultPlans
	}
	for len(c.plans) >= limit {
		last := c.lru.prev
		last.unlink()
		delete(c.plans, last.key)
		c.stats.Evictions++
	}
	p := &plan{key: *key, kernel: k}
	c.plans[*key] = p
	c.linkFirst(p)
	return k
}

func (p *plan) unlink() { p.prev.next, p.next.prev = p.next, p.prev }

func (c *PlanCache) linkFirst(p *plan) {
	p.prev, p.next = &c.lru, c.lru.next
	p.prev.next, p.next.prev = p, p
}

// ExtensionCache is an engine's cache for one extension family.
//
//   - Key: any comparable value of the family's own.
//   - Owner: the engine; Close empties it.
//   - Bound: a number of entries; the least recently stored one goes.
//   - Two simultaneous misses both compute; the last stored stays.
//
// Safe for concurrent use. Entries must not hold the engine.
type ExtensionCache struct {
	mu      sync.Mutex
	max     int
	entries map[any]any
	order   []any // keys, oldest first
	stats   CacheStats
}

// NewExtensionCache returns an empty cache of at most max > 0 entries. For
// engines.
func NewExtensionCache(max int) *ExtensionCache {
	return &ExtensionCache{max: max, entries: make(map[any]any)}
}

// Load returns the value stored under key.
func (c *ExtensionCache) Load(key any) (value any, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if value, ok = c.entries[key]; ok {
		c.stats.Hits++
	} else {
		c.stats.Misses++
	}
	return value, ok
}

// Store keeps value under key.
func (c *ExtensionCache) Store(key, value any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.entries[key]; !ok {
		if len(c.order) >= c.max {
			delete(c.entries, c.order[0])
			c.order = append(c.order[:0], c.order[1:]...)
			c.stats.Evictions++
		}
		c.order = append(c.order, key)
	}
	c.entries[key] = value
}

// Clear empties the cache.
func (c *ExtensionCache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
	c.order = nil
}

// Stats returns the counters.
func (c *ExtensionCache) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Entries = len(c.entries)
	return s
}
