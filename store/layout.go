package store

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// kind is the kind of a stored value.
type kind string

const (
	kFloat32    kind = "float32"
	kFloat64    kind = "float64"
	kComplex64  kind = "complex64"  // compound r, i as in h5py
	kComplex128 kind = "complex128" // the same
	kInt8       kind = "int8"
	kInt16      kind = "int16"
	kInt32      kind = "int32"
	kInt64      kind = "int64"
	kUint8      kind = "uint8"
	kUint16     kind = "uint16"
	kUint32     kind = "uint32"
	kUint64     kind = "uint64"
	kBool       kind = "bool" // enumeration FALSE, TRUE over int8 as in h5py
	kString     kind = "string"
	kArray      kind = "array"
	kStruct     kind = "struct"
	kVlen       kind = "vlen" // variable length of Elem
	kOther      kind = "other"
)

var scalarSize = map[kind]int{
	kFloat32: 4, kFloat64: 8, kComplex64: 8, kComplex128: 16, kInt8: 1, kInt16: 2, kInt32: 4, kInt64: 8,
	kUint8: 1, kUint16: 2, kUint32: 4, kUint64: 8, kBool: 1,
}

// layout describes one stored element: packed, little-endian.
type layout struct {
	Kind   kind    `json:"kind"`
	Dims   []int   `json:"dims,omitempty"`   // of an array
	Elem   *layout `json:"elem,omitempty"`   // of an array or vlen
	Fields []field `json:"fields,omitempty"` // of a struct
	Note   string  `json:"note,omitempty"`   // what an "other" is
}

type field struct {
	Name string `json:"name"`
	Type layout `json:"type"`
}

// size is the number of bytes of a fixed-size element, 0 for others.
func (l *layout) size() int {
	switch l.Kind {
	case kArray:
		return l.Elem.size() * product(l.Dims)
	case kStruct:
		n := 0
		for i := range l.Fields {
			n += l.Fields[i].Type.size()
		}
		return n
	default:
		return scalarSize[l.Kind]
	}
}

func (l *layout) variable() bool { return l.Kind == kVlen || l.Kind == kString }

func (l *layout) String() string {
	switch l.Kind {
	case kArray:
		return l.Elem.String() + dimString(l.Dims)
	case kVlen:
		return "variable-length " + l.Elem.String()
	case kStruct:
		var parts []string
		for i := range l.Fields {
			parts = append(parts, l.Fields[i].Name+" "+l.Fields[i].Type.String())
		}
		return "struct{" + strings.Join(parts, "; ") + "}"
	case kOther:
		return l.Note
	default:
		return string(l.Kind)
	}
}

// format is what one row of a dataset is: an array of Shape (empty: a single
// one) of Elem.
type format struct {
	Shape []int  `json:"shape,omitempty"`
	Elem  layout `json:"elem"`
}

func (f *format) size() int { return f.Elem.size() * product(f.Shape) }

func (f *format) String() string {
	s := "rows of " + f.Elem.String()
	if len(f.Shape) > 0 {
		s += dimString(f.Shape)
	}
	return s
}

// valid checks a format that was read from disk, so that nothing later can
// overflow or recurse without end.
func (f *format) valid() error {
	if err := f.Elem.valid(0); err != nil {
		return err
	}
	n := int64(f.Elem.size())
	if f.Elem.variable() {
		if len(f.Shape) > 0 {
			return unsupported("an array of variable-length values")
		}
		return nil
	}
	if len(f.Shape) > maxRank-1 {
		return unsupported("%d dimensions, at most %d", len(f.Shape), maxRank-1)
	}
	return checkDims(f.Shape, n)
}

func (l *layout) valid(depth int) error {
	if depth > 16 {
		return unsupported("types nested deeper than 16")
	}
	switch l.Kind {
	case kString:
	case kArray, kVlen:
		if l.Elem == nil {
			return unsupported("a %s of nothing", l.Kind)
		}
		if l.Elem.variable() {
			return unsupported("%s inside another value", l.Elem.Kind)
		}
		if err := l.Elem.valid(depth + 1); err != nil {
			return err
		}
		if l.Kind == kArray {
			if len(l.Dims) == 0 || len(l.Dims) > maxRank {
				return unsupported("an array of %d dimensions", len(l.Dims))
			}
			return checkDims(l.Dims, int64(l.Elem.size()))
		}
	case kStruct:
		if len(l.Fields) == 0 {
			return unsupported("a struct without fields")
		}
		seen := map[string]bool{}
		total := int64(0)
		for i := range l.Fields {
			f := &l.Fields[i]
			if f.Name == "" || strings.IndexByte(f.Name, 0) >= 0 || seen[f.Name] {
				return unsupported("field name %q, empty, twice or with a NUL byte", f.Name)
			}
			seen[f.Name] = true
			if f.Type.variable() {
				return unsupported("field %s is a %s", f.Name, f.Type.Kind)
			}
			if err := f.Type.valid(depth + 1); err != nil {
				return err
			}
			if total += int64(f.Type.size()); total > maxRow {
				return unsupported("a struct of more than %d bytes", maxRow)
			}
		}
	default:
		if scalarSize[l.Kind] == 0 {
			return unsupported("kind %q", l.Kind)
		}
	}
	return nil
}

