package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
)

// value is a number in JSON: x, or [re, im] for a complex one.
type value struct {
	z       complex128
	complex bool
}

func valueOf[T number](x T) value {
	switch x := any(x).(type) {
	case complex128:
		return value{z: x, complex: true}
	case float64:
		return value{z: complex(x, 0)}
	}
	return value{z: complex(math.NaN(), 0)}
}

func (v value) MarshalJSON() ([]byte, error) {
	if v.complex {
		return json.Marshal([2]float64{real(v.z), imag(v.z)})
	}
	return json.Marshal(real(v.z))
}

func (v *value) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		var pair []float64
		if err := json.Unmarshal(b, &pair); err != nil {
			return err
		}
		if len(pair) != 2 {
			return fmt.Errorf("a complex number has two parts, not %d", len(pair))
		}
		*v = value{z: complex(pair[0], pair[1]), complex: true}
		return nil
	}
	var x float64
	err := json.Unmarshal(b, &x)
	*v = value{z: complex(x, 0)}
	return err
}

func (v value) String() string {
	if v.complex {
		return fmt.Sprintf("%.15g", v.z)
	}
	return fmt.Sprintf("%.15g", real(v.z))
}

// sample is one element of the output: its row-major position and its value.
type sample struct {
	at    int
	value value
}

func (s sample) MarshalJSON() ([]byte, error) { return json.Marshal([2]any{s.at, s.value}) }

func (s *sample) UnmarshalJSON(b []byte) error {
	var pair []json.RawMessage
	if err := json.Unmarshal(b, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return fmt.Errorf("a sample has a position and a value, not %d entries", len(pair))
	}
	if err := json.Unmarshal(pair[0], &s.at); err != nil {
		return err
	}
	return json.Unmarshal(pair[1], &s.value)
}

// report is what the root prints.
type report struct {
	Name        string   `json:"name"`
	Ranks       int      `json:"ranks"`
	Lanes       int      `json:"lanes"`
	Threads     int      `json:"threads"`
	Items       int      `json:"items"`
	Kept        int64    `json:"kept"` // of them, found in the file of an earlier run
	Shape       []int    `json:"shape"`
	Sum         value    `json:"sum"`
	Norm2       float64  `json:"norm2"`
	Samples     []sample `json:"samples"`
	Check       string   `json:"check"`
	Planning    float64  `json:"planning_seconds"`  // the path and the cuts, on the root
	Preparing   float64  `json:"preparing_seconds"` // operands, and an engine for each lane of the root
	Seconds     float64  `json:"seconds"`           // the slices, over all ranks
	Checking    float64  `json:"checking_seconds"`  // putting them together and the check, on the root
	Utilization float64  `json:"utilization"`
	ItemsOfLane [][]int  `json:"items_per_lane"` // [rank][lane]
	Provider    string   `json:"provider"`
	Kernel      string   `json:"kernel"`
}

// sampleCount is the number of samples of an output with that many elements or
// more.
const sampleCount = 16

// describe fills in what can be said about the output, in its row-major order.
func describe[T number](r *report, output []T) {
	var sum T
	for _, x := range output {
		sum += x
		r.Norm2 += squared(x)
	}
	r.Sum = valueOf(sum)
	last, taken := len(output)-1, min(sampleCount, len(output))
	for i := range taken {
		at := 0
		if taken > 1 {
			at = int(int64(i) * int64(last) / int64(taken-1))
		}
		r.Samples = append(r.Samples, sample{at: at, value: valueOf(output[at])})
	}
}

