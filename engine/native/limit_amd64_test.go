package native

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math/bits"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// counter counts what calls of products are given.
type counter struct {
	set   kernelSet
	calls int
	worst int // ns, by the rates of limit.go
}

// newCounter is a set like like whose kernels touch nothing.
func newCounter(like *kernelSet, size int) *counter {
	c := &counter{set: *like}
	c.set.rows = slices.Clone(like.rows)
	for r := range c.set.rows {
		row := &c.set.rows[r]
		for nv := 1; nv < len(row.whole); nv++ {
			f := c.kernel(row.rows, nv, size)
			row.whole[nv] = f
			if row.part[nv] != nil {
				row.part[nv] = f
			}
		}
	}
	return c
}

// kernel counts a call of a kernel of rows of vectors: its tiles, with the columns
// that exist.
func (c *counter) kernel(rows, vectors, size int) func(*tile) {
	return func(t *tile) {
		tiles := max(t.left, 1) * max(t.tiles, 1)
		cols := 0
		for _, m := range t.mask[:vectors] {
			cols += bits.OnesCount16(m) * c.set.lanes / c.set.reals
		}
		perStep := rows * vectors
		if c.set.reals != c.set.lanes {
			perStep *= 2
		}
		lines := linesOf(t.rows, t.k, t.ars, t.acs) + linesOf(t.k, cols, t.brs, size) + linesOf(t.rows, cols, t.crs, size)
		c.calls++
		c.worst = max(c.worst, tiles*(workNs*t.k*max(perStep, 8)+lineNs*lines))
	}
}

// No call of a product, whatever its shape, takes longer than callNs: as one of a
// batch, as one, or tile by tile.
func TestCallsOfProductsEnd(t *testing.T) {
	for _, level := range levels()[1:] {
		productCalls[float32](t, level, engine.Float32)
		productCalls[float64](t, level, engine.Float64)
		productCalls[complex64](t, level, engine.Complex64)
		productCalls[complex128](t, level, engine.Complex128)
	}
}

func productCalls[T Number](t *testing.T, level Level, d engine.DType) {
	c := newCounter(kernelsOf[T](level), d.Size())
	var ws Workspace
	few := []int{1, 3, 8, 12, 24, 31, 49, 64, 65, 257, 4096, 262144}
	memory := make([]T, 1<<21)
	planned := 0
	for _, m := range few {
		for _, n := range few {
			for _, k := range few {
				if m*k > len(memory) || k*n > len(memory) || m*n > len(memory) {
					continue
				}
				for _, apart := range []int{1, 40} { // rows of A that lie together, or elements that all lie apart
					if apart*m*k > len(memory) {
						continue
					}
					at := unsafe.Pointer(&memory[0])
					g := product[T]{set: &c.set, ws: &ws, m: m, n: n, k: k, alpha: 1,
						a: matrix{p: at, rs: apart * k, cs: apart}, b: matrix{p: at, rs: n, cs: 1}, c: matrix{p: at, rs: n, cs: 1}}
					g.plan()
					var p gemmPlan
					planned++
					if g.small(&p) {
						p.Run(&products{}, at, at, at, 2*p.together+1)
					} else if m*n*k <= 1<<21 {
						g.run()
					}
				}
			}
		}
	}
	if c.worst > callNs {
		t.Errorf("%v, %v: a call may take %d ns", level, d, c.worst)
	}
	if planned < 1500 || c.calls < planned || c.worst < callNs/10 {
		t.Errorf("%v, %v: %d calls for %d products, %d ns at worst: nothing was counted", level, d, c.calls, planned, c.worst)
	}
}

// Rows, functions and the like are given no more than callBytes and callElements.
func TestCallsOfRowsEnd(t *testing.T) {
	const n = 1 << 20
	memory := make([]complex128, n)
	at := unsafe.Pointer(&memory[0])
	most, seen := 0, 0
	count := func(v int) {
		most, seen = max(most, v), seen+v
	}
	for name, f := range map[string]struct {
		row   row
		limit int // of what f is given
		whole int // of what it is given in all
	}{
		"binaryRow":  {binaryRow(func(_, _, _ unsafe.Pointer, v int) { count(v) }, nil, 8), callBytes / vectorBytes, n * 8 / vectorBytes},
		"scaledRow":  {scaledRow(func(_, _, _ unsafe.Pointer, v int) { count(v) }, nil, 16, func(*factor) unsafe.Pointer { return nil }), callBytes / vectorBytes, n * 16 / vectorBytes},
		"longRowOf":  {longRowOf(func(_, _, _ unsafe.Pointer, v int) { count(v) }, nil, engine.Float32), callBytes / 128, n * 4 / 128},
		"maskRow":    {maskRow(func(_, _, _ unsafe.Pointer, v int) { count(v) }, nil, 4), callBytes / 4 / 32, n / 32},
		"vectorRow":  {vectorRow(AVX2, func(_, _ unsafe.Pointer, v int, _ bool) (int, int) { count(v); return v, 0 }, engine.Float64, nil, false), callElements, n},
		"vectorRow2": {vectorRow2(AVX512, func(_, _, _ unsafe.Pointer, v int, _ bool) (int, int) { count(v); return v, 0 }, engine.Float32, nil, false), callElements, n},
	} {
		most, seen = 0, 0
		f.row(at, at, at, n, new(factor))
		if most != f.limit || seen != f.whole {
			t.Errorf("%s: a call of %d where %d is the most, %d in all of %d", name, most, f.limit, seen, f.whole)
		}
	}
	most, seen = 0, 0
	chooseRow(func(_, _, _, _ unsafe.Pointer, v int) { count(v) }, nil, 8)(at, at, at, at, n)
	if most != callBytes/8/8 || seen != n/8 {
		t.Errorf("chooseRow: a call of %d, %d in all", most, seen)
	}

	// Sums and extremes along an axis.
	for _, d := range []engine.DType{engine.Float32, engine.Float64, engine.Complex64, engine.Complex128} {
		p := AVX2.NewSum(d, nil, nil, nil, []int{n}, []int{1})
		most, seen = 0, 0
		p.blocks = func(_, _ unsafe.Pointer, v int) { count(v * blockLength * d.Size()) }
		var ws Workspace
		p.Run(&ws, at, at, 0, p.Items())
		if most > callBytes || seen != n*d.Size() {
			t.Errorf("%v: a call sums %d bytes, %d in all", d, most, seen)
		}
		if d.IsComplex() {
			continue
		}
		f := AVX2.NewFold(engine.ReduceMax, d, nil, nil, nil, []int{n}, []int{1})
		most, seen = 0, 0
		f.span = func(found, _ unsafe.Pointer, v int) {
			count(v * 128)
			for i := range 4 {
				*(*float64)(unsafe.Add(found, 8*i)) = 1
			}
			clear(unsafe.Slice((*uint64)(unsafe.Add(found, 32)), 4))
		}
		f.Run(&ws, at, at, 0, f.Items())
		if most > callBytes || seen != n*d.Size() {
			t.Errorf("%v: a call finds the greatest in %d bytes, %d in all", d, most, seen)
		}
	}
	for name, ns := range map[string]int{
		"rows of three operands": 3 * callBytes / lineBytes * lineNs,
		"and truth values":       (3*callBytes + callBytes/4) / lineBytes * lineNs,
		"functions of two":       callElements*elementNs + 3*callElements*8/lineBytes*lineNs,
		"elements apart":         3 * callElements * lineNs, // and their index, and where they go
		"transposed columns":     (callElements + 8*callElements*16/lineBytes) * lineNs,
	} {
		if ns > callNs {
			t.Errorf("%s: a call may take %d ns", name, ns)
		}
	}
}

