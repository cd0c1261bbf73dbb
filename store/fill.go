package store

import (
	"encoding/binary"
	"math"
)

// fillValue is what a row that is not there reads as: NaN in floating-point
// parts, so that nobody takes it for a result, zero and false elsewhere. Elements
// larger than maxFill read as zero.
func fillValue(l *layout) []byte {
	var b []byte
	switch l.Kind {
	case kFloat32:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.NaN())))
	case kFloat64:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.NaN()))
	case kComplex64:
		one := fillValue(&layout{Kind: kFloat32})
		return append(one, one...)
	case kComplex128:
		one := fillValue(&layout{Kind: kFloat64})
		return append(one, one...)
	case kArray:
		one := fillValue(l.Elem)
		for range product(l.Dims) {
			b = append(b, one...)
		}
	case kStruct:
		for i := range l.Fields {
			b = append(b, fillValue(&l.Fields[i].Type)...)
		}
	default:
		return make([]byte, l.size())
	}
	return b
}
