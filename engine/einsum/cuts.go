package einsum

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// Limits say what slices have to meet. A zero field asks for nothing.
type Limits struct {
	// Largest is the highest number of elements that a step of one slice may
	// make: [Cost].Largest.
	Largest int
	// Peak is the highest number of elements that an engine may hold for
	// intermediates: [Cost].Peak.
	Peak int
	// Slices is the lowest number of slices. Where the labels do not allow
	// so many, the most that they allow is enough.
	Slices int
}

// gathering is what it takes to move an element of the output and add it, in
// multiply-adds: memory and wires are about so much slower than arithmetic.
const gathering = 50

// SliceTo returns the plan cut as [Plan.FindCuts] chooses, which replaces the
// cuts that p may have. Errors are as FindCuts's.
func (p *Plan) SliceTo(ctx context.Context, limits Limits) (*Plan, error) {
	cuts, err := p.FindCuts(ctx, limits)
	if err != nil {
		return nil, err
	}
	return p.Slice(cuts...)
}

// FindCuts chooses labels to cut so that the slices meet the limits: again and
// again it cuts the label whose next prime factor costs least time per slice
// won (of memory where that is what the limits want), and then takes back what
// is not needed. Time is what √Slices engines would take, each of which does the
// shared work and its part of the rest (cuts that add little work but leave most
// of it shared are as bad as cuts that repeat it), and one place that gathers the
// outputs of all slices (cuts of summed labels multiply them). The choice depends
// on the plan and the limits alone; ctx ends the search, which takes seconds for
// some thousand operands, as it does [FindPlan]'s. When no cuts meet the limits, the
// error is a [*LimitError] with the smallest limit that was found to be met: largest
// intermediates on their own, a peak beside the other limits.
func (p *Plan) FindCuts(ctx context.Context, limits Limits) ([]Cut, error) {
	if err := limits.check(); err != nil {
		return nil, err
	}
	if p.tree == nil {
		return nil, noPlan(ErrSlice)
	}
	c := newCutter(p.subscripts, p.path, p.tree, limits)
	var failed error
	if !c.search(ctx) {
		failed = c.failure(ctx)
	}
	if err := cmp.Or(interrupted(ctx), failed); err != nil {
		return nil, err
	}
	_, inner := c.divide(c.parts)
	cuts := make([]Cut, len(inner))
	for i, x := range inner {
		cuts[i] = Cut{Label: c.labels[x.label], Parts: x.parts}
	}
	return cuts, nil
}

func (l Limits) check() error {
	if l.Largest < 0 || l.Peak < 0 || l.Slices < 0 {
		return wrong(ErrLimit, "%+v: a limit is negative; give 0 for none", l)
	}
	return nil
}

// cutter looks for cuts of a tree that meet limits.
type cutter struct {
	*tree
	subscripts Subscripts
	path       Path
	limits     Limits
	parts      []int  // of each label
	count      int    // their product
	nearest    [2]int // largest intermediate and peak that byMemory came to
}

func newCutter(s Subscripts, path Path, t *tree, limits Limits) *cutter {
	c := &cutter{tree: t, subscripts: s, path: path, limits: limits}
	c.reset()
	return c
}

func (c *cutter) reset() {
	c.parts, c.count = make([]int, len(c.labels)), 1
	for l := range c.parts {
		c.parts[l] = 1
	}
}

// search leaves parts that meet the limits, and says whether there are any. What it
// finds is worth nothing if the context has ended.
func (c *cutter) search(ctx context.Context) bool {
	if !c.byTime(ctx) {
		if !c.byMemory(ctx) {
			return false
		}
		parts, count := slices.Clone(c.parts), c.count
		if !c.byTime(ctx) { // on to the number of slices
			c.parts, c.count = parts, count
		}
	}
	c.takeBack(ctx)
	return true
}

// byTime cuts what costs least until the limits are met.
func (c *cutter) byTime(ctx context.Context) bool {
	for {
		tooLarge := c.excess(c.memory(false)) > 1
		if !tooLarge && c.count >= c.limits.Slices {
			return true
		}
		l := c.cheapest(ctx, tooLarge)
		if l == None {
			return !tooLarge
		}
		c.cut(l)
	}
}

// byMemory cuts what saves most memory until the limits are met or nothing is
// left to cut. It keeps the largest intermediate and the peak that came nearest.
func (c *cutter) byMemory(ctx context.Context) bool {
	c.reset()
	for least := math.Inf(1); ; {
		largest, peak := c.memory(true)
		if over := c.excess(largest, peak); over < least {
			least, c.nearest = over, [2]int{largest, peak}
		}
		if least <= 1 {
			return true
		}
		l := c.thriftiest(ctx)
		if l == None {
			return false
		}
		c.cut(l)
	}
}

