package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/einsum"
)

// number is the element type of a problem.
type number interface{ float64 | complex128 }

// problem is one contraction with its data.
type problem[T number] struct {
	name       string
	subscripts einsum.Subscripts
	shapes     [][]int
	path       einsum.Path // nil: the planner finds one
	operand    func(k int) []T
	tensors    []*engine.Tensor // the operands, where they come from files
	// check compares the whole output with an independent value and says in
	// a few words what it compared, or why there was nothing to compare.
	check func(output []T) (string, error)
}

// fileProblem is a problem as its file has it; the page docs/networks.md has the
// format.
type fileProblem struct {
	Name       string              `json:"name"`
	DType      string              `json:"dtype"`
	NumTensors int                 `json:"num_tensors"`
	Format     string              `json:"format"`
	Operands   []string            `json:"operands"`
	Shapes     [][]int             `json:"shapes"`
	Paths      map[string]filePath `json:"paths"`

	subscripts einsum.Subscripts
	paths      map[string]einsum.Path
	tensors    []*engine.Tensor // of Operands; nil: the values are made up
}

type filePath struct {
	Path       [][]int `json:"path"`
	Log2Size   float64 `json:"log2_size"`
	Log10Flops float64 `json:"log10_flops"`
}

// fileError is a fault of an input file: where it is and what to do.
type fileError struct {
	File   string
	Place  string // within the file, "" for the file itself
	Err    error
	Action string // what to do, "" where Err says it
}

func (e *fileError) Error() string {
	text := e.File + ": "
	if e.Place != "" {
		text += e.Place + ": "
	}
	text += e.Err.Error()
	if e.Action != "" {
		text += "; " + e.Action
	}
	return text
}

func (e *fileError) Unwrap() error { return e.Err }

// readProblem reads a problem file and checks all of it.
func readProblem(file string) (*fileProblem, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, notRead(file, err, "give a problem file with --file")
	}
	return parseProblem(file, data)
}

// notRead is the error of a file that cannot be read.
func notRead(file string, err error, action string) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err // it repeats the name
	}
	return &fileError{File: file, Err: err, Action: action}
}

func parseProblem(file string, data []byte) (*fileProblem, error) {
	f := new(fileProblem)
	if err := decodeStrict(file, data, f); err != nil {
		return nil, err
	}
	fault := func(place string, err error, action string) error {
		return &fileError{File: file, Place: place, Err: err, Action: action}
	}
	if f.Operands != nil {
		if err := f.readOperands(file); err != nil {
			return nil, err
		}
	}
	if f.Name == "" {
		return nil, fault(`"name"`, errors.New("missing"), "the operands' values depend on it where \"operands\" names no files")
	}
	if _, err := f.dtype(); err != nil {
		return nil, fault(`"dtype"`, err, "")
	}
	var err error
	if f.subscripts, err = einsum.Parse(f.Format); err != nil {
		return nil, fault(`"format"`, err, "")
	}
	if f.NumTensors == 0 {
		f.NumTensors = len(f.Shapes)
	}
	if n := f.subscripts.Operands(); n != f.NumTensors || n != len(f.Shapes) {
		return nil, fault(`"shapes"`, fmt.Errorf("%d shapes and num_tensors %d for the %d operands of the format", len(f.Shapes), f.NumTensors, n), "make them agree")
	}
	f.paths = make(map[string]einsum.Path)
	for _, name := range slices.Sorted(maps.Keys(f.Paths)) {
		place := fmt.Sprintf(`"paths" %q`, name)
		path := make(einsum.Path, len(f.Paths[name].Path))
		for i, step := range f.Paths[name].Path {
			if len(step) != 2 {
				return nil, fault(place, fmt.Errorf("step %d has %d positions", i, len(step)), "a step takes two tensors")
			}
			path[i] = [2]int{step[0], step[1]}
		}
		if _, err := einsum.NewPlan(f.subscripts, f.Shapes, path); errors.Is(err, einsum.ErrPath) {
			return nil, fault(place, err, "")
		} else if err != nil {
			return nil, fault(`"shapes"`, err, "")
		}
		f.paths[name] = path
	}
	return f, nil
}

// decodeStrict reads one JSON value and refuses fields that v does not have
// and anything after the value.
func decodeStrict(file string, data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		end := d.InputOffset()
		if _, err := d.Token(); err != io.EOF {
			return &fileError{File: file, Place: position(data, end), Err: errors.New("more text after the end of the JSON value"), Action: "remove it"}
		}
		return nil
	}
	at, action := d.InputOffset(), "mend the JSON"
	var syntax *json.SyntaxError
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		err, at, action = errors.New("the file ends before the JSON value does"), int64(len(data)), "it was cut short: fetch it again"
	case errors.As(err, &syntax):
		at = syntax.Offset - 1 // it counts the byte that is wrong
	case errors.As(err, &wrongType):
		at = wrongType.Offset
	}
	return &fileError{File: file, Place: position(data, at), Err: err, Action: action}
}

