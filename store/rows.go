package store

import (
	"errors"
	"fmt"
	"reflect"
	"unsafe"
)

const readPiece = 32 << 20 // bytes read at a time

// read runs body with the file to read from: PATH, or what is being written.
func (f *File) read(body func(q *session, file hid)) error {
	if f.closed {
		return &Error{Op: "read", Path: f.path, Err: ErrClosed}
	}
	return f.lib.do(f.path, func(q *session) {
		file := f.handle
		if file == 0 {
			if !f.base {
				q.fail(&Error{Op: "read", Path: f.path, Err: errors.New("nothing has been committed yet")})
				return
			}
			file = q.openFile(f.path, false)
		}
		body(q, file)
	})
}

// ReadRows reads rows first, first+1, … of the dataset name into dst, as a
// Sink of the same U wrote them, and says which of them are there; the others
// are as the file has them, NaN or zero, or the zero U if rows have variable
// length. Rows put since the last Commit are not
// seen. A slice in dst gets memory of its own; its shape is the file's.
func ReadRows[U any](f *File, name string, first int64, dst []U) (present []bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	present = make([]bool, len(dst))
	err = f.read(func(q *session, file hid) {
		q.name = name
		d := q.openDataset(file, name)
		c := q.rowCodec(d, name, reflect.TypeFor[U]())
		rows := q.datasetShape(d)
		if q.err != nil || len(dst) == 0 {
			return
		}
		if first < 0 || first > int64(rows[0])-int64(len(dst)) {
			q.fail(&Error{Op: "read", Path: q.path, Name: name, Err: unsupported("rows %d to %d of %d", first, first+int64(len(dst))-1, rows[0])})
			return
		}
		q.readPresent(file, name, int(first), present)
		q.readRows(d, c, int(first), len(dst), func(i int) unsafe.Pointer {
			if c.format.Elem.variable() && !present[i] {
				var none U
				dst[i] = none
				return nil
			}
			return unsafe.Pointer(&dst[i])
		})
	})
	if err != nil {
		return nil, err
	}
	return present, nil
}

// NumRows returns the number of rows of a dataset, there or not.
func (f *File) NumRows(name string) (int64, error) {
	info, err := f.Info(name)
	if err == nil && len(info.Shape) == 0 {
		err = &LayoutError{Path: f.path, Name: name, Have: "a single " + info.Type, Want: "rows"}
	}
	if err != nil {
		return 0, err
	}
	return int64(info.Shape[0]), nil
}

// rowCodec makes the codec that reads dataset d into values of type t.
func (q *session) rowCodec(d hid, name string, t reflect.Type) *codec {
	dims := q.datasetShape(d)
	have := q.datasetLayout(d)
	if q.err != nil {
		return nil
	}
	if len(dims) == 0 {
		q.fail(&LayoutError{Path: q.path, Name: name, Have: "a single " + have.String(), Want: "rows"})
		return nil
	}
	var shape []int
	if t.Kind() == reflect.Slice && !t.Implements(marshalerType) && !have.variable() {
		inner := 0
		for e := t.Elem(); e.Kind() == reflect.Array; e = e.Elem() {
			inner++
		}
		shape = append([]int{}, dims[1:max(1, len(dims)-inner)]...)
	}
	c, err := newCodec(t, shape)
	if err != nil {
		q.fail(&Error{Op: "read", Path: q.path, Name: name, Err: err})
		return nil
	}
	f := format{Shape: dims[1:], Elem: have}
	if h, w := f.String(), c.format.String(); h != w {
		q.fail(&LayoutError{Path: q.path, Name: name, Have: h, Want: w})
		return nil
	}
	return c
}

// readRows reads n rows into the values that at points to, leaving out those
// for which it returns nil.
func (q *session) readRows(d hid, c *codec, first, n int, at func(i int) unsafe.Pointer) {
	t := q.newType(&c.format.Elem)
	decode := func(i int, row []byte) {
		p := at(i)
		if p == nil {
			return
		}
		if err := c.decode(row, p); err != nil {
			q.fail(&Error{Op: "read", Path: q.path, Name: fmt.Sprintf("%s row %d", q.name, first+i), Err: err})
		}
	}
	if c.format.Elem.variable() {
		elem := 0
		if c.format.Elem.Kind == kVlen {
			elem = c.format.Elem.Elem.size()
		}
		for i := 0; i < n && q.err == nil; i += 4096 {
			m := q.mark()
			q.readVariable(d, t, first+i, min(4096, n-i), elem, func(k int, row []byte) { decode(i+k, row) })
			q.release(m)
		}
		return
	}
	size := c.format.size()
	step := max(1, readPiece/size)
	buf := make([]byte, min(step, n)*size)
	for i := 0; i < n && q.err == nil; i += step {
		k := min(step, n-i)
		m := q.mark()
		q.readBlock(d, t, append([]int{first + i}, make([]int, len(c.format.Shape))...), append([]int{k}, c.format.Shape...), buf[:k*size])
		q.release(m)
		for r := 0; r < k && q.err == nil; r++ {
			decode(i+r, buf[r*size:][:size])
		}
	}
}

// readPresent reads the marks of some rows. A dataset that no sink made has
// none: all its rows are there.
func (q *session) readPresent(file hid, name string, first int, present []bool) {
	if !q.exists(file, doneName(name)) {
		for i := range present {
			present[i] = true
		}
		return
	}
	d := q.openDataset(file, doneName(name))
	have, dims := q.datasetLayout(d), q.datasetShape(d)
	if q.err == nil && (have.Kind != kBool || len(dims) != 1) {
		q.fail(&LayoutError{Path: q.path, Name: doneName(name), Have: have.String() + dimString(dims), Want: "one bool per row"})
	}
	if q.err != nil {
		return
	}
	n := min(len(present), dims[0]-first)
	if n <= 0 {
		return
	}
	b := make([]byte, n)
	q.readBlock(d, q.newType(&have), []int{first}, []int{n}, b)
	for i := range b {
		present[i] = b[i] != 0
	}
}