// Every entry to assembly is called by what bounds it, and by nothing else.
func TestEveryCallOfAssemblyIsBounded(t *testing.T) {
	bounded := map[string]string{ // functions of the package and what they may call
		"longer":            `^(add|sub|mul|div)Long`,                                            // by longRowOf
		"vectorRows":        `^(add|sub|mul|div|max|min|scale)Row`,                               // by binaryRow and scaledRow
		"vectorsOf":         `(AVX2|AVX512)$`,                                                    // by vectorRow
		"vectors2Of":        `(AVX2|AVX512)$`,                                                    // by vectorRow2
		"testsOf":           `^(equal|differ|less|lessEqual|greater|isNaN|isFinite)[FI](32|64)$`, // by maskRow
		"vectorTest":        `^(and|or|xor|same)Row$`,                                            // by binaryRow
		"vectorTest1":       `^notRow$`,                                                          // by binaryRow
		"vectorSelect":      `^choose`,                                                           // by chooseRow
		"blocksOf":          `^sumBlocks`,                                                        // by adder.along
		"spanOf":            `Span`,                                                              // by folder.extreme
		"complexExpPart":    `^expF64`,                                                           // of parts
		"complexTanhPart":   `^expm1F64`,                                                         // of parts
		"sinParts":          `^sinF64`,                                                           // of parts
		"cosParts":          `^cosF64`,                                                           // of parts
		"transposeVectors":  `^transposeRows\d`,                                                  // by transposeInCalls
		"stepsPast":         `^streamSteps`,                                                      // which loops
		"gatherPast":        `^gatherPast\d`,                                                     // by gatherStream
		"CopyPlan.streamed": `^streamRuns$`,                                                      // at most callBytes
		"copyPast":          `^streamRuns$`,                                                      // of runs, cut to partBytes
		"CopyPlan.Run":      `^storeFence$`,
		"MapPlan.Run":       `^storeFence$`,
		"gatherStream":      `^storeFence$`,
	}
	entries := map[string]bool{}
	callers := map[string]string{"transposeVectors": "transposeInCalls", "gatherPast": "gatherStream", "copyPast": "runTiles"}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var sources []*ast.File
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_other.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(name, "_gen_") {
			sources = append(sources, f)
			continue
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				entries[fn.Name.Name] = false
			}
		}
	}
	for _, f := range sources {
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := fn.Name.Name
			if fn.Recv != nil {
				if star, ok := fn.Recv.List[0].Type.(*ast.StarExpr); ok {
					if id, ok := star.X.(*ast.Ident); ok && id.Name[0] < 'a' {
						name = id.Name + "." + name
					}
				}
			}
			ast.Inspect(fn.Body, func(x ast.Node) bool {
				id, ok := x.(*ast.Ident)
				if !ok {
					return true
				}
				if by := callers[id.Name]; by != "" && by != name {
					t.Errorf("%s calls %s, which is bounded in %s", name, id.Name, by)
				}
				if _, entry := entries[id.Name]; !entry {
					return true
				}
				entries[id.Name] = true
				if ok, _ := regexp.MatchString(bounded[name], id.Name); !ok || bounded[name] == "" {
					t.Errorf("%s calls %s: bound it there, and say so here", name, id.Name)
				}
				return true
			})
		}
	}
	if len(entries) < 100 {
		t.Fatalf("%d entries", len(entries))
	}
	for name, called := range entries {
		if product := strings.HasPrefix(name, "gemm"); product == called { // those are in the sets alone
			t.Errorf("%s: called %v", name, called)
		}
	}
	if len(parts{}) > callElements {
		t.Error("parts are longer than a call")
	}
}