// position names a byte of the file as line and column.
func position(data []byte, offset int64) string {
	before := data[:min(max(offset, 0), int64(len(data)))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Sprintf("line %d, column %d", line, column)
}

// dtype reads the element type.
func (f *fileProblem) dtype() (engine.DType, error) {
	switch f.DType {
	case "float64":
		return engine.Float64, nil
	case "complex128":
		return engine.Complex128, nil
	}
	return engine.NoDType, fmt.Errorf("%q is not supported; give float64 or complex128", f.DType)
}

// input is what the flags name: a file or a circuit, and the golden values to
// compare with.
type input struct {
	file    *fileProblem // or nil
	circuit *circuit     // or nil
	golden  *goldenEntry // nil: nothing to compare with
}

func openInput(o *options) (*input, error) {
	in := new(input)
	var err error
	var name string
	if o.file != "" {
		if in.file, err = readProblem(o.file); err != nil {
			return nil, err
		}
		name = in.file.Name
	} else {
		if in.circuit, err = newCircuit(o.circuit, o.seed, o.open); err != nil {
			return nil, err
		}
		name = in.circuit.name()
	}
	if o.golden != "" {
		in.golden, err = readGolden(o.golden, name)
	}
	return in, err
}

func (in *input) dtype() engine.DType {
	if in.file == nil {
		return engine.Complex128
	}
	d, _ := in.file.dtype() // checked when it was read
	return d
}

// problemOf is the input's contraction. T must be its dtype.
func problemOf[T number](in *input, o *options) (*problem[T], error) {
	if in.file != nil {
		return filedProblem[T](in.file, o.path)
	}
	p, err := circuitProblem(in.circuit)
	if err != nil {
		return nil, err
	}
	return any(p).(*problem[T]), nil
}

// ownPath is the name of the path that the planner finds, firstPath that of the
// one that is taken where none is asked for and the file has it.
const (
	ownPath   = "own"
	firstPath = "opt_size"
)

// filedProblem is the file's problem along one of its paths, or the planner's.
func filedProblem[T number](f *fileProblem, pathName string) (*problem[T], error) {
	path, ok := f.paths[cmp.Or(pathName, firstPath)]
	if !ok && pathName != "" && pathName != ownPath {
		known := strings.Join(append(slices.Sorted(maps.Keys(f.paths)), ownPath), ", ")
		return nil, fmt.Errorf("problem %s has no path %q; give --path one of: %s", f.Name, pathName, known)
	}
	return &problem[T]{
		name: f.Name, subscripts: f.subscripts, shapes: f.Shapes, path: path,
		operand: func(k int) []T { return fill[T](f.Name, k, f.Shapes[k]) },
		tensors: f.tensors,
	}, nil
}

// fill makes the values of operand k of a named problem, in row-major order:
// (0.5 + u)/√n with u uniform in [0, 1) and n the number of elements. For
// complex elements the real part is drawn first.
func fill[T number](name string, k int, shape []int) []T {
	n := 1
	for _, extent := range shape {
		n *= extent
	}
	s, scale := newStream(name, k), math.Sqrt(float64(n))
	draw := func() float64 { return (0.5 + s.unit()) / scale }
	out := make([]T, n)
	switch out := any(out).(type) {
	case []float64:
		for i := range out {
			out[i] = draw()
		}
	case []complex128:
		for i := range out {
			re := draw()
			out[i] = complex(re, draw())
		}
	}
	return out
}

// stateQubits is the largest circuit whose state is kept to check the result:
// 2²² amplitudes are 64 MiB.
const stateQubits = 22

// agreement is the relative error at which two results still agree.
const agreement = 1e-10

// circuitProblem is the amplitude network of a circuit.
func circuitProblem(c *circuit) (*problem[complex128], error) {
	subscripts, shapes, tensors, err := c.network()
	if err != nil {
		return nil, err
	}
	return &problem[complex128]{
		name: c.name(), subscripts: subscripts, shapes: shapes,
		operand: func(k int) []complex128 { return tensors[k] },
		check:   c.check,
	}, nil
}

// check compares amplitudes with those of the state vector: the norm of their
// difference against the norm of the amplitudes.
func (c *circuit) check(output []complex128) (string, error) {
	if c.qubits() > stateQubits {
		return fmt.Sprintf("not checked: the state of %d qubits is too large to keep, %d is the limit", c.qubits(), stateQubits), nil
	}
	var difference, norm float64
	for i, want := range c.amplitudes() {
		difference += squared(output[i] - want)
		norm += squared(want)
	}
	norm = math.Max(norm, math.Ldexp(1, c.open-c.qubits())) // of amplitudes that vanish: the average one's
	relative := math.Sqrt(difference / norm)
	if !(relative <= agreement) {
		return "", fmt.Errorf("%s: the amplitudes differ from the state vector's by %.3g of their norm; %g is allowed", c.name(), relative, agreement)
	}
	return fmt.Sprintf("agrees with the state vector to %.1e", relative), nil
}

func squared[T number](x T) float64 {
	switch x := any(x).(type) {
	case float64:
		return x * x
	case complex128:
		return real(x)*real(x) + imag(x)*imag(x)
	}
	return math.NaN()
}
