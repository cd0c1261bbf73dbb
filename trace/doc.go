// Package trace holds what the lanes of a call did when: the data, a bounded
// recorder, the file, a summary in words, and JSON for Perfetto.
//
//	var rec trace.Recording // on every rank
//	results, err := hataori.PmapLanes(ctx, world, ex, hataori.Options{Trace: &rec}, items, f)
//	if root {
//		_, err = rec.WriteTo(file) // for: hataori report FILE
//	}
//
// # What is recorded
//
// A lane records spans: one for each item that takes more than some
// microseconds, one for a group of shorter ones. Between two spans the lane
// waited. The number of spans of a lane is bounded: when its buffer is full,
// neighbours are joined that together are shorter than about a thousandth of
// the time so far, so that a recording of any length shows the whole call, and
// long items stay as they are.
//
// # Clocks
//
// All times are by the root's clock, from the beginning of the work. Each rank
// measures the offset of its clock at both ends of the call, by a few messages
// to the root and back of which the fastest counts (Cristian's method), and its
// times are moved by what lies between the two, so that drift does not matter.
// What can be wrong is at most half of that fastest way, [Rank.ClockError].
//
// # Limits
//
// A call whose world broke, or whose process was killed, leaves no recording.
// One that ended with an error or was cancelled does.
package trace
