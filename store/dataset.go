package store

import (
	"runtime"
	"unsafe"
)

const (
	spaceScalar    = 0
	spaceNull      = 2
	unlimited      = ^uint64(0)
	selectSet      = 0
	flushGlobal    = 1
	flagReadOnly   = 0
	flagReadWrite  = 1
	flagTruncate   = 2
	libverV18      = 1
	libverV110     = 2
	filterDeflate  = 1
	allocEarly     = 1
	layoutChunked  = 2
	objectGroup    = 2
	objectDataset  = 5
	indexByName    = 0
	iterIncreasing = 0
)

// fileAccess makes the access properties of a file. Files are written in the
// format of 1.8, which every reader in use knows and whose metadata carries
// checksums. lock says whether the library's own locking is wanted.
func (q *session) fileAccess(lock bool) hid {
	p := q.id(fnPcreate, uintptr(q.lib.sym[symFileAccess]))
	q.status(fnPsetLibver, uintptr(p), libverV18, libverV110)
	if q.lib.addr[fnPsetLocking] != 0 {
		use := uintptr(0)
		if lock {
			use = 1
		}
		q.status(fnPsetLocking, uintptr(p), use, 1) // ignore where the file system has no locks
	}
	return p
}

func (q *session) createFile(path string) hid {
	return q.id(fnFcreate, uintptr(unsafe.Pointer(q.cstring(path))), flagTruncate, 0, uintptr(q.fileAccess(false)))
}

func (q *session) openFile(path string, write bool) hid {
	flags := uintptr(flagReadOnly)
	if write {
		flags = flagReadWrite
	}
	return q.id(fnFopen, uintptr(unsafe.Pointer(q.cstring(path))), flags, uintptr(q.fileAccess(!write)))
}

// storage says how a new dataset is laid out.
type storage struct {
	dims    []int
	growing bool // the first dimension is unlimited
	chunk   []int
	deflate int    // 0 for none
	fill    []byte // one element, or nil
	elem    *layout
}

func (q *session) createDataset(file hid, name string, s *storage) hid {
	p := q.id(fnPcreate, uintptr(q.lib.sym[symDatasetCreate]))
	t := q.newType(s.elem)
	if len(s.chunk) > 0 {
		q.status(fnPsetChunk, uintptr(p), uintptr(len(s.chunk)), uintptr(unsafe.Pointer(&extents(s.chunk)[0])))
		if s.deflate > 0 && !s.elem.variable() {
			if q.status(fnZavail, filterDeflate) == 0 {
				q.fail(&Error{Op: "create dataset", Path: q.path, Name: name,
					Err: unsupported("the library %s was built without deflate; set Compression to -1", q.lib.name)})
			}
			q.status(fnPsetShuffle, uintptr(p))
			q.status(fnPsetDeflate, uintptr(p), uintptr(s.deflate))
		}
		if !s.elem.variable() { // the library refuses filters there
			q.status(fnPsetFletcher, uintptr(p))
		}
	}
	if len(s.chunk) == 0 {
		q.status(fnPsetAllocTime, uintptr(p), allocEarly) // within what was reserved
	}
	if s.fill != nil {
		q.status(fnPsetFill, uintptr(p), uintptr(t), uintptr(unsafe.Pointer(&s.fill[0])))
	}
	space := q.newSpace(s.dims, s.growing)
	links := q.id(fnPcreate, uintptr(q.lib.sym[symLinkCreate]))
	q.status(fnPsetCreateGroups, uintptr(links), 1)
	return q.id(fnDcreate, uintptr(file), uintptr(unsafe.Pointer(q.cstring(name))), uintptr(t), uintptr(space), uintptr(links), uintptr(p), 0)
}

// newSpace makes a data space; no dimensions is a single element.
func (q *session) newSpace(dims []int, growing bool) hid {
	if len(dims) == 0 {
		return q.id(fnScreate, spaceScalar)
	}
	d, m := extents(dims), extents(dims)
	if growing {
		m[0] = unlimited
	}
	return q.id(fnScreateSimple, uintptr(len(dims)), uintptr(unsafe.Pointer(&d[0])), uintptr(unsafe.Pointer(&m[0])))
}

// exists reports whether name, with all the groups before it, is in the file.
func (q *session) exists(file hid, name string) bool {
	for i := 1; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' || name[i-1] == '/' {
			continue
		}
		if q.status(fnLexists, uintptr(file), uintptr(unsafe.Pointer(q.cstring(name[:i]))), 0) == 0 {
			return false
		}
	}
	return q.err == nil
}

func (q *session) openDataset(file hid, name string) hid {
	return q.id(fnDopen, uintptr(file), uintptr(unsafe.Pointer(q.cstring(name))), 0)
}

// shapeOf returns the extents of a data space; none for a single element, one
// of zero for a space without elements.
func (q *session) shapeOf(space hid) []int {
	if q.status(fnStype, uintptr(space)) == spaceNull {
		return []int{0}
	}
	n := q.status(fnSndims, uintptr(space))
	d := make([]uint64, maxRank+1)
	q.status(fnSdims, uintptr(space), uintptr(unsafe.Pointer(&d[0])), 0)
	dims := make([]int, 0, n)
	for _, v := range d[:n] {
		if v > 1<<62 {
			q.fail(&Error{Op: "read shape", Path: q.path, Name: q.name, Err: unsupported("extent %d", v)})
			return nil
		}
		dims = append(dims, int(v))
	}
	return dims
}