// failure says which limit cannot be met and the smallest of a few tries that is,
// with the other limits as they are. Largest intermediates that cannot be had at any
// peak come first, and alone.
func (c *cutter) failure(ctx context.Context) *LimitError {
	e := &LimitError{What: "largest intermediate", Limit: c.limits.Largest, Least: c.nearest[0]}
	if c.limits.Peak > 0 {
		limits := c.limits
		limits.Peak = 0
		if alone := c.with(limits); limits.Largest > 0 && !alone.search(ctx) {
			return alone.failure(ctx)
		}
		e = &LimitError{What: "peak", Limit: c.limits.Peak, Least: c.nearest[1]}
	}
	met := func(limit int) bool { return c.with(e.raise(c.limits, limit)).search(ctx) }
	for e.Least < math.MaxInt && !met(e.Least) {
		e.Least += min(e.Least, math.MaxInt-e.Least)
	}
	below := e.Limit
	for range 8 {
		middle := below + (e.Least-below)/2
		if middle == below || e.Least == math.MaxInt {
			break
		}
		if met(middle) {
			e.Least = middle
		} else {
			below = middle
		}
	}
	return e
}

// raise returns limits with the one that could not be met set to another value.
func (e *LimitError) raise(limits Limits, to int) Limits {
	if e.What == "peak" {
		limits.Peak = to
	} else {
		limits.Largest = to
	}
	return limits
}

// with is a cutter of the same tree for other limits.
func (c *cutter) with(limits Limits) *cutter {
	return newCutter(c.subscripts, c.path, c.tree, limits)
}

func (c *cutter) cut(l int) {
	f := c.factor(l)
	c.parts[l] *= f
	c.count *= f
}

// factor is the next prime factor of a label's length.
func (c *cutter) factor(l int) int { return smallestFactor(c.sizes[l] / c.parts[l]) }

// memory is the largest intermediate of a slice and, where a limit asks for it,
// the peak: an estimate as long as that is above the limit, unless exact.
func (c *cutter) memory(exact bool) (largest, peak int) {
	sizes, cuts := c.divide(c.parts)
	_, _, largest = c.measure(sizes, cuts)
	if c.limits.Peak == 0 {
		return largest, 0
	}
	if peak = c.live(sizes, cuts); peak > c.limits.Peak && !exact {
		return largest, peak
	}
	p, err := newPlan(c.subscripts, c.path, c.tree, cuts)
	if err != nil {
		return largest, math.MaxInt
	}
	return largest, p.cost.Peak
}

// excess is how many times too large a slice is.
func (c *cutter) excess(largest, peak int) float64 {
	over := 0.0
	if c.limits.Largest > 0 {
		over = float64(largest) / float64(c.limits.Largest)
	}
	if c.limits.Peak > 0 {
		over = max(over, float64(peak)/float64(c.limits.Peak))
	}
	return over
}

// peakLeads reports whether the peak is what has to come down first.
func (c *cutter) peakLeads(largest, peak int) bool {
	return c.limits.Peak > 0 && (c.limits.Largest == 0 || c.excess(0, peak) > c.excess(largest, 0))
}

// live estimates the elements that are alive at once along the path.
func (c *cutter) live(sizes []int, cuts []cut) int {
	varies := c.varying(cuts)
	now, most := 0, 0
	hold := func(i int) {
		elements, _ := c.elements(c.nodes[i].kept, sizes)
		now = min(now+elements, maxElements)
		most = max(most, now)
	}
	inPlace := func(i int) bool { return c.nodes[i].left == None && len(c.private(i, sizes)) == 0 }
	for i := len(c.operands); i < len(c.nodes); i++ {
		from := [2]int{c.nodes[i].left, c.nodes[i].right}
		for _, below := range from {
			if c.nodes[below].left == None && !inPlace(below) {
				hold(below)
			}
		}
		if i < len(c.nodes)-1 {
			hold(i)
		}
		for _, below := range from {
			if inPlace(below) || varies[i] && !varies[below] {
				continue
			}
			elements, _ := c.elements(c.nodes[below].kept, sizes)
			now -= elements
		}
	}
	return most
}

// private lists the labels of operand k that are summed before any step: where all
// are cut to single values it is read in place.
func (c *cutter) private(k int, sizes []int) (labels []int) {
	for _, l := range c.nodes[k].loops {
		if sizes[l] != 1 && !c.nodes[k].labels.has(l) {
			labels = append(labels, l)
		}
	}
	return labels
}

// time is what the slices take, in multiply-adds: see FindCuts.
func (c *cutter) time() float64 {
	sizes, cuts := c.divide(c.parts)
	operations, shared, _ := c.measure(sizes, cuts)
	part, _ := c.elements(c.output, sizes)
	engines := math.Ceil(math.Sqrt(float64(max(c.limits.Slices, 1))))
	return max(1, shared+(operations-shared)/engines+gathering*float64(c.count)*float64(part))
}

