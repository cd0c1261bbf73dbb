package cpu

// pause leaves the core to its other hyperthread for some tens of nanoseconds: one
// that watches would slow down one that computes.
func pause()