func (q *session) datasetShape(d hid) []int {
	return q.shapeOf(q.id(fnDspace, uintptr(d)))
}

// chunkOf returns the shape of a dataset's chunks, nil if it has none.
func (q *session) chunkOf(d hid) []int {
	p := q.id(fnDplist, uintptr(d))
	if q.status(fnPgetLayout, uintptr(p)) != layoutChunked {
		return nil
	}
	c := make([]uint64, maxRank+1)
	n := q.status(fnPgetChunk, uintptr(p), uintptr(len(c)), uintptr(unsafe.Pointer(&c[0])))
	chunk := make([]int, n)
	for i := range chunk {
		chunk[i] = int(c[i])
	}
	return chunk
}

func (q *session) datasetLayout(d hid) layout {
	return q.readLayout(q.id(fnDtype, uintptr(d)))
}

// select selects a block of a dataset and makes a matching space in memory.
func (q *session) selectBlock(d hid, offset, count []int) (mem, file hid) {
	file = q.id(fnDspace, uintptr(d))
	if len(count) == 0 {
		return q.newSpace(nil, false), file
	}
	o, c := extents(offset), extents(count)
	q.status(fnShyperslab, uintptr(file), selectSet, uintptr(unsafe.Pointer(&o[0])), 0, uintptr(unsafe.Pointer(&c[0])), 0)
	return q.newSpace(count, false), file
}

// writeBlock writes packed elements to the block, readBlock reads them.
func (q *session) writeBlock(d, t hid, offset, count []int, data []byte) {
	mem, file := q.selectBlock(d, offset, count)
	q.status(fnDwrite, uintptr(d), uintptr(t), uintptr(mem), uintptr(file), 0, uintptr(unsafe.Pointer(unsafe.SliceData(data))))
}

func (q *session) readBlock(d, t hid, offset, count []int, data []byte) {
	mem, file := q.selectBlock(d, offset, count)
	q.status(fnDread, uintptr(d), uintptr(t), uintptr(mem), uintptr(file), 0, uintptr(unsafe.Pointer(unsafe.SliceData(data))))
}

func (q *session) setExtent(d hid, dims []int) {
	q.status(fnDsetExtent, uintptr(d), uintptr(unsafe.Pointer(&extents(dims)[0])))
}

// varlen is hvl_t.
type varlen struct {
	n uintptr
	p unsafe.Pointer
}

// writeVariable writes rows of variable length, from rows[0] at first on.
// elem is the size of an element, 0 for strings.
func (q *session) writeVariable(d, t hid, first int, rows [][]byte, elem int) {
	mem, file := q.selectBlock(d, []int{first}, []int{len(rows)})
	if elem == 0 {
		text := make([]string, len(rows))
		for i, r := range rows {
			text[i] = string(r)
		}
		q.withStrings(text, func(ptrs []*byte) {
			q.status(fnDwrite, uintptr(d), uintptr(t), uintptr(mem), uintptr(file), 0, uintptr(unsafe.Pointer(&ptrs[0])))
		})
		return
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	vs := make([]varlen, len(rows))
	for i, r := range rows {
		if len(r) > 0 {
			pin.Pin(&r[0])
			vs[i] = varlen{uintptr(len(r) / elem), unsafe.Pointer(&r[0])}
		}
	}
	q.status(fnDwrite, uintptr(d), uintptr(t), uintptr(mem), uintptr(file), 0, uintptr(unsafe.Pointer(&vs[0])))
}

// withStrings lends body pointers to C copies of the strings.
func (q *session) withStrings(values []string, body func(ptrs []*byte)) {
	var pin runtime.Pinner
	defer pin.Unpin()
	ptrs := make([]*byte, len(values))
	for i, s := range values {
		ptrs[i] = q.cstring(s)
		pin.Pin(ptrs[i])
	}
	body(ptrs)
}

// readVariable calls visit with the bytes of each row in [first, first+n).
// They are valid for the call only.
func (q *session) readVariable(d, t hid, first, n, elem int, visit func(i int, row []byte)) {
	mem, file := q.selectBlock(d, []int{first}, []int{n})
	// The library fills in pointers to memory of its own.
	buf := make([]struct{ n, p uintptr }, n)
	q.status(fnDread, uintptr(d), uintptr(t), uintptr(mem), uintptr(file), 0, uintptr(unsafe.Pointer(&buf[0])))
	if q.err != nil {
		return
	}
	if elem == 0 { // an array of char*, half as long
		ptrs := unsafe.Slice((*uintptr)(unsafe.Pointer(&buf[0])), n)
		for i := range n {
			visit(i, []byte(gostring(*(**byte)(unsafe.Pointer(&ptrs[i])))))
		}
	} else {
		for i := range buf {
			p := *(**byte)(unsafe.Pointer(&buf[i].p))
			visit(i, unsafe.Slice(p, int(buf[i].n)*elem))
		}
	}
	q.status(fnDvlenReclaim, uintptr(t), uintptr(mem), 0, uintptr(unsafe.Pointer(&buf[0])))
}