// cheapest is the label whose next cut costs least time per slice won, or per
// memory won where a peak is too large; None if there is none.
func (c *cutter) cheapest(ctx context.Context, tooLarge bool) int {
	sizes, cuts := c.divide(c.parts)
	before, held, byPeak := c.time(), 0.0, false
	best, least := None, math.Inf(1)
	above := None
	if tooLarge {
		_, _, largest := c.measure(sizes, cuts)
		live := c.live(sizes, cuts)
		if byPeak = c.peakLeads(largest, live); byPeak {
			above, held = largest/large, float64(max(1, live))
		} else {
			above = c.limits.Largest
		}
	}
	for _, l := range c.candidates(sizes, above) {
		f := c.factor(l)
		if c.count > math.MaxInt32/f || ctx.Err() != nil {
			continue
		}
		c.parts[l], c.count = c.parts[l]*f, c.count*f
		won := math.Log(float64(f))
		if byPeak {
			won = max(math.Log(held/float64(max(1, c.live(c.divide(c.parts))))), won/64)
		}
		if score := math.Log(c.time()/before) / won; score < least {
			best, least = l, score
		}
		c.parts[l], c.count = c.parts[l]/f, c.count/f
	}
	return best
}

// thriftiest is the label whose next cut saves most memory per slice; None if
// there is none.
func (c *cutter) thriftiest(ctx context.Context) int {
	over := func() float64 {
		sizes, cuts := c.divide(c.parts)
		_, _, largest := c.measure(sizes, cuts)
		return c.excess(largest, c.live(sizes, cuts))
	}
	sizes, cuts := c.divide(c.parts)
	_, _, largest := c.measure(sizes, cuts)
	above := largest - 1
	if c.peakLeads(largest, c.live(sizes, cuts)) {
		above = largest / large
	}
	before := over()
	best, least := None, math.Inf(1)
	labels := c.candidates(sizes, above)
	if len(labels) == 0 && c.limits.Peak > 0 {
		for k := range c.operands {
			labels = append(labels, c.private(k, sizes)...)
		}
		labels = slices.DeleteFunc(labels, func(l int) bool { return sizes[l] < 2 })
	}
	for _, l := range labels {
		f := c.factor(l)
		if c.count > math.MaxInt32/f || ctx.Err() != nil {
			continue
		}
		c.parts[l] *= f
		if score := math.Log(over()/before) / math.Log(float64(f)); score < least {
			best, least = l, score
		}
		c.parts[l] /= f
	}
	return best
}

// takeBack undoes cuts without which the limits are met as well, those that cost
// most time first.
func (c *cutter) takeBack(ctx context.Context) {
	enough := min(c.limits.Slices, c.count)
	for {
		best, factor, least := None, 0, math.Inf(1)
		for l, n := range c.parts {
			for ; n > 1 && ctx.Err() == nil; n /= smallestFactor(n) {
				f := smallestFactor(n)
				if c.count/f < enough {
					continue
				}
				c.parts[l], c.count = c.parts[l]/f, c.count/f
				if c.excess(c.memory(false)) <= 1 {
					if t := c.time(); t < least {
						best, factor, least = l, f, t
					}
				}
				c.parts[l], c.count = c.parts[l]*f, c.count*f
			}
		}
		if best == None {
			return
		}
		c.parts[best] /= factor
		c.count /= factor
	}
}

// divide turns parts per label into sizes and cuts.
func (t *tree) divide(parts []int) ([]int, []cut) {
	sizes := slices.Clone(t.sizes)
	var cuts []cut
	for l, n := range parts {
		if n > 1 {
			sizes[l] /= n
			cuts = append(cuts, cut{label: l, parts: n})
		}
	}
	return sizes, cuts
}

// What counts as much beside the most, in candidates.
const (
	much  = 1. / 32 // of the work of the largest step
	large = 8       // times smaller than the largest result
)

// candidates lists the labels worth cutting: those of results of more elements
// than above or, for None, those of the steps that do most. Output labels come
// first, so that of two equally good cuts the one without additions is taken.
func (c *cutter) candidates(sizes []int, above int) []int {
	steps := c.nodes[min(len(c.operands), len(c.nodes)-1):]
	most := 1.0
	for i := range steps {
		most = max(most, c.work(&steps[i], sizes))
	}
	useful := newSet(len(c.labels))
	for i := range steps {
		nd := &steps[i]
		elements, _ := c.elements(nd.kept, sizes)
		switch {
		case above != None && elements > above:
			useful = useful.union(nd.labels)
		case above == None && c.work(nd, sizes) >= much*most:
			useful = useful.union(nd.spanned)
		}
	}
	list := distinct(append(slices.Clone(c.output), useful.list()...))
	return slices.DeleteFunc(list, func(l int) bool { return sizes[l] < 2 || !useful.has(l) })
}
