package cpu_test

import (
	"fmt"
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/engine/enginetest"
)

// Every type's products by a library, whatever the engine would rather do by itself.
func TestBLASProducts(t *testing.T) {
	p := &enginetest.Nameless{Provider: library(t)}
	for width := 1; width <= 2; width++ {
		t.Run(fmt.Sprint("width ", width), func(t *testing.T) {
			enginetest.RunProducts(t, func(t *testing.T) engine.Execution { return open(t, width, cpu.Options{Provider: p}) })
		})
	}
	for d := engine.Float32; d <= engine.Complex128; d++ {
		if n := p.Taken[d].Load(); n < 100 {
			t.Errorf("%v: the library was given %d products: the test tests the engine's own", d, n)
		}
	}
}
