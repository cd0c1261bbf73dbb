package lanes

// Lane is the number of a lane, 0 ≤ lane < Executor.Lanes().
type Lane int

// NoLane stands in errors for "not one lane's": the coordinator, or the
// executor as a whole.
const NoLane Lane = -1

// Executor holds Lanes() resources of type L and runs bodies over them, lane
// i always with resource i, each body on a goroutine of its own for the
// length of one run. Package documentation tells what a run returns.
//
// All methods may be called from any goroutine. [Set] is the usual
// implementation; others make their controls with [NewControl].
type Executor[L any] interface {
	// Lanes is the number of resources held. It never changes.
	Lanes() int

	// Ready returns nil if the executor's resources exist, else why they do
	// not. It does not look at whether a run is going on.
	Ready() error

	// Healthy returns nil if lane's resource can take another item, else
	// why not. It may be called at any time, from any goroutine.
	Healthy(lane Lane) error

	// Run starts body once per lane and returns after every lane ended.
	Run(body Body[L]) error

	// RunWithCoordinator does the same and meanwhile runs coordinate on the
	// calling goroutine. The two always overlap, with one lane too; an
	// executor that cannot do that returns [ErrSingleLane].
	RunWithCoordinator(body Body[L], coordinate Coordinator) error
}

// Body is the work of one lane during one run. The resource is lent until the
// body returns. A body is called even when the run is already cancelled.
type Body[L any] func(ctl *Control, lane Lane, resource L) error

// Coordinator runs beside the lanes on the goroutine that called
// RunWithCoordinator. When it leaves, the run is cancelled; one that wants the
// lanes to finish first waits for [Control.LanesDone].
//
// It is called even when a start hook fails: then it finds the control
// cancelled with an [*ExecutorError].
type Coordinator func(ctl *Control) error
