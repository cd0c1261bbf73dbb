// Package adapter lends one caller-built engine to each lane.
//
//	ex, err := adapter.New(engines, adapter.Options[*cpu.Engine]{})
//	results, err := hataori.PmapLanes(ctx, world, ex, hataori.Options{}, items,
//		func(ctx context.Context, e *cpu.Engine, item Item) (Result, error) { … })
//
// # The caller's duties
//
//  1. Build the engines, each with its own pool if it has one, and say where
//     their threads run; close them when no run is going on.
//  2. Leave an engine alone while a run has it.
//  3. Where engines cannot be built on one rank of several, pass [lanes.Failed]
//     with the reason instead, so that the other ranks are told.
//
// # What is promised
//
// Lane i works with engine i in every run, and hands it back as warm as it
// left it: plans, buffers and pool are the engine's and outlive the run. A lane
// is a goroutine of its own, never a worker of the engine's pool. The engines
// need not be alike: one of each width, or one per device, will do. An engine
// that is broken or closed makes its lane unhealthy. There is no queue, no pool,
// no placement and no policy here.
package adapter
