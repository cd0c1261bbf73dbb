package store

import (
	"fmt"
	"reflect"
	"unsafe"
)

const attrFingerprint = "fingerprint"

// SetAttr sets an attribute of the file ("/") or of a dataset or group. value
// is a string, a bool, a number, a complex number, a fixed array or a slice of
// one of these. An attribute of that name is replaced. It is on disk after the
// next Commit or Close.
func (f *File) SetAttr(object, name string, value any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.writable(); err != nil {
		return err
	}
	if err := f.openStage(); err != nil {
		return err
	}
	f.staged = true
	return f.stage(attrSize(value)+int64(len(f.sinks))*metadataRoom, func(q *session) {
		if f.pendingSink(object) {
			for _, s := range f.sinks {
				q.ensureDatasets(f.handle, s)
			}
		}
		q.writeAttr(f.handle, object, name, value)
	})
}

// attrSize bounds the bytes that an attribute takes.
func attrSize(value any) int64 {
	switch v := value.(type) {
	case string:
		return 2 * int64(len(v))
	case []string:
		n := int64(0)
		for _, s := range v {
			n += 2*int64(len(s)) + heapRoom
		}
		return n
	}
	v := reflect.ValueOf(value)
	switch {
	case !v.IsValid():
		return 0
	case v.Kind() == reflect.Slice:
		return 2 * int64(v.Len()) * int64(v.Type().Elem().Size())
	}
	return 2 * int64(v.Type().Size())
}

func (f *File) pendingSink(object string) bool {
	for _, s := range f.sinks {
		if !s.folded && (s.def.Name == object || doneName(s.def.Name) == object) {
			return true
		}
	}
	return false
}

// Attr returns an attribute: a string, []string, or a number or bool of the
// type in the file or a slice of them. ok is false if there is none.
func (f *File) Attr(object, name string) (value any, ok bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err = f.read(func(q *session, file hid) {
		value, ok = q.readAttr(file, object, name)
	})
	return value, ok, err
}

func (q *session) openObject(file hid, name string) hid {
	return q.id(fnOopen, uintptr(file), uintptr(unsafe.Pointer(q.cstring(name))), 0)
}

func (q *session) writeAttr(file hid, object, name string, value any) {
	m := q.mark()
	defer q.release(m)
	old := q.name
	q.name = object + " attribute " + name
	defer func() { q.name = old }()
	obj := q.openObject(file, object)
	if q.status(fnAexists, uintptr(obj), uintptr(unsafe.Pointer(q.cstring(name)))) > 0 {
		q.status(fnAdelete, uintptr(obj), uintptr(unsafe.Pointer(q.cstring(name))))
	}
	switch v := value.(type) {
	case string:
		q.writeStrings(obj, name, []string{v}, nil)
		return
	case []string:
		q.writeStrings(obj, name, v, []int{len(v)})
		return
	}
	t := reflect.TypeOf(value)
	if t == nil {
		q.fail(&Error{Op: "set attribute", Path: q.path, Name: q.name, Err: unsupported("nil")})
		return
	}
	var shape []int
	if t.Kind() == reflect.Slice {
		shape = []int{reflect.ValueOf(value).Len()}
	}
	if len(shape) > 0 && shape[0] == 0 {
		q.fail(&Error{Op: "set attribute", Path: q.path, Name: q.name, Err: unsupported("an empty %s", t)})
		return
	}
	c, err := newCodec(t, shape)
	if err == nil && c.format.Elem.variable() {
		err = unsupported("an attribute of type %s", t)
	}
	if err != nil {
		q.fail(&Error{Op: "set attribute", Path: q.path, Name: q.name, Err: err})
		return
	}
	p := reflect.New(t)
	p.Elem().Set(reflect.ValueOf(value))
	data, err := c.append(nil, p.UnsafePointer())
	if err != nil {
		q.fail(&Error{Op: "set attribute", Path: q.path, Name: q.name, Err: err})
		return
	}
	ty := q.newType(&c.format.Elem)
	a := q.createAttr(obj, name, ty, c.format.Shape)
	q.status(fnAwrite, uintptr(a), uintptr(ty), uintptr(unsafe.Pointer(&data[0])))
}

func (q *session) createAttr(obj hid, name string, t hid, dims []int) hid {
	return q.id(fnAcreate, uintptr(obj), uintptr(unsafe.Pointer(q.cstring(name))), uintptr(t), uintptr(q.newSpace(dims, false)), 0, 0)
}

