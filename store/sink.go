package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unsafe"
)

// SinkOptions says how results are stored. The zero value is the default.
type SinkOptions struct {
	// Shape is the shape of one result where the result is a slice: each
	// must then have that many elements. nil means results of variable
	// length.
	Shape []int

	// Rows is the number of results expected; rows that are not there yet
	// read as NaN or zero. 0 means unknown: the dataset ends with the
	// highest index put.
	Rows int64

	// Compression is the deflate level, 1 to 9. 0 means 1, −1 none. Bytes
	// are shuffled first, and every chunk carries a Fletcher-32 checksum.
	// Rows of variable length are kept outside the chunks by the library,
	// where neither applies.
	Compression int

	// ChunkRows is the number of rows per chunk. 0 means as many as make
	// 256 KiB.
	ChunkRows int

	Units       string // attribute "units" of the dataset, if not ""
	Description string // attribute "description" of the dataset, if not ""
}

// sinkState is what a File knows of one sink, whatever its Go type.
type sinkState struct {
	def     definitionBody
	present *bitset
	synced  int64 // rows that were on the disk itself at the last sync
	folded  bool  // its datasets are in PATH
	loaded  bool  // present has the rows of PATH
	open    bool
}

// Sink stores results of type U, one row per index, in the dataset NAME, and
// which rows are there in NAME_done. U may be
//
//   - a number, bool or complex number, an array or a struct of these (a
//     compound type; the field tag `store:"name"` renames, `store:"-"` leaves
//     out);
//   - a slice of these, of fixed length with SinkOptions.Shape, else of
//     variable length;
//   - a string (UTF-8 without NUL bytes);
//   - a type with MarshalBinary, stored as bytes of variable length.
//
// Put is called from one goroutine at a time; the other methods from any.
type Sink[U any] struct {
	f     *File
	s     *sinkState
	id    uint32
	codec *codec
	value U // the row being put, here so that putting allocates nothing
}

// NewSink adds the dataset name to a file open for writing or goes on with
// it, if the file has it already with the same type (else a *LayoutError).
// name may have groups in it, "a/b/c"; they are created.
func NewSink[U any](f *File, name string, opt SinkOptions) (*Sink[U], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.writable(); err != nil {
		return nil, err
	}
	c, def, err := defineSink(reflect.TypeFor[U](), name, opt)
	if err != nil {
		return nil, &Error{Op: "add sink to", Path: f.path, Name: name, Err: err}
	}
	id, err := f.openSink(def)
	if err != nil {
		return nil, err
	}
	return &Sink[U]{f: f, s: f.sinks[id], id: uint32(id), codec: c}, nil
}

func defineSink(t reflect.Type, name string, opt SinkOptions) (*codec, definitionBody, error) {
	def := definitionBody{Name: name, Rows: opt.Rows, Units: opt.Units, Description: opt.Description}
	c, err := newCodec(t, opt.Shape)
	if err != nil {
		return nil, def, errors.Join(checkName(name), err)
	}
	def.Format = c.format
	switch def.Deflate = opt.Compression; opt.Compression {
	case 0:
		def.Deflate = 1
	case -1:
		def.Deflate = 0
	}
	def.ChunkRows = opt.ChunkRows
	if opt.ChunkRows == 0 {
		def.ChunkRows = max(1, min(1<<16, (256<<10)/max(1, c.format.size())))
		if c.format.Elem.variable() {
			def.ChunkRows = 1024 // of 16-byte references
		}
		if opt.Rows > 0 {
			def.ChunkRows = int(min(int64(def.ChunkRows), opt.Rows))
		}
	}
	return c, def, def.check()
}

// checkName accepts what HDF5 and every tool take for a path: parts that are
// neither empty nor "." or "..".
func checkName(name string) error {
	if len(name) > 1000 {
		return unsupported("a name of %d bytes", len(name))
	}
	for _, p := range strings.Split(name, "/") {
		if p == "" || p == "." || p == ".." || strings.ContainsRune(p, 0) {
			return unsupported("name %q: parts between slashes must not be empty, \".\", \"..\" or contain NUL bytes", name)
		}
	}
	return nil
}