const (
	maxRank = 32      // HDF5's own limit
	maxRow  = 1 << 30 // bytes of one row
)

func checkDims(dims []int, elem int64) error {
	n := elem
	for _, d := range dims {
		if d <= 0 {
			return unsupported("extent %d in shape %v", d, dims)
		}
		if n > maxRow/int64(d) {
			return unsupported("a row of shape %v has more than %d bytes", dims, maxRow)
		}
		n *= int64(d)
	}
	return nil
}

func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

func dimString(dims []int) string {
	var b strings.Builder
	for _, d := range dims {
		b.WriteString("[" + strconv.Itoa(d) + "]")
	}
	return b.String()
}

var marshalerType = reflect.TypeFor[encoding.BinaryMarshaler]()

// scalarKind maps Go kinds of fixed size. int and uint are stored in 64 bits.
func scalarKind(t reflect.Type) (kind, bool) {
	switch t.Kind() {
	case reflect.Int, reflect.Uint:
		return map[string]kind{"int": kInt64, "uint": kUint64}[t.Kind().String()], t.Size() == 8
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128, reflect.Bool,
		reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return kind(t.Kind().String()), true
	}
	return "", false
}

// elementLayout describes a Go type of fixed size. where names it in errors.
func elementLayout(t reflect.Type, where string) (layout, error) {
	if k, ok := scalarKind(t); ok {
		return layout{Kind: k}, nil
	}
	switch t.Kind() {
	case reflect.Array:
		var dims []int
		for ; t.Kind() == reflect.Array; t = t.Elem() {
			dims = append(dims, t.Len())
		}
		e, err := elementLayout(t, where+dimString(dims))
		if err != nil {
			return layout{}, err
		}
		return layout{Kind: kArray, Dims: dims, Elem: &e}, nil
	case reflect.Struct:
		l := layout{Kind: kStruct}
		for i := range t.NumField() {
			f := t.Field(i)
			name, skip := fieldName(f)
			if skip {
				continue
			}
			if !f.IsExported() {
				return layout{}, unsupported("%s.%s is unexported; export it, tag it `store:\"-\"`, or give the type MarshalBinary", where, f.Name)
			}
			e, err := elementLayout(f.Type, where+"."+f.Name)
			if err != nil {
				return layout{}, err
			}
			l.Fields = append(l.Fields, field{Name: name, Type: e})
		}
		return l, nil
	}
	return layout{}, unsupported("%s is a %s, which has no fixed size; use numbers, bool, arrays and structs of them, or store bytes", where, t)
}

// fieldName applies the tag `store:"name"`; "-" leaves the field out.
func fieldName(f reflect.StructField) (name string, skip bool) {
	tag := f.Tag.Get("store")
	switch tag {
	case "-":
		return "", true
	case "":
		return f.Name, false
	}
	return tag, false
}

// rowFormat describes type t as a row. shape is the shape of a slice's rows,
// nil for none. Arrays at the top become dimensions of the dataset.
func rowFormat(t reflect.Type, shape []int) (format, error) {
	f, err := rowFormatOf(t, shape)
	if err != nil {
		return format{}, err
	}
	return f, f.valid()
}

func rowFormatOf(t reflect.Type, shape []int) (format, error) {
	if t.Implements(marshalerType) {
		if shape != nil {
			return format{}, unsupported("%s marshals itself to bytes, so it cannot have rows of shape %v", t, shape)
		}
		return format{Elem: layout{Kind: kVlen, Elem: &layout{Kind: kUint8}}}, nil
	}
	switch t.Kind() {
	case reflect.String:
		if shape != nil {
			return format{}, unsupported("a string cannot have rows of shape %v", shape)
		}
		return format{Elem: layout{Kind: kString}}, nil
	case reflect.Slice:
		e, err := elementLayout(t.Elem(), "element of "+t.String())
		if err != nil {
			return format{}, err
		}
		if shape == nil {
			return format{Elem: layout{Kind: kVlen, Elem: &e}}, nil
		}
		if e.Kind == kArray {
			return format{Shape: append(append([]int{}, shape...), e.Dims...), Elem: *e.Elem}, nil
		}
		return format{Shape: append([]int{}, shape...), Elem: e}, nil
	}
	if shape != nil {
		return format{}, unsupported("Shape %v is for slices; a %s has its shape in its type", shape, t)
	}
	e, err := elementLayout(t, fmt.Sprint(t))
	if err != nil {
		return format{}, err
	}
	if e.Kind == kArray {
		return format{Shape: e.Dims, Elem: *e.Elem}, nil
	}
	return format{Elem: e}, nil
}
