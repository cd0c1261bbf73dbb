package main

import (
	"strings"
	"testing"
	"time"
)

func TestMeasure(t *testing.T) {
	o := options{name: "x", ours: "echo 3", rival: "echo noise; echo 2", bar: ">=1.5", pairs: 3, timeout: time.Minute}
	got, err := measure(o)
	if want := "BENCH x ours=3 rival=2 ratio=1.5 [1.5…1.5] pairs=3 bar=>=1.5 holds"; err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	o.bar = ">=1.51"
	if got, _ := measure(o); !strings.HasSuffix(got, " short") {
		t.Errorf("a missed bar reads %q", got)
	}
	o.rival, o.bar = "", "<=3"
	if got, _ := measure(o); !strings.HasSuffix(got, "rival=none ratio=3 [3…3] pairs=3 bar=<=3 holds") {
		t.Errorf("without a rival: %q", got)
	}
}

func TestMeasureServers(t *testing.T) {
	count := "while read -r _; do i=$((i + 1)); echo $((i * %s)); done"
	server := func(by string) string { return "bash -c '" + strings.Replace(count, "%s", by, 1) + "'" }
	o := options{name: "x", ours: server("3"), rival: server("2"), bar: "<=1.5", pairs: 5, timeout: time.Minute, serve: true}
	got, err := measure(o)
	if want := "BENCH x ours=9 rival=6 ratio=1.5 [1.5…1.5] pairs=5 bar=<=1.5 holds"; err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	o.rival = "bash -c 'read -r _; echo 1; echo last words >&2; exit 3'"
	if got, err := measure(o); err == nil || !strings.Contains(err.Error(), "last words") {
		t.Errorf("a server that ends: %q, %v", got, err)
	}
	o.rival, o.timeout = "sleep 60", 50*time.Millisecond
	if got, err := measure(o); err == nil {
		t.Errorf("a server that does not answer: %q", got)
	}
}

func TestMeasureFaults(t *testing.T) {
	good := options{name: "x", ours: "echo 3", rival: "echo 2", bar: ">=1", pairs: 1, timeout: time.Minute}
	for name, spoil := range map[string]func(*options){
		"rival fails":   func(o *options) { o.rival = "echo 2; exit 4" },
		"no number":     func(o *options) { o.ours = "echo many" },
		"zero":          func(o *options) { o.rival = "echo 0" },
		"hangs":         func(o *options) { o.ours, o.timeout = "sleep 60", 50*time.Millisecond },
		"bar":           func(o *options) { o.bar = "=1" },
		"bar no number": func(o *options) { o.bar = ">=one" },
		"no name":       func(o *options) { o.name = "" },
	} {
		o := good
		spoil(&o)
		if got, err := measure(o); err == nil {
			t.Errorf("%s: no error but %q", name, got)
		}
	}
}

// Three commands alternate; each row compares two of them, or one with the bar.
func TestMeasureMany(t *testing.T) {
	o := options{pairs: 4, timeout: time.Minute,
		commands: list{"a=echo 6", "b=echo 3", "c=echo 2", "d=exit 1"},
		rows:     list{"x|a|b|<=2|ns; rival: b", "y|a|c|<=2.5|", "z|c||<=2|"}}
	got, err := measure(o)
	want := "BENCH x ours=6 rival=3 ratio=2 [2…2] pairs=4 bar=<=2 holds # ns; rival: b\n" +
		"BENCH y ours=6 rival=2 ratio=3 [3…3] pairs=4 bar=<=2.5 short\n" +
		"BENCH z ours=2 rival=none ratio=2 [2…2] pairs=4 bar=<=2 holds"
	if err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	o.budget, o.least = time.Nanosecond, 3
	if got, err := measure(o); !strings.Contains(got, "pairs=3") {
		t.Errorf("beyond the budget: %q, %v", got, err)
	}
	for _, bad := range []string{"x|a|e|<=2|", "x|a|b|2|", "|a|b|<=2|", "x|a|b"} {
		o.rows = list{bad}
		if got, err := measure(o); err == nil {
			t.Errorf("row %q: no error but %q", bad, got)
		}
	}
	in := strings.NewReader("BENCH x ours=1e+08 rival=4 ratio=0.5 [0…1] pairs=15 bar=<=1 holds # note\nBENCH y ours=1 rival=1 ratio=8 [1…9] pairs=3 bar=<=1 short\n")
	if got, err := mean(options{name: "m", bar: "<=2"}, in); err != nil || got != "BENCH m ours=10000 rival=2 ratio=2 [0.5…8] pairs=3 bar=<=2 holds" {
		t.Errorf("mean: %q, %v", got, err)
	}
}

func TestQuantile(t *testing.T) {
	x := []float64{4, 1, 3, 2}
	for q, want := range map[float64]float64{0: 1, 0.5: 2.5, 1: 4, 0.25: 1.75} {
		if got := quantile(x, q); got != want {
			t.Errorf("quantile %g = %g, want %g", q, got, want)
		}
	}
}

// A bar that the twin misses too becomes what the twin reaches, to a twentieth;
// one that it reaches stays.
func TestMeasureTwins(t *testing.T) {
	o := options{pairs: 3, timeout: time.Minute, commands: list{"two=echo 62", "one=echo 100", "c-two=echo 60", "c-one=echo 100", "worse=echo 64"}}
	for row, want := range map[string]string{
		"x|two|one|<=0.55|ns|c-two|c-one":   "bar=<=0.63 holds # ns; the bar of <=0.55 is missed by the twin too: 0.6",
		"x|worse|one|<=0.55|ns|c-two|c-one": "bar=<=0.63 short # ns; the bar of <=0.55 is missed by the twin too: 0.6",
		"x|two|one|<=0.61|ns|c-two|c-one":   "bar=<=0.61 short # ns",
		"x|two|one|>=0.65|ns|c-two|c-one":   "bar=>=0.5714 holds # ns; the bar of >=0.65 is missed by the twin too: 0.6",
	} {
		o.rows = list{row}
		if got, err := measure(o); err != nil || !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, %v; want …%q", row, got, err, want)
		}
	}
	o.rows = list{"x|two|one|<=0.55|ns|nobody|c-one"}
	if got, err := measure(o); err == nil {
		t.Errorf("a twin without a command: %q", got)
	}
}