// openSink finds or adds the sink and returns its number.
func (f *File) openSink(def definitionBody) (int, error) {
	for id, s := range f.sinks {
		if s.def.Name == doneName(def.Name) || doneName(s.def.Name) == def.Name {
			return 0, &Error{Op: "add sink to", Path: f.path, Name: def.Name, Err: unsupported("%s marks the rows of another sink", doneName(def.Name))}
		}
		if s.def.Name != def.Name {
			continue
		}
		if s.open {
			return 0, &Error{Op: "add sink to", Path: f.path, Name: def.Name, Err: errors.New("it is already open")}
		}
		if have, want := s.def.Format.String(), def.Format.String(); have != want {
			return 0, &LayoutError{Path: f.path, Name: def.Name, Have: have, Want: want}
		}
		if s.def.Rows != def.Rows {
			return 0, &LayoutError{Path: f.path, Name: def.Name, Have: rowCount(s.def.Rows), Want: rowCount(def.Rows)}
		}
		if !s.loaded {
			if err := f.loadPresent(s, def); err != nil {
				return 0, err
			}
		}
		s.open, s.synced = true, s.present.count
		return id, nil
	}
	s := &sinkState{def: def, present: newBitset(), open: true}
	if err := f.loadPresent(s, def); err != nil {
		return 0, err
	}
	id := len(f.sinks)
	if err := f.journal.writeJSON(kindSink, definition{ID: uint32(id), definitionBody: def}); err != nil {
		return 0, err
	}
	f.headNew = true
	f.sinks = append(f.sinks, s)
	s.synced = s.present.count
	return id, nil
}

func rowCount(n int64) string {
	if n == 0 {
		return "any number of rows"
	}
	return fmt.Sprintf("%d rows", n)
}

// loadPresent reads which rows the HDF5 file has and checks that the dataset
// there is of the sink's kind.
func (f *File) loadPresent(s *sinkState, def definitionBody) error {
	s.loaded = true
	if !f.base && f.handle == 0 {
		return nil
	}
	return f.read(func(q *session, file hid) {
		q.name = def.Name
		if !q.exists(file, def.Name) {
			return
		}
		q.checkFormat(q.openDataset(file, def.Name), &def)
		if !q.exists(file, doneName(def.Name)) {
			q.fail(&Error{Op: "add sink to", Path: f.path, Name: def.Name, Err: errors.New("it is a dataset that no sink made (" + doneName(def.Name) + " is missing)")})
			return
		}
		s.folded = true
		q.name = doneName(def.Name)
		q.eachDone(file, doneName(def.Name), func(i int64) {
			if def.Rows > 0 && i >= def.Rows {
				q.fail(&LayoutError{Path: f.path, Name: def.Name, Have: fmt.Sprintf("row %d", i), Want: rowCount(def.Rows)})
				return
			}
			s.present.set(i)
		})
	})
}

// eachDone visits the rows that a done dataset marks.
func (q *session) eachDone(file hid, name string, visit func(i int64)) {
	d := q.openDataset(file, name)
	dims := q.datasetShape(d)
	have := q.datasetLayout(d)
	if q.err == nil && (len(dims) != 1 || have.Kind != kBool) {
		q.fail(&LayoutError{Path: q.path, Name: name, Have: have.String() + dimString(dims), Want: "one bool per row"})
	}
	if q.err != nil {
		return
	}
	t := q.newType(&layout{Kind: kBool})
	buf := make([]byte, min(dims[0], 16*doneChunk))
	for first := 0; first < dims[0] && q.err == nil; first += len(buf) {
		n := min(len(buf), dims[0]-first)
		m := q.mark()
		q.readBlock(d, t, []int{first}, []int{n}, buf[:n])
		q.release(m)
		for i, b := range buf[:n] {
			if b != 0 && q.err == nil {
				visit(int64(first + i))
			}
		}
	}
}

