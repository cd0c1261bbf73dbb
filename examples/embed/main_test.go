package main

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hataori/hataori-go/internal/launch"
)

// TestEmbed: x₀(t) = cos t, and the numbers do not depend on the ranks.
func TestEmbed(t *testing.T) {
	program := launch.Build(t, ".")
	alone := launch.Alone(t, program)
	var steps, particles, ranks int
	var x0, energy float64
	_, err := fmt.Sscanf(alone.Stdout, "%d steps of %d particles on %d ranks: x0 %f, energy %f", &steps, &particles, &ranks, &x0, &energy)
	if err != nil || alone.Status != 0 || alone.Stderr != "" {
		t.Fatalf("%v: status %d, %q, %s", err, alone.Status, alone.Stdout, alone.Stderr)
	}
	if bad := launch.Alone(t, program, "-particles", "-1"); bad.Status != 1 || bad.Stderr != "embed: -particles -1: must not be negative\n" {
		t.Errorf("status %d, %s", bad.Status, bad.Stderr)
	}
	total := 0.0
	for i := range particles {
		total += math.Pow(1+float64(i)/float64(particles), 2) / 2
	}
	if math.Abs(x0-math.Cos(0.01*float64(steps))) > 0.02 || math.Abs(energy-total) > 0.02*total {
		t.Errorf("x0 %v, energy %v of %v", x0, energy, total)
	}
	launch.Each(t, func(t *testing.T, l launch.Launcher) {
		for _, n := range []int{2, 4} {
			want := strings.Replace(alone.Stdout, "on 1 ranks", fmt.Sprintf("on %d ranks", n), 1)
			if job := l.Job(t, n, program); job.Status != 0 || job.Stdout != want || job.Stderr != "" {
				t.Errorf("%d ranks: status %d, %s%s", n, job.Status, job.Stdout, job.Stderr)
			}
		}
	})
}
