package npy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// ReadFile reads a whole .npy file.
func ReadFile(path string) (*engine.Tensor, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	known := int64(-1)
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		known = info.Size()
	}
	t, err := read(f, known, true)
	var e *Error
	if errors.As(err, &e) {
		e.Path = path
	}
	return t, err
}

// Read reads one array from a stream, up to its last byte, so that several may
// follow each other in one file. The tensor owns its memory.
func Read(r io.Reader) (*engine.Tensor, error) { return read(r, -1, false) }

// read reads an array from a source of known bytes, or −1, which holds nothing
// else if alone.
func read(r io.Reader, known int64, alone bool) (*engine.Tensor, error) {
	h, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	spec := engine.SpecOf(h.dtype, h.shape...)
	if err := spec.Validate("npy", engine.NoOperand); err != nil {
		return nil, &Error{Offset: h.size, Reason: err.Error(), Err: ErrFormat}
	}
	total := int64(spec.Bytes())
	switch {
	case known >= 0 && known < h.size+total:
		return nil, &Error{Offset: known, Reason: fmt.Sprintf("the file ends %d bytes too early: it was cut short", h.size+total-known), Err: ErrFormat}
	case known > h.size+total:
		return nil, tooLong(h.size + total)
	}
	data, err := elements(r, h.size, total, known >= 0)
	if err != nil {
		return nil, err
	}
	if alone && known < 0 {
		if n, err := io.ReadFull(r, make([]byte, 1)); n > 0 {
			return nil, tooLong(h.size + total)
		} else if !errors.Is(err, io.EOF) {
			return nil, &Error{Offset: h.size + total, Reason: "cannot be read", Err: err}
		}
	}
	put := spec.DType.Size()
	if h.dtype.IsComplex() {
		put /= 2 // each part has its own byte order
	}
	if h.swapped {
		for i := 0; i < len(data); i += put {
			slices.Reverse(data[i : i+put])
		}
	}
	if h.dtype == engine.Bool {
		for i, b := range data {
			data[i] = min(b, 1) // Go knows two values
		}
	}
	if h.fortran && len(h.shape) > 1 {
		strides, step := make([]int, len(h.shape)), 1
		for i, extent := range h.shape {
			strides[i] = step
			step *= max(extent, 1)
		}
		spec.Strides = engine.StridesOf(strides...)
	}
	return engine.NewTensor(spec, 0, engine.NewHostBuffer(unsafe.Pointer(unsafe.SliceData(data)), len(data), nil))
}

func tooLong(at int64) error {
	return &Error{Offset: at, Reason: "the file goes on after the last element", Err: ErrFormat}
}

// elements reads total bytes from byte at on. If they are not known to be there
// memory grows as they come.
func elements(r io.Reader, at, total int64, known bool) ([]byte, error) {
	const first = 1 << 20
	data := engine.AlignedBytes(int(min(total, first)))
	if known {
		data = engine.AlignedBytes(int(total))
	}
	for have := 0; ; {
		if err := readAll(r, data[have:], at+int64(have)); err != nil {
			var e *Error
			if errors.As(err, &e) && errors.Is(err, ErrFormat) {
				e.Reason = fmt.Sprintf("the file ends %d bytes too early: it was cut short", at+total-e.Offset)
			}
			return nil, err
		}
		have = len(data)
		if int64(have) == total {
			return data, nil
		}
		more := engine.AlignedBytes(int(min(total, 2*int64(have))))
		copy(more, data)
		data = more
	}
}

// WriteFile writes a tensor as a .npy file, which it makes or replaces as a
// whole: it writes PATH.part and renames it.
func WriteFile(path string, t *engine.Tensor) (err error) {
	f, err := os.Create(path + ".part")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	err = Write(f, t)
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Write writes a host tensor of any layout, row-major, in this machine's byte
// order.
func Write(w io.Writer, t *engine.Tensor) error {
	if t == nil {
		return &engine.ArgError{Op: "npy.Write", Operand: engine.Input(0), Reason: "no tensor given"}
	}
	spec := t.Spec()
	if spec.Domain.Kind != engine.Host {
		return &engine.DomainError{Op: "npy.Write", Operand: engine.Input(0), Got: spec.Domain}
	}
	if err := t.Live(); err != nil {
		return err
	}
	if _, err := w.Write(appendHeader(nil, spec)); err != nil {
		return err
	}
	size := spec.DType.Size()
	if spec.Elements() == 0 {
		return nil
	}
	base := t.HostPointer()
	if spec.IsCompact() {
		_, err := w.Write(unsafe.Slice((*byte)(base), spec.Bytes()))
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	strides := spec.AppendStrides(nil)
	index := make([]int, spec.Rank())
	for at := 0; ; {
		if _, err := out.Write(unsafe.Slice((*byte)(unsafe.Add(base, at*size)), size)); err != nil {
			return err
		}
		axis := len(index) - 1
		for ; axis >= 0; axis-- {
			index[axis]++
			at += strides[axis]
			if index[axis] < spec.Shape.At(axis) {
				break
			}
			at -= index[axis] * strides[axis]
			index[axis] = 0
		}
		if axis < 0 {
			return out.Flush()
		}
	}
}

// appendHeader appends a header that ends at a multiple of 64 bytes.
func appendHeader(dst []byte, spec engine.Spec) []byte {
	order := nativeOrder()
	if spec.DType == engine.Bool {
		order = '|'
	}
	var shape bytes.Buffer
	for _, extent := range spec.Shape.Ints() {
		fmt.Fprintf(&shape, "%d, ", extent)
	}
	text := fmt.Appendf(nil, "{'descr': '%c%s', 'fortran_order': False, 'shape': (%s), }", order, typeName(spec.DType), bytes.TrimSuffix(shape.Bytes(), []byte(" ")))
	for (len(magic)+4+len(text)+1)%64 != 0 {
		text = append(text, ' ')
	}
	text = append(text, '\n')
	dst = append(dst, magic...)
	dst = append(dst, 1, 0, byte(len(text)), byte(len(text)>>8)) // at most 64 extents of 21 digits
	return append(dst, text...)
}
