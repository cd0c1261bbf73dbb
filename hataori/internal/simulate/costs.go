package simulate

import (
	"math"
	"math/rand/v2"
	"time"
)

// Costs is what things take, on the coordinators and between them. The zero
// value of a field is taken as it is; start from [Typical].
type Costs struct {
	Latency time.Duration // of a message between two ranks, without its ends
	Receive time.Duration // coordinator's time for a message that comes in, and for what it decides then
	Send    time.Duration // and for one that goes out
	Item    time.Duration // root's time to encode one item or decode one result; a relay's to pass it on
	Claim   time.Duration // lane's time per item to claim it, decode it and encode its result
	Wake    time.Duration // from a grant in a rank's queue to a lane that waited for it
	Poll    time.Duration // from one hot poll of a coordinator to the next
	Nap     time.Duration // what the operating system adds to a nap
}

// Typical are costs in the range of what two ranks on one node show under either
// MPI with 8-byte items and results. One null item per message and one message in
// flight takes 4 to 6 µs there: two latencies, two ends at either rank and a
// wake-up of a lane; eight in flight 2.1 to 3.3 µs, which is the busier rank's two
// ends alone. A short sleep is late by the timer slack of Linux, 50 µs. Item and
// Claim are estimates.
var Typical = Costs{
	Latency: time.Microsecond,
	Receive: 1500 * time.Nanosecond,
	Send:    1500 * time.Nanosecond,
	Item:    25 * time.Nanosecond,
	Claim:   60 * time.Nanosecond,
	Wake:    300 * time.Nanosecond,
	Poll:    500 * time.Nanosecond,
	Nap:     55 * time.Microsecond,
}

// Constant returns n items of the same time.
func Constant(n int, d time.Duration) []time.Duration {
	items := make([]time.Duration, n)
	for i := range items {
		items[i] = d
	}
	return items
}

// Ascending returns n items whose times grow evenly from 0 to 2·mean.
func Ascending(n int, mean time.Duration) []time.Duration {
	items := make([]time.Duration, n)
	for i := range items {
		items[i] = time.Duration(float64(2*mean) * (float64(i) + 0.5) / float64(n))
	}
	return items
}

// Descending is the reverse of Ascending.
func Descending(n int, mean time.Duration) []time.Duration {
	items := Ascending(n, mean)
	for i := range n / 2 {
		items[i], items[n-1-i] = items[n-1-i], items[i]
	}
	return items
}

// Pareto returns n items whose times have the survival function (least/t)^shape.
func Pareto(n int, least time.Duration, shape float64, seed uint64) []time.Duration {
	rng := rand.New(rand.NewPCG(seed, 1))
	items := make([]time.Duration, n)
	for i := range items {
		items[i] = time.Duration(float64(least) * math.Pow(1-rng.Float64(), -1/shape))
	}
	return items
}

// WithOne returns n items of time d, but the one at place i takes long.
func WithOne(n int, d time.Duration, i int, long time.Duration) []time.Duration {
	items := Constant(n, d)
	items[i] = long
	return items
}
