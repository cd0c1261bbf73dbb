package trace_test

import (
	"bytes"
	"fmt"
	"log"
	"time"

	"github.com/hataori/hataori-go/trace"
)

// A call fills the recording that is its Options.Trace. Here it is made by hand:
// lane 1 waits for half of the time.
func Example() {
	span := func(from, to time.Duration, item int64) trace.Span {
		return trace.Span{Start: from, End: to, Busy: to - from, Items: 1, Longest: to - from, Index: item}
	}
	rec := trace.Recording{Calls: []*trace.Call{{Kind: "PmapLanes", Number: 1, Elapsed: 2 * time.Second, Ranks: []trace.Rank{{Lanes: []trace.Lane{
		{Spans: []trace.Span{span(0, 2*time.Second, 0)}},
		{Spans: []trace.Span{span(0, time.Second, 1)}},
	}}}}}}
	var file bytes.Buffer
	if _, err := rec.WriteTo(&file); err != nil {
		log.Fatal(err)
	}
	again, err := trace.Read(&file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(again.Calls[0].Summary())
	// Output:
	// PmapLanes, call 1: 2 items on 1 rank, 2 lanes, in 2s
	// lanes were busy for 75 % of the time; they waited for 0 % before their first item, 0 % between items, 25 % after their last
	// imbalance 1.33; the busiest is lane 0 of rank 0
	// longest: item 0 2s (rank 0 lane 0), item 1 1s (rank 0 lane 1)
	// limited by: few items: 2 for 2 lanes, which cost about 25 % of the lanes' time. Cut the work into more items (ten or more for a lane), or use fewer lanes
}