// print writes the report for people, or as one JSON object on one line.
func (r *report) print(w io.Writer, asJSON bool) error {
	if asJSON {
		line, err := json.Marshal(r)
		if err == nil {
			_, err = fmt.Fprintf(w, "%s\n", line)
		}
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "contract: %s: %d slices on %d ranks, %d lanes, %d threads each, %s (%s)\n",
		r.Name, r.Items, r.Ranks, r.Lanes, r.Threads, r.Provider, r.Kernel)
	if r.Kept > 0 {
		fmt.Fprintf(&b, "%d slices were kept from an earlier run\n", r.Kept)
	}
	fmt.Fprintf(&b, "output %v, sum %v, squared norm %.15g\n", r.Shape, r.Sum, r.Norm2)
	if len(r.Samples) > 0 {
		fmt.Fprintf(&b, "first element %v, last %v\n", r.Samples[0].value, r.Samples[len(r.Samples)-1].value)
	}
	fmt.Fprintf(&b, "%.3f s, lanes computing %.1f %% of it, items per lane:", r.Seconds, 100*r.Utilization)
	for rank, counts := range r.ItemsOfLane {
		fmt.Fprintf(&b, " rank %d %v", rank, counts)
	}
	fmt.Fprintf(&b, "\nbefore that planning %.3f s and preparing %.3f s, after it checking %.3f s", r.Planning, r.Preparing, r.Checking)
	fmt.Fprintf(&b, "\ncheck: %s\n", r.Check)
	_, err := io.WriteString(w, b.String())
	return err
}

// goldenEntry is one reference result of a golden file, which maps names of
// problems to them.
type goldenEntry struct {
	DType   string   `json:"dtype"`
	Path    string   `json:"path"`
	Shape   []int    `json:"shape"`
	Sum     value    `json:"sum"`
	Norm2   float64  `json:"norm2"`
	Samples []sample `json:"samples"`
}

// readGolden returns the entry of a problem.
func readGolden(file, name string) (*goldenEntry, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, notRead(file, err, "give a golden file with --golden")
	}
	var entries map[string]goldenEntry
	if err := decodeStrict(file, data, &entries); err != nil {
		return nil, err
	}
	entry, ok := entries[name]
	if !ok {
		return nil, &fileError{File: file, Err: fmt.Errorf("no entry for %s", name), Action: "give the file that holds this problem's values"}
	}
	return &entry, nil
}

// fits says whether the entry can be that of an output of the given shape.
func (g *goldenEntry) fits(name string, shape []int) error {
	if !slices.Equal(g.Shape, shape) {
		return fmt.Errorf("%s: the output has shape %v, the golden value %v", name, shape, g.Shape)
	}
	for _, s := range g.Samples {
		if n := elements(shape); s.at < 0 || float64(s.at) >= n {
			return fmt.Errorf("%s: the golden sample at %d lies outside the output of %.0f elements", name, s.at, n)
		}
	}
	return nil
}

// compare checks the report of an output against the reference: shape exactly,
// numbers to a relative error of agreement.
func compare[T number](g *goldenEntry, r *report, output []T) (string, error) {
	if err := g.fits(r.Name, r.Shape); err != nil {
		return "", err
	}
	type claim struct {
		what      string
		got, want value
	}
	claims := []claim{{"sum", r.Sum, g.Sum}, {"squared norm", valueOf(r.Norm2), valueOf(g.Norm2)}}
	for _, s := range g.Samples {
		claims = append(claims, claim{fmt.Sprintf("element %d", s.at), valueOf(output[s.at]), s.value})
	}
	worst := 0.0
	for _, c := range claims {
		relative := distance(c.got, c.want)
		if !(relative <= agreement) {
			return "", fmt.Errorf("%s: %s is %v, the golden value %v: %.3g apart, %g is allowed", r.Name, c.what, c.got, c.want, relative, agreement)
		}
		worst = math.Max(worst, relative)
	}
	return fmt.Sprintf("agrees with the golden values to %.1e", worst), nil
}

// distance is the error of got relative to want.
func distance(got, want value) float64 {
	d := math.Hypot(real(got.z)-real(want.z), imag(got.z)-imag(want.z))
	if d == 0 {
		return 0
	}
	return d / math.Hypot(real(want.z), imag(want.z))
}
