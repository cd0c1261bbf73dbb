// Package simulate runs the machines of package farm, the real ones, in worlds
// of simulated ranks on virtual clocks: lanes, coordinators that wait on the
// ladder, messages that take time on the wire and at both ends. It answers
// questions that no machine at hand can: how a schedule ends on 64 ranks of
// uneven speed, or at how many ranks one root is busy all the time.
//
// A run is deterministic: the same [Config] gives the same [Result] to the
// nanosecond. It models what costs time, not what can go wrong: nothing fails,
// and no payload has a size of its own. What it does not know are the costs of
// the network beyond a latency (contention, matching of many unexpected
// messages) and lanes that share cores.
package simulate
