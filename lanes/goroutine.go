//go:build amd64 || arm64

package lanes

// goroutine identifies the calling goroutine among those alive: it is the
// address of the runtime's record of it. The portable way, the number at the
// head of [runtime.Stack], costs more than starting the goroutine does.
func goroutine() uintptr
