package store

import (
	"fmt"
	"reflect"
	"slices"
	"unsafe"
)

// Element is the type of a tensor's elements.
type Element interface {
	float32 | float64 | complex64 | complex128 | int32 | int64 | bool
}

// TensorOptions says how a tensor is stored. The zero value is the default.
type TensorOptions struct {
	// Compression is the deflate level, 1 to 9: chunks, shuffled,
	// compressed and checksummed. 0 means neither: one stretch of the file,
	// the fastest to read.
	Compression int

	// Chunk is the shape of a chunk with Compression. nil means about 1 MiB.
	Chunk []int

	Units       string // attribute "units", if not ""
	Description string // attribute "description", if not ""
}

// Info describes a dataset.
type Info struct {
	Type  string // "float64", "complex128", "struct{r float32; n int64}", …
	Shape []int  // empty for a single element
}

// Info returns what the dataset name is.
func (f *File) Info(name string) (Info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var info Info
	err := f.read(func(q *session, file hid) {
		q.name = name
		d := q.openDataset(file, name)
		l := q.datasetLayout(d)
		info = Info{Type: l.String(), Shape: q.datasetShape(d)}
	})
	return info, err
}

// Names returns the names of the datasets in the file, with their groups,
// sorted.
func (f *File) Names() ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	err := f.read(func(q *session, file hid) { q.walk(file, "", 0, &names) })
	slices.Sort(names)
	return names, err
}

// walk collects the datasets below a group. A link to nothing is left out; so
// is what lies deeper than any sensible tree, which a cycle of links can make.
func (q *session) walk(file hid, group string, depth int, names *[]string) {
	if depth > 32 {
		return
	}
	at := group
	if at == "" {
		at = "/"
	}
	for i := 0; q.err == nil; i++ {
		buf := make([]byte, 1024)
		n := int64(q.call(fnLnameByIdx, uintptr(file), uintptr(unsafe.Pointer(q.cstring(at))), indexByName, iterIncreasing,
			uintptr(i), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0))
		if n < 0 || n >= int64(len(buf)) {
			return // past the last one
		}
		name := string(buf[:n])
		if group != "" {
			name = group + "/" + name
		}
		m := q.mark()
		obj := hid(q.call(fnOopen, uintptr(file), uintptr(unsafe.Pointer(q.cstring(name))), 0))
		if obj <= 0 {
			continue // dangling
		}
		q.open = append(q.open, obj)
		switch q.status(fnIgetType, uintptr(obj)) {
		case objectGroup:
			q.walk(file, name, depth+1, names)
		case objectDataset:
			*names = append(*names, name)
		}
		q.release(m)
	}
}

// ReadTensor reads a whole dataset, row-major. The type in the file must be T,
// in either byte order, else it is a *LayoutError: nothing is converted.
func ReadTensor[T Element](f *File, name string) (data []T, shape []int, err error) {
	info, err := f.Info(name)
	if err != nil {
		return nil, nil, err
	}
	if err := checkTensor(info.Shape, int64(unsafe.Sizeof(*new(T)))); err != nil {
		return nil, nil, &Error{Op: "read", Path: f.path, Name: name, Err: err}
	}
	data = make([]T, product(info.Shape))
	if err := ReadSlab(f, name, make([]int, len(info.Shape)), info.Shape, data); err != nil {
		return nil, nil, err
	}
	return data, info.Shape, nil
}

// ReadSlab reads the block of the dataset that begins at offset and has shape
// count into dst, row-major, of exactly as many elements.
func ReadSlab[T Element](f *File, name string, offset, count []int, dst []T) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.read(func(q *session, file hid) {
		d, t := q.openTensor(file, name, reflect.TypeFor[T]())
		if !q.checkBlock(d, name, offset, count, len(dst)) {
			return
		}
		b := rawBytes(dst)
		q.readBlock(d, t, offset, count, b)
		if reflect.TypeFor[T]().Kind() == reflect.Bool {
			for i := range b {
				b[i] = min(b[i], 1)
			}
		}
	})
}

// CreateTensor adds a dataset of the given shape, all zeros, for WriteSlab.
func CreateTensor[T Element](f *File, name string, shape []int, opt TensorOptions) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.createTensor(name, shape, reflect.TypeFor[T](), opt)
}

// WriteSlab writes src, row-major, to the block of the dataset that begins at
// offset and has shape count. It is on disk after the next Commit or Close.
func WriteSlab[T Element](f *File, name string, offset, count []int, src []T) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writeSlab(name, offset, count, len(src), reflect.TypeFor[T](), rawBytes(src))
}

// WriteTensor adds a dataset of the given shape with the elements of data,
// row-major. It is on disk after the next Commit or Close.
func WriteTensor[T Element](f *File, name string, data []T, shape []int, opt TensorOptions) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if checkTensor(shape, 1) == nil && product(shape) != len(data) {
		return &Error{Op: "write", Path: f.path, Name: name, Err: unsupported("%d elements for shape %v", len(data), shape)}
	}
	if err := f.createTensor(name, shape, reflect.TypeFor[T](), opt); err != nil {
		return err
	}
	return f.writeSlab(name, make([]int, len(shape)), shape, len(data), reflect.TypeFor[T](), rawBytes(data))
}

func rawBytes[T Element](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}

