package enginetest

import (
	"sync/atomic"

	"github.com/hataori/hataori-go/engine"
)

// Nameless is a library under a name that no engine knows, so that engines leave all
// but small products to it. It counts by dtype those that it takes: a test sees
// that it tests the library.
type Nameless struct {
	engine.Provider
	Taken [engine.Complex128 + 1]atomic.Int64
}

// Name implements [engine.Provider].
func (p *Nameless) Name() string { return "nameless" }

// Fit implements [engine.Provider].
func (p *Nameless) Fit(g *engine.Gemm) engine.Misfit {
	bad := p.Provider.Fit(g)
	if bad == 0 {
		p.Taken[g.DType].Add(1)
	}
	return bad
}
