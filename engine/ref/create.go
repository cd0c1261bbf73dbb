package ref

import "github.com/hataori/hataori-go/engine"

// create computes the operations without inputs.
func create(op engine.Op, o array) {
	each(o.extents, func(i []int) {
		switch op := op.(type) {
		case engine.Fill:
			z := op.Value.Or(0)
			v := value{rounded(z, o.dtype), int64(real(z))}
			if o.dtype == engine.Bool {
				v = boolean(z != 0)
			}
			o.store(i, v)
		case engine.Iota:
			o.store(i, value{complex(float64(i[op.Axis]), 0), int64(i[op.Axis])})
		case engine.Random:
			n := ravel(i, o.extents)
			word, _ := op.At(n)
			v := value{n: int64(word)}
			switch {
			case o.dtype == engine.Bool:
				v.n &= 1
			case o.dtype.IsFloat():
				re, im := op.Float(n)
				v.z = complex(re, im)
			}
			o.store(i, v)
		}
	})
}
