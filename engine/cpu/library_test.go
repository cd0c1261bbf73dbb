package cpu_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/engine/enginetest"
)

// nameless is a library that the engine knows nothing of, so that it leaves all but
// small products to it. It counts those by dtype.
type nameless struct {
	engine.Provider
	taken [engine.Complex128 + 1]atomic.Int64
}

func (p *nameless) Name() string { return "nameless" }

func (p *nameless) Fit(g *engine.Gemm) engine.Misfit {
	bad := p.Provider.Fit(g)
	if bad == 0 {
		p.taken[g.DType].Add(1)
	}
	return bad
}

// Every type's products by a library, whatever the engine would rather do by itself.
func TestBLASProducts(t *testing.T) {
	p := &nameless{Provider: library(t)}
	for width := 1; width <= 2; width++ {
		t.Run(fmt.Sprint("width ", width), func(t *testing.T) {
			enginetest.RunProducts(t, func(t *testing.T) engine.Execution { return open(t, width, cpu.Options{Provider: p}) })
		})
	}
	for d := engine.Float32; d <= engine.Complex128; d++ {
		if n := p.taken[d].Load(); n < 100 {
			t.Errorf("%v: the library was given %d products: the test tests the engine's own", d, n)
		}
	}
}
