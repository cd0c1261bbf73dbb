// Package lanes runs one body of work per caller-held resource, side by side,
// under one control.
//
// A lane is one goroutine with one resource, a warm engine say, lent to it for
// the length of one run. An [Executor] holds k resources and pairs lane i with
// resource i in every run. The shortest use:
//
//	ex := lanes.Of(engines, lanes.Options[*Engine]{})
//	err := ex.Run(func(ctl *lanes.Control, lane lanes.Lane, e *Engine) error {
//		for work := range next(ctl) { // the bodies share out the work themselves
//			if err := e.Do(work); err != nil {
//				return err // cancels the other lanes
//			}
//		}
//		return nil
//	})
//
// # The caller's duties
//
//  1. A resource belongs to its lane until the run returns; nobody else uses it.
//  2. A body that may wait long waits for [Control.Done] too and then returns.
//  3. A coordinator that waits for its lanes waits for [Control.LanesDone] too;
//     its own leaving cannot release it.
//  4. One executor runs one run at a time.
//
// # What is promised
//
// Every lane has ended when a run returns or panics, and nothing of the run
// outlives it but the resources. What the caller gets is decided by who failed,
// never by who failed first:
//
//	outcome                                        result
//	a body or the coordinator panicked             panic with *Panic, after every lane ended
//	a lane could not be started                    *ExecutorError; no body has run
//	a body returned an error                       *LaneError of the lowest lane
//	the coordinator returned an error              *CoordinatorError, if every lane ended cleanly
//	a second run while one is going on             ErrBusy, at once
//	a run started by one of the executor's lanes   ErrReentrant, at once
//
// The rows are in order of precedence. The control is cancelled when a start
// hook fails, when a body returns an error or panics, and when the coordinator
// leaves in any way, always before the lanes are joined. A body that returns
// [Control.Cause] because somebody else failed repeats that failure and does
// not count as a failed lane.
//
// What is not promised: a body that never returns keeps its run from
// returning, and nothing is said about the order in which lanes proceed.
package lanes
