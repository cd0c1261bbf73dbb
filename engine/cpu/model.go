package cpu

import "github.com/hataori/hataori-go/engine/native"

// The work model: what an operation takes on one worker, judged by shapes alone.
// The rates are those of a current core; only the order of magnitude matters.
const (
	flopsPerNs = 16.0
	bytesPerNs = 8.0
	worthNs    = 40_000 // waking threads and gathering them costs some 5 to 20 µs
	productNs  = 25_000 // worthNs of single products, which come in series: the threads are awake then
	partNs     = 50_000 // of a part, where there are many: the last ones should end together
)

// productFlopsPerNs is flopsPerNs for products.
func productFlopsPerNs(l native.Level) float64 {
	switch l {
	case native.AVX512:
		return 60
	case native.AVX2:
		return 30
	}
	return 2
}

// pays says whether more than one worker pays for work of so many arithmetic
// operations and bytes of memory read and written.
func pays(flops, bytes float64) bool {
	return work(flops, bytes) >= worthNs
}

// productPays is pays for the panels of products.
func productPays(flops, bytes float64) bool {
	return work(flops, bytes) >= productNs
}

func work(flops, bytes float64) float64 { return max(flops/flopsPerNs, bytes/bytesPerNs) }

// pieces is how many parts a step of n items is cut into on width workers.
func pieces(n, width int, flops, bytes float64) int {
	if n == 0 {
		return 0
	}
	if width == 1 || !pays(flops, bytes) {
		return 1
	}
	parts := int(min(work(flops, bytes)/partNs, float64(16*width)))
	return min(n, max(parts, 4*width))
}
