package lanes

// Control connects the lanes and the coordinator of one run.
type Control struct{}

// Cancel ends the run early: it closes Done with the given cause. The first
// call wins.
func (c *Control) Cancel(cause error) {}

// Done is closed when the run is cancelled: by Cancel, by a body that
// returned an error or panicked, or by the coordinator leaving in any way.
func (c *Control) Done() <-chan struct{} { return nil }

// Cause is nil before Done is closed, then the cause (never nil).
func (c *Control) Cause() error { return nil }

// LanesDone is closed when every lane has ended.
func (c *Control) LanesDone() <-chan struct{} { return nil }
