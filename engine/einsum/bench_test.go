package einsum

import "testing"

// lattice is the network of a rows×columns square lattice of labels of length
// two, one tensor per site.
func lattice(rows, columns int) (Subscripts, [][]int, error) {
	inputs, shapes := make([][]Label, rows*columns), make([][]int, rows*columns)
	next := Label(0)
	bond := func(a, b int) {
		for _, k := range []int{a, b} {
			inputs[k], shapes[k] = append(inputs[k], next), append(shapes[k], 2)
		}
		next++
	}
	for r := range rows {
		for c := range columns {
			if c+1 < columns {
				bond(r*columns+c, r*columns+c+1)
			}
			if r+1 < rows {
				bond(r*columns+c, (r+1)*columns+c)
			}
		}
	}
	s, err := NewSubscripts(inputs, nil)
	return s, shapes, err
}

// BenchmarkPlan plans a lattice of 400 tensors: the path, the plan, the cuts.
func BenchmarkPlan(b *testing.B) {
	s, shapes, err := lattice(20, 20)
	if err != nil {
		b.Fatal(err)
	}
	path, err := Greedy(s, shapes, GreedyOptions{Trials: 1})
	if err != nil {
		b.Fatal(err)
	}
	p, err := NewPlan(s, shapes, path)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("greedy trial", func(b *testing.B) {
		for b.Loop() {
			if _, err := Greedy(s, shapes, GreedyOptions{Trials: 1}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plan", func(b *testing.B) {
		for b.Loop() {
			if _, err := NewPlan(s, shapes, path); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("cuts", func(b *testing.B) {
		for b.Loop() {
			if _, err := p.FindCuts(b.Context(), Limits{Slices: 16}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
