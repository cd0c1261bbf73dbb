package main

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hataori/hataori-go/internal/launch"
)

// exact is the period of a pendulum, 2π/agm(1, cos(θ/2)) (Gauss).
func exact(amplitude float64) float64 {
	a, b := 1.0, math.Cos(amplitude/2)
	for range 60 {
		a, b = (a+b)/2, math.Sqrt(a*b)
	}
	return 2 * math.Pi / a
}

func TestPeriods(t *testing.T) {
	program := launch.Build(t, ".")
	flags := []string{"-n", "30", "-step", "1e-4"}
	alone := launch.Alone(t, program, flags...)
	if alone.Status != 0 || alone.Stderr != "" {
		t.Fatalf("status %d: %s", alone.Status, alone.Stderr)
	}
	lines := strings.Split(strings.TrimSpace(alone.Stdout), "\n")
	if len(lines) != 30 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, line := range lines {
		var amplitude, period float64
		if _, err := fmt.Sscan(line, &amplitude, &period); err != nil {
			t.Fatal(err)
		}
		if want := exact(amplitude); math.Abs(period-want) > 1e-4*want {
			t.Errorf("amplitude %v: period %v, want %v", amplitude, period, want)
		}
	}
	for _, flags := range [][]string{{"-step", "0"}, {"-step", "0", "-v"}, {"-n", "-1"}} {
		job := launch.Alone(t, program, flags...)
		if job.Status != 1 || job.Stdout != "" || strings.Count(job.Stderr, "\n") != 1 || !strings.Contains(job.Stderr, "must ") {
			t.Errorf("%v: status %d, %s%s", flags, job.Status, job.Stdout, job.Stderr)
		}
	}
	launch.Each(t, func(t *testing.T, l launch.Launcher) {
		if job := l.Job(t, 3, program, flags...); job.Status != 0 || job.Stdout != alone.Stdout || job.Stderr != "" {
			t.Errorf("3 ranks: status %d, %s%s", job.Status, job.Stdout, job.Stderr)
		}
		job := l.Job(t, 2, program, "-step", "0")
		if job.Status == 0 || job.Stdout != "" || strings.Count(job.Stderr, "item 0 failed") != 1 || !strings.Contains(job.Stderr, "must be positive") {
			t.Errorf("status %d, %s%s", job.Status, job.Stdout, job.Stderr)
		}
	})
}
