package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/npy"
)

// readOperands reads the .npy files of a problem, which lie beside its own unless
// their names say otherwise, and takes from them the dtype and the shapes that it
// does not give.
func (f *fileProblem) readOperands(file string) error {
	given := f.Shapes
	f.Shapes = nil
	for k, name := range f.Operands {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(file), path)
		}
		fault := func(err error, action string) error {
			return &fileError{File: file, Place: fmt.Sprintf(`"operands" %d`, k), Err: err, Action: action}
		}
		t, err := npy.ReadFile(path)
		if err != nil {
			return fault(err, "")
		}
		if f.DType == "" {
			f.DType = t.DType().String()
		}
		if d := t.DType().String(); d != f.DType {
			return fault(fmt.Errorf("%s holds %s, the problem is one of %s", path, d, f.DType), "convert one, in numpy by astype")
		}
		shape := t.Shape().Ints()
		if k < len(given) && !slices.Equal(given[k], shape) {
			return fault(fmt.Errorf("%s has shape %v, \"shapes\" says %v", path, shape, given[k]), "leave \"shapes\" out, or make them agree")
		}
		f.Shapes, f.tensors = append(f.Shapes, shape), append(f.tensors, t)
	}
	if given != nil && len(given) != len(f.Operands) {
		return &fileError{File: file, Place: `"shapes"`, Err: fmt.Errorf("%d shapes for %d operands", len(given), len(f.Operands)), Action: "leave them out, or make them agree"}
	}
	if f.Name == "" {
		f.Name = filepath.Base(file)
	}
	return nil
}

// hashOf stands for the values of operands that came from files.
func hashOf(tensors []*engine.Tensor) (string, error) {
	h := sha256.New()
	var err error
	for _, t := range tensors {
		err = errors.Join(err, npy.Write(h, t))
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), err
}
