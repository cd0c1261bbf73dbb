package store

import (
	"fmt"
	"unsafe"
)

// HDF5 type classes.
const (
	clsInteger  = 0
	clsFloat    = 1
	clsString   = 3
	clsOpaque   = 5
	clsCompound = 6
	clsEnum     = 8
	clsVlen     = 9
	clsArray    = 10
)

const (
	variableSize = ^uintptr(0) // H5T_VARIABLE
	csetUTF8     = 1
)

var scalarSymbol = map[kind]symbol{
	kFloat32: symF32, kFloat64: symF64, kInt8: symI8, kInt16: symI16, kInt32: symI32, kInt64: symI64,
	kUint8: symU8, kUint16: symU16, kUint32: symU32, kUint64: symU64,
}

// newType makes the HDF5 type of a layout. The same type serves in the file
// and in memory, because rows are packed little-endian in both.
func (q *session) newType(l *layout) hid {
	switch l.Kind {
	case kComplex64, kComplex128:
		part := kFloat32
		if l.Kind == kComplex128 {
			part = kFloat64
		}
		return q.newCompound([]field{{"r", layout{Kind: part}}, {"i", layout{Kind: part}}})
	case kBool:
		id := q.id(fnTenumCreate, uintptr(q.lib.sym[symI8]))
		for v, name := range []string{"FALSE", "TRUE"} {
			b := []int8{int8(v)}
			q.status(fnTenumInsert, uintptr(id), uintptr(unsafe.Pointer(q.cstring(name))), uintptr(unsafe.Pointer(&b[0])))
		}
		return id
	case kString:
		id := q.id(fnTcopy, uintptr(q.lib.sym[symCString]))
		q.status(fnTsetSize, uintptr(id), variableSize)
		q.status(fnTsetCset, uintptr(id), csetUTF8)
		return id
	case kVlen:
		return q.id(fnTvlen, uintptr(q.newType(l.Elem)))
	case kArray:
		return q.id(fnTarray, uintptr(q.newType(l.Elem)), uintptr(len(l.Dims)), uintptr(unsafe.Pointer(&extents(l.Dims)[0])))
	case kStruct:
		return q.newCompound(l.Fields)
	}
	s, ok := scalarSymbol[l.Kind]
	if !ok {
		q.fail(&Error{Op: "make type", Path: q.path, Name: q.name, Err: unsupported("%s", l)})
		return 0
	}
	return q.id(fnTcopy, uintptr(q.lib.sym[s]))
}

func (q *session) newCompound(fields []field) hid {
	l := layout{Kind: kStruct, Fields: fields}
	id := q.id(fnTcreate, clsCompound, uintptr(l.size()))
	offset := 0
	for i := range fields {
		member := q.newType(&fields[i].Type)
		q.status(fnTinsert, uintptr(id), uintptr(unsafe.Pointer(q.cstring(fields[i].Name))), uintptr(offset), uintptr(member))
		offset += fields[i].Type.size()
	}
	return id
}

// extents is dims as hsize_t, never empty so that its first element has an
// address.
func extents(dims []int) []uint64 {
	e := make([]uint64, max(len(dims), 1))
	for i, d := range dims {
		e[i] = uint64(d)
	}
	return e
}

// readLayout describes an HDF5 type, as kOther where it has no counterpart
// here. Byte order is left out: the library converts it.
func (q *session) readLayout(t hid) layout {
	size := int(q.long(fnTgetSize, uintptr(t)))
	switch class := q.status(fnTgetClass, uintptr(t)); class {
	case clsInteger:
		name := "uint"
		if q.status(fnTgetSign, uintptr(t)) != 0 {
			name = "int"
		}
		return known(kind(fmt.Sprintf("%s%d", name, 8*size)))
	case clsFloat:
		return known(kind(fmt.Sprintf("float%d", 8*size)))
	case clsString:
		if q.status(fnTisVarStr, uintptr(t)) > 0 {
			return layout{Kind: kString}
		}
		return layout{Kind: kOther, Note: fmt.Sprintf("fixed string of %d bytes", size)}
	case clsEnum:
		base := q.readLayout(q.id(fnTsuper, uintptr(t)))
		if size == 1 && q.enumName(t, 0) == "FALSE" && q.enumName(t, 1) == "TRUE" {
			return layout{Kind: kBool}
		}
		return layout{Kind: kOther, Note: "enumeration over " + base.String()}
	case clsVlen:
		e := q.readLayout(q.id(fnTsuper, uintptr(t)))
		return layout{Kind: kVlen, Elem: &e}
	case clsArray:
		return q.readArray(t)
	case clsCompound:
		return q.readCompound(t, size)
	case clsOpaque:
		return layout{Kind: kOther, Note: fmt.Sprintf("opaque of %d bytes", size)}
	default:
		return layout{Kind: kOther, Note: fmt.Sprintf("HDF5 type of class %d and %d bytes", class, size)}
	}
}

func known(k kind) layout {
	if scalarSize[k] == 0 {
		return layout{Kind: kOther, Note: string(k)}
	}
	return layout{Kind: k}
}

func (q *session) enumName(t hid, v int8) string {
	b, buf := []int8{v}, make([]byte, 16)
	if r := q.call(fnTenumNameof, uintptr(t), uintptr(unsafe.Pointer(&b[0])), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf))); int32(r) < 0 {
		return "" // no such member
	}
	return gostring(&buf[0])
}

func (q *session) readArray(t hid) layout {
	dims := make([]uint64, maxRank)
	n := q.status(fnTarrayNdims, uintptr(t))
	q.status(fnTarrayDims, uintptr(t), uintptr(unsafe.Pointer(&dims[0])))
	e := q.readLayout(q.id(fnTsuper, uintptr(t)))
	l := layout{Kind: kArray, Elem: &e}
	for _, d := range dims[:n] {
		l.Dims = append(l.Dims, int(d))
	}
	return l
}

func (q *session) readCompound(t hid, size int) layout {
	l := layout{Kind: kStruct}
	for i := range q.status(fnTnmembers, uintptr(t)) {
		p := q.call(fnTmemberName, uintptr(t), uintptr(i))
		name := gostring(*(**byte)(unsafe.Pointer(&p)))
		q.call(fnFreeMemory, p)
		m := q.readLayout(q.id(fnTmemberType, uintptr(t), uintptr(i)))
		if off := int(q.long(fnTmemberOffset, uintptr(t), uintptr(i))); off != l.size() {
			name = fmt.Sprintf("%s@%d", name, off) // padded: not our packing, say so
		}
		l.Fields = append(l.Fields, field{Name: name, Type: m})
	}
	if len(l.Fields) == 2 && l.Fields[0].Name == "r" && l.Fields[1].Name == "i" && l.Fields[0].Type.Kind == l.Fields[1].Type.Kind {
		switch l.Fields[0].Type.Kind {
		case kFloat32:
			return layout{Kind: kComplex64}
		case kFloat64:
			return layout{Kind: kComplex128}
		}
	}
	if s := l.size(); s != size && s > 0 {
		l.Kind, l.Note = kOther, fmt.Sprintf("%s padded to %d bytes", l.String(), size)
	}
	return l
}
