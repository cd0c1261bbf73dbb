package lanes

// Lane is the number of a lane, 0 ≤ lane < Executor.Lanes().
type Lane int

// Executor holds Lanes() resources of type L and runs bodies over them, lane
// i always with resource i, each body on a goroutine of its own for the
// length of one run.
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
	// calling goroutine.
	RunWithCoordinator(body Body[L], coordinate Coordinator) error
}

// Body is the work of one lane during one run.
type Body[L any] func(ctl *Control, lane Lane, resource L) error

// Coordinator runs beside the lanes on the goroutine that called
// RunWithCoordinator.
type Coordinator func(ctl *Control) error
