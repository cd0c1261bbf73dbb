package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/einsum"
	"github.com/hataori/hataori-go/engine/npy"
	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/store"
)

// Names of the datasets in the file of --out.
const (
	slicesName = "slices" // one row per slice, as they come
	outputName = "output" // the whole, once all slices are there
)

// keeper holds the outputs of the slices in an HDF5 file, on the root.
type keeper[T number] struct {
	path string
	file *store.File
	sink *store.Sink[[]T]
	had  int64 // slices that were there
}

// openKeeper makes the file of --out or, with --resume, goes on with it. The
// fingerprint stands for all that the bits of a slice depend on.
func openKeeper[T number](o *options, j *job[T], target engine.Target, ranks, laneCount int) (*keeper[T], error) {
	fingerprint, err := j.fingerprint(o, target)
	if err != nil {
		return nil, err
	}
	opt := store.Options{
		Fingerprint: fingerprint,
		About:       store.About{Program: "contract", Ranks: ranks, Lanes: laneCount},
	}
	open := store.Create
	if o.resume {
		open = store.Resume
	}
	file, err := open(o.out, opt)
	switch {
	case errors.Is(err, fs.ErrExist):
		there := "it is"
		if _, err := os.Stat(o.out); err != nil {
			there = "the journal " + o.out + ".journal of an interrupted run is"
		}
		return nil, fmt.Errorf("--out %s: %s there already; give --resume to go on with it, or another name", o.out, there)
	case err != nil:
		return nil, fmt.Errorf("--out %s: %w", o.out, err)
	}
	k := &keeper[T]{path: o.out, file: file}
	k.sink, err = store.NewSink[[]T](file, slicesName, store.SinkOptions{
		Shape: []int{int(elements(j.plan.SliceShape()))}, Rows: int64(j.plan.Slices()),
		Description: "outputs of the slices, each in row-major order",
	})
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	k.had = k.sink.Len()
	return k, nil
}

// fingerprint names the problem and how it is computed, in words where that is
// short.
func (j *job[T]) fingerprint(o *options, target engine.Target) (string, error) {
	hash := store.Fingerprint(fmt.Append(nil, j.subscripts), fmt.Append(nil, j.shapes), fmt.Append(nil, j.plan.Path()), fmt.Append(nil, j.plan.Cuts()))
	parts := []store.Part{
		{Name: "problem", Value: j.name},
		{Name: "type", Value: engine.DTypeOf[T]().String()},
		{Name: "slices", Value: fmt.Sprint(j.plan.Slices())},
		{Name: "threads", Value: fmt.Sprint(o.threads)},
		{Name: "provider", Value: target.Provider},
		{Name: "kernel", Value: target.Detail},
		{Name: "plan", Value: hash},
	}
	if j.tensors != nil {
		values, err := hashOf(j.tensors)
		if err != nil {
			return "", err
		}
		parts = append(parts, store.Part{Name: "operands", Value: values})
	}
	return store.Problem(parts...), nil
}

// source gives the numbers of all slices.
func (j *job[T]) source() hataori.Source[int] {
	next := 0
	return hataori.SourceFunc[int](func(context.Context) (int, error) {
		if next == j.plan.Slices() {
			return 0, io.EOF
		}
		next++
		return next - 1, nil
	})
}

// assemble adds up the slices in their order: parts or, with a file, what it
// holds. It is committed first: from here on all slices are in it.
func (k *keeper[T]) assemble(j *job[T], parts [][]T) ([]T, error) {
	if k == nil {
		return j.assemble(parts)
	}
	if err := k.file.Commit(); err != nil {
		return nil, err
	}
	output := make([]T, int(elements(j.plan.OutputShape())))
	const blockBytes = 16 << 20
	rowBytes := int(elements(j.plan.SliceShape())) * engine.DTypeOf[T]().Size()
	block := make([][]T, min(j.plan.Slices(), max(1, blockBytes/max(1, rowBytes))))
	for first := 0; first < j.plan.Slices(); first += len(block) {
		part := block[:min(len(block), j.plan.Slices()-first)]
		there, err := store.ReadRows(k.file, slicesName, int64(first), part)
		if err != nil {
			return nil, err
		}
		for i, row := range part {
			if !there[i] {
				return nil, fmt.Errorf("%s: slice %d is missing", k.path, first+i)
			}
			if err := einsum.AddSlice(j.plan, output, first+i, row); err != nil {
				return nil, err
			}
		}
	}
	return output, nil
}

// write adds the whole output to the file, unless an earlier run has.
func (k *keeper[T]) write(j *job[T], check string, output []T) error {
	names, err := k.file.Names()
	if err != nil || slices.Contains(names, outputName) {
		return err
	}
	shape := j.plan.OutputShape()
	if err := store.WriteTensor(k.file, outputName, output, shape, store.TensorOptions{Description: "the contracted network"}); err != nil {
		return err
	}
	return errors.Join(k.file.SetAttr("/", "problem", j.name), k.file.SetAttr(outputName, "check", check))
}

// close gives the file up and, when the run failed, says how to go on.
func (k *keeper[T]) close(j *job[T], failed bool) (hint string, err error) {
	have := k.sink.Len()
	err = k.file.Close()
	if failed {
		hint = fmt.Sprintf("%d of %d slices are kept in %s; the same command with --resume goes on", have, j.plan.Slices(), k.path)
	}
	return hint, err
}

// tryNpy says before any work is done what would keep writeNpy from its file.
func tryNpy(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("--out %s: it is there and no file; give another name", path)
	}
	f, err := os.Create(path + ".part")
	if err != nil {
		return fmt.Errorf("--out: %w; name a file in a directory that can be written", err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// writeNpy writes the output alone, for numpy.load.
func writeNpy[T number](path string, j *job[T], output []T) error {
	t, err := engine.FromSlice(output, j.plan.OutputShape()...)
	if err != nil {
		return err
	}
	return npy.WriteFile(path, t)
}

// keeps reports whether the slices are kept in a file as they come.
func (o *options) keeps() bool { return o.out != "" && !o.outNpy() }

// outNpy reports whether --out names a file of numpy's.
func (o *options) outNpy() bool { return strings.HasSuffix(o.out, ".npy") }
