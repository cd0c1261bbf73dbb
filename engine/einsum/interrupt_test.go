package einsum

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// endingContext ends when it has been asked often enough.
type endingContext struct {
	context.Context
	after, asked int
}

func (c *endingContext) Err() error {
	if c.asked++; c.asked > c.after {
		return context.Canceled
	}
	return nil
}

// A search gives up a few steps after its context has ended, wherever it is by then,
// without a plan or path; one that is not ended finds what it finds without a context.
func TestPlanningIsInterrupted(t *testing.T) {
	s, shapes, err := lattice(5, 5)
	if err != nil {
		t.Fatal(err)
	}
	few := PathOptions{Trials: 8, Refined: 1}
	plan := PlanOptions{PathOptions: few, Limits: Limits{Largest: 1 << 8, Peak: 1 << 10, Slices: 8}}
	uncut, err := FindPlan(t.Context(), s, shapes, PlanOptions{PathOptions: few})
	if err != nil {
		t.Fatal(err)
	}
	searches := map[string]func(context.Context) ([]byte, error){
		"FindPlan": func(ctx context.Context) ([]byte, error) {
			p, err := FindPlan(ctx, s, shapes, plan)
			if err != nil || p == nil {
				return nil, err
			}
			return p.MarshalBinary()
		},
		"FindPath": func(ctx context.Context) ([]byte, error) {
			p, err := FindPath(ctx, s, shapes, few)
			var b []byte
			for _, step := range p {
				b = append(b, byte(step[0]), byte(step[1]))
			}
			return b, err
		},
		"SliceTo": func(ctx context.Context) ([]byte, error) {
			p, err := uncut.SliceTo(ctx, plan.Limits)
			if err != nil || p == nil {
				return nil, err
			}
			return p.MarshalBinary()
		},
	}
	for name, search := range searches {
		want, err := search(context.Background())
		if err != nil {
			t.Fatal(name, err)
		}
		whole := &endingContext{context.Background(), math.MaxInt, 0}
		if got, err := search(whole); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s with a context: %v, another result", name, err)
		}
		ends := []int{0, 1, 2, whole.asked - 1}
		for k := range 40 {
			ends = append(ends, whole.asked*k/40)
		}
		slices.Sort(ends)
		for _, after := range slices.Compact(ends) {
			ctx := &endingContext{context.Background(), after, 0}
			got, err := search(ctx)
			if !errors.Is(err, context.Canceled) || got != nil {
				t.Errorf("%s ended after %d of %d questions: %d bytes, %v", name, after, whole.asked, len(got), err)
			}
			if more := ctx.asked - after; more > 100 {
				t.Errorf("%s goes on for %d questions after %d of %d", name, more, after, whole.asked)
			}
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("signal: interrupt"))
	_, err = FindPlan(ctx, s, shapes, plan)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "planning was interrupted") || !strings.Contains(err.Error(), "signal: interrupt") {
		t.Error(err)
	}
}