// Put stores value as row index, which must not be there yet (ErrDuplicate).
// When it returns nil the row is in the journal: the death of this process,
// at any moment, does not lose it. Flush, or the time in Options.SyncEvery,
// makes it survive the loss of the machine. If it fails the row is not there,
// unless the error says otherwise.
//
// Put takes some microseconds, apart from a sync or fold that is due. It does
// not look at ctx: a result that was computed is worth keeping although the
// run is being cancelled.
func (s *Sink[U]) Put(ctx context.Context, index int64, value U) error {
	f := s.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.sinkWritable(s.s); err != nil {
		return err
	}
	if err := s.admit(index); err != nil {
		return s.rowError(index, err)
	}
	if err := f.syncHead(); err != nil {
		return err
	}
	s.value = value
	j := f.journal
	j.begin()
	var err error
	j.buf, err = s.codec.append(appendRowHead(j.buf, s.id, index), unsafe.Pointer(&s.value))
	var none U
	s.value = none
	if n := len(j.buf) - frameHead - rowHead; err == nil && n > maxRow {
		err = unsupported("a row of %d bytes, at most %d", n, maxRow)
	}
	if err != nil {
		return s.rowError(index, err)
	}
	if err := j.write(); err != nil {
		return err
	}
	s.s.present.set(index)
	f.rows++
	err = f.flushIfDue()
	if err == nil && f.foldDue() {
		err = f.commit()
	}
	if err != nil {
		return fmt.Errorf("%w (row %d itself was written to %s)", err, index, j.path)
	}
	return nil
}

func (f *File) sinkWritable(s *sinkState) error {
	if err := f.writable(); err != nil {
		return err
	}
	if !s.open {
		return &Error{Op: "write", Path: f.path, Name: s.def.Name, Err: ErrClosed}
	}
	return nil
}

func (s *Sink[U]) admit(index int64) error {
	if index < 0 || index >= maxIndex || s.s.def.Rows > 0 && index >= s.s.def.Rows {
		limit := s.s.def.Rows
		if limit == 0 {
			limit = maxIndex
		}
		return unsupported("the index must be at least 0 and less than %d", limit)
	}
	if s.s.present.has(index) {
		return ErrDuplicate
	}
	return nil
}

func (s *Sink[U]) rowError(index int64, err error) error {
	var l *LayoutError
	if errors.As(err, &l) && l.Path == "" {
		l.Path, l.Name = s.f.path, fmt.Sprintf("%s row %d", s.s.def.Name, index)
		return l
	}
	return &Error{Op: "put", Path: s.f.path, Name: fmt.Sprintf("%s row %d", s.s.def.Name, index), Err: err}
}

// Has reports whether row index is there, from this run or an earlier one.
func (s *Sink[U]) Has(index int64) bool {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	return index >= 0 && s.s.present.has(index)
}

// Len returns the number of rows that are there. All of them survive the death
// of the process.
func (s *Sink[U]) Len() int64 {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	return s.s.present.count
}

// Synced returns how many rows are on the disk itself and survive the loss of
// the machine.
func (s *Sink[U]) Synced() int64 {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	return s.s.synced
}

// Flush brings every row put so far to the disk itself.
func (s *Sink[U]) Flush() error {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	if err := s.f.sinkWritable(s.s); err != nil {
		return err
	}
	return s.f.flush()
}

// Close flushes the sink and gives it up. Its rows become part of the HDF5
// file when the File is committed or closed. A second Close returns ErrClosed.
func (s *Sink[U]) Close() error {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	if err := s.f.sinkWritable(s.s); err != nil {
		return err
	}
	s.s.open = false
	return s.f.flush()
}