func (f *File) createTensor(name string, shape []int, t reflect.Type, opt TensorOptions) error {
	if err := f.writable(); err != nil {
		return err
	}
	st, err := tensorStorage(name, shape, t, opt)
	if err != nil {
		return &Error{Op: "create", Path: f.path, Name: name, Err: err}
	}
	for _, s := range f.sinks {
		if name == s.def.Name || name == doneName(s.def.Name) {
			return &Error{Op: "create", Path: f.path, Name: name, Err: unsupported("a sink has this name")}
		}
	}
	if err := f.openStage(); err != nil {
		return err
	}
	f.staged = true
	need := int64(0)
	if len(st.chunk) == 0 {
		need = int64(product(shape)) * int64(t.Size())
	}
	return f.stage(need, func(q *session) {
		q.name = name
		q.createDataset(f.handle, name, st)
		if opt.Units != "" {
			q.writeAttr(f.handle, name, "units", opt.Units)
		}
		if opt.Description != "" {
			q.writeAttr(f.handle, name, "description", opt.Description)
		}
	})
}

func tensorStorage(name string, shape []int, t reflect.Type, opt TensorOptions) (*storage, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if err := checkTensor(shape, int64(t.Size())); err != nil {
		return nil, err
	}
	e, err := elementLayout(t, t.String())
	if err != nil {
		return nil, err
	}
	st := &storage{dims: slices.Clone(shape), elem: &e}
	switch {
	case opt.Compression < 0 || opt.Compression > 9:
		return nil, unsupported("Compression %d, not 0 to 9", opt.Compression)
	case opt.Compression == 0 && opt.Chunk != nil:
		return nil, unsupported("Chunk without Compression")
	case opt.Compression == 0 || product(shape) == 0 || len(shape) == 0:
		return st, nil
	}
	st.deflate = opt.Compression
	st.chunk = slices.Clone(opt.Chunk)
	if st.chunk == nil {
		st.chunk = autoChunk(shape, int(t.Size()))
	}
	if len(st.chunk) != len(shape) {
		return nil, unsupported("Chunk %v for shape %v", st.chunk, shape)
	}
	for i, c := range st.chunk {
		if c < 1 || c > shape[i] {
			return nil, unsupported("Chunk %v for shape %v", st.chunk, shape)
		}
	}
	return st, checkDims(st.chunk, int64(t.Size()))
}

// autoChunk halves the leading extents until a chunk has about 1 MiB.
func autoChunk(shape []int, size int) []int {
	c := slices.Clone(shape)
	for i := range c {
		for c[i] > 1 && product(c) > (1<<20)/size {
			c[i] = (c[i] + 1) / 2
		}
	}
	return c
}

const maxTensor = int64(1) << 46 // bytes

func checkTensor(shape []int, elem int64) error {
	if len(shape) > maxRank {
		return unsupported("%d dimensions, at most %d", len(shape), maxRank)
	}
	n := elem
	for _, d := range shape {
		if d < 0 || d > 0 && n > maxTensor/int64(d) {
			return unsupported("shape %v, negative or more than %d bytes", shape, maxTensor)
		}
		n *= int64(max(d, 1))
	}
	return nil
}

func (f *File) writeSlab(name string, offset, count []int, n int, t reflect.Type, data []byte) error {
	if err := f.writable(); err != nil {
		return err
	}
	if err := f.openStage(); err != nil {
		return err
	}
	f.staged = true
	need := int64(0)
	err := f.lib.do(partPath(f.path), func(q *session) {
		d, _ := q.openTensor(f.handle, name, t)
		if q.checkBlock(d, name, offset, count, n) {
			need = chunkedSize(q.chunkOf(d), offset, count, int64(t.Size()))
		}
	})
	if err != nil || n == 0 {
		return err
	}
	return f.stage(need, func(q *session) {
		d, ty := q.openTensor(f.handle, name, t)
		q.writeBlock(d, ty, offset, count, data)
	})
}

// chunkedSize is the number of bytes of the chunks that a block touches.
func chunkedSize(chunk, offset, count []int, elem int64) int64 {
	if len(chunk) == 0 {
		return 0
	}
	chunks := int64(1)
	for i, c := range chunk {
		chunks *= int64((offset[i]+count[i]-1)/c - offset[i]/c + 1)
		elem *= int64(c)
	}
	return chunks * (elem + chunkRoom)
}

// openTensor opens a dataset whose elements must be of type t.
func (q *session) openTensor(file hid, name string, t reflect.Type) (d, ty hid) {
	q.name = name
	d = q.openDataset(file, name)
	have := q.datasetLayout(d)
	want, err := elementLayout(t, t.String())
	q.fail(err)
	if q.err == nil && have.String() != want.String() {
		q.fail(&LayoutError{Path: q.path, Name: name, Have: have.String(), Want: want.String()})
	}
	return d, q.newType(&want)
}

// checkBlock checks a block against the dataset and the slice's length, and
// reports whether there is anything to move.
func (q *session) checkBlock(d hid, name string, offset, count []int, n int) bool {
	dims := q.datasetShape(d)
	if q.err != nil {
		return false
	}
	fault := ""
	if len(offset) != len(dims) || len(count) != len(dims) {
		fault = fmt.Sprintf("offset %v and count %v for shape %v", offset, count, dims)
	} else {
		for i := range dims {
			if offset[i] < 0 || count[i] < 0 || count[i] > dims[i]-offset[i] {
				fault = fmt.Sprintf("a block at %v of shape %v is outside shape %v", offset, count, dims)
			}
		}
		if fault == "" && product(count) != n {
			fault = fmt.Sprintf("%d elements for a block of shape %v", n, count)
		}
	}
	if fault != "" {
		q.fail(&Error{Op: "access block of", Path: q.path, Name: name, Err: unsupported("%s", fault)})
		return false
	}
	return n > 0
}