func (q *session) writeStrings(obj hid, name string, values []string, dims []int) {
	t := q.newType(&layout{Kind: kString})
	a := q.createAttr(obj, name, t, dims)
	if len(values) == 0 {
		return
	}
	q.withStrings(values, func(ptrs []*byte) {
		q.status(fnAwrite, uintptr(a), uintptr(t), uintptr(unsafe.Pointer(&ptrs[0])))
	})
}

// readAttr reads an attribute; ok is false if there is none.
func (q *session) readAttr(file hid, object, name string) (value any, ok bool) {
	m := q.mark()
	defer q.release(m)
	old := q.name
	q.name = object + " attribute " + name
	defer func() { q.name = old }()
	obj := q.openObject(file, object)
	if q.status(fnAexists, uintptr(obj), uintptr(unsafe.Pointer(q.cstring(name)))) == 0 {
		return nil, false
	}
	a := q.id(fnAopen, uintptr(obj), uintptr(unsafe.Pointer(q.cstring(name))), 0)
	t := q.id(fnAtype, uintptr(a))
	dims := q.shapeOf(q.id(fnAspace, uintptr(a)))
	if q.err != nil {
		return nil, false
	}
	if q.status(fnTgetClass, uintptr(t)) == clsString {
		return q.readStrings(a, t, dims), q.err == nil
	}
	l := q.readLayout(t)
	gt, known := goType[l.Kind]
	n := product(dims)
	if !known || n > maxRow/16 {
		q.fail(&Error{Op: "read attribute", Path: q.path, Name: q.name, Err: unsupported("%s of shape %v", &l, dims)})
		return nil, false
	}
	if n == 0 {
		return reflect.MakeSlice(reflect.SliceOf(gt), 0, 0).Interface(), true
	}
	data := make([]byte, n*l.size())
	q.status(fnAread, uintptr(a), uintptr(q.newType(&l)), uintptr(unsafe.Pointer(&data[0])))
	v := reflect.MakeSlice(reflect.SliceOf(gt), n, n)
	unpack(repeat(gt, 0, 0, n), v.UnsafePointer(), data)
	if len(dims) == 0 {
		return v.Index(0).Interface(), q.err == nil
	}
	return v.Interface(), q.err == nil
}

// readStrings reads strings of variable or fixed length.
func (q *session) readStrings(a, t hid, dims []int) any {
	n := product(dims)
	out := make([]string, n)
	switch size := int(q.long(fnTgetSize, uintptr(t))); {
	case n == 0 || q.err != nil:
	case q.status(fnTisVarStr, uintptr(t)) > 0:
		ptrs := make([]uintptr, n)
		q.status(fnAread, uintptr(a), uintptr(t), uintptr(unsafe.Pointer(&ptrs[0])))
		if q.err != nil {
			break
		}
		for i := range ptrs {
			out[i] = gostring(*(**byte)(unsafe.Pointer(&ptrs[i])))
		}
		space := q.id(fnAspace, uintptr(a))
		q.status(fnDvlenReclaim, uintptr(t), uintptr(space), 0, uintptr(unsafe.Pointer(&ptrs[0])))
	case n > maxRow/size:
		q.fail(&Error{Op: "read attribute", Path: q.path, Name: q.name, Err: fmt.Errorf("%d strings of %d bytes", n, size)})
	default:
		data := make([]byte, n*size)
		q.status(fnAread, uintptr(a), uintptr(t), uintptr(unsafe.Pointer(&data[0])))
		for i := range out {
			out[i] = trimPadded(data[i*size:][:size])
		}
	}
	if len(dims) == 0 {
		return out[0]
	}
	return out
}

// trimPadded ends a fixed string at its first NUL and drops padding.
func trimPadded(b []byte) string {
	for i, c := range b {
		if c == 0 {
			b = b[:i]
			break
		}
	}
	for len(b) > 0 && b[len(b)-1] == ' ' {
		b = b[:len(b)-1]
	}
	return string(b)
}

var goType = map[kind]reflect.Type{
	kFloat32: reflect.TypeFor[float32](), kFloat64: reflect.TypeFor[float64](),
	kComplex64: reflect.TypeFor[complex64](), kComplex128: reflect.TypeFor[complex128](),
	kInt8: reflect.TypeFor[int8](), kInt16: reflect.TypeFor[int16](), kInt32: reflect.TypeFor[int32](), kInt64: reflect.TypeFor[int64](),
	kUint8: reflect.TypeFor[uint8](), kUint16: reflect.TypeFor[uint16](), kUint32: reflect.TypeFor[uint32](), kUint64: reflect.TypeFor[uint64](),
	kBool: reflect.TypeFor[bool](),
}
