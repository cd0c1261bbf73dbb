// Command pairs measures one figure of the project beside a rival's: it runs
// two commands in alternation, each printing one number as its last line,
// and prints one line
//
//	BENCH name ours=… rival=… ratio=… [lo…hi] pairs=… bar=… holds|short
//
// The ratio is the median over the pairs of ours divided by the rival's; lo
// and hi are its quartiles. Without a rival the figure itself is held
// against the bar. It exits with status 1 when a command fails, not when a
// bar is missed: a figure is a result, not a fault.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type options struct {
	name, ours, rival, bar, note string
	pairs                        int
	timeout                      time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.name, "name", "", "name of the measure")
	flag.StringVar(&o.ours, "ours", "", "shell command that prints our figure")
	flag.StringVar(&o.rival, "rival", "", "shell command that prints the rival's; without it ours is held against the bar")
	flag.StringVar(&o.bar, "bar", "", "what the ratio must reach: '>=0.95' or '<=60'")
	flag.StringVar(&o.note, "note", "", "words to print behind the figures, such as the unit")
	flag.IntVar(&o.pairs, "pairs", 5, "number of alternating pairs")
	flag.DurationVar(&o.timeout, "timeout", 2*time.Minute, "time limit of one command")
	flag.Parse()
	line, err := measure(o)
	if err != nil {
		fmt.Fprintf(os.Stderr, "pairs: %s: %v\n", o.name, err)
		os.Exit(1)
	}
	fmt.Println(line)
}

func measure(o options) (string, error) {
	if o.name == "" || o.ours == "" || o.pairs < 1 {
		return "", errors.New("-name and -ours are needed, and at least one pair")
	}
	holds, err := parseBar(o.bar)
	if err != nil {
		return "", err
	}
	var ours, rivals, ratios []float64
	for i := range o.pairs {
		commands := []string{o.ours, o.rival}
		values := [2]float64{0, 1}
		for j := range commands {
			k := (i + j) % 2 // who goes first changes from pair to pair
			if commands[k] == "" {
				continue
			}
			if values[k], err = run(commands[k], o.timeout); err != nil {
				return "", err
			}
		}
		ours, rivals = append(ours, values[0]), append(rivals, values[1])
		ratios = append(ratios, values[0]/values[1])
	}
	ratio := quantile(ratios, 0.5)
	verdict := "short"
	if holds(ratio) {
		verdict = "holds"
	}
	rival := "none"
	if o.rival != "" {
		rival = figure(quantile(rivals, 0.5))
	}
	line := fmt.Sprintf("BENCH %s ours=%s rival=%s ratio=%s [%s…%s] pairs=%d bar=%s %s", o.name, figure(quantile(ours, 0.5)), rival,
		figure(ratio), figure(quantile(ratios, 0.25)), figure(quantile(ratios, 0.75)), o.pairs, o.bar, verdict)
	if o.note != "" {
		line += " # " + o.note
	}
	return line, nil
}

// parseBar turns ">=0.95" or "<=60" into a test.
func parseBar(bar string) (func(float64) bool, error) {
	if len(bar) < 3 {
		return nil, fmt.Errorf("bar %q: write it like >=0.95 or <=60", bar)
	}
	limit, err := strconv.ParseFloat(bar[2:], 64)
	if err != nil {
		return nil, fmt.Errorf("bar %q: %w", bar, err)
	}
	switch bar[:2] {
	case ">=":
		return func(x float64) bool { return x >= limit }, nil
	case "<=":
		return func(x float64) bool { return x <= limit }, nil
	}
	return nil, fmt.Errorf("bar %q: write it like >=0.95 or <=60", bar)
}

// run executes a shell command in a process group of its own and reads the
// number on its last line.
func run(command string, timeout time.Duration) (float64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return 0, fmt.Errorf("%s: %w (time limit %v)\n%s", command, err, timeout, text)
	}
	x, err := strconv.ParseFloat(text[strings.LastIndexAny(text, "\n ")+1:], 64)
	if err != nil || x <= 0 {
		return 0, fmt.Errorf("%s: its last word is no positive number:\n%s", command, text)
	}
	return x, nil
}

// quantile interpolates between order statistics.
func quantile(x []float64, q float64) float64 {
	s := slices.Sorted(slices.Values(x))
	at := q * float64(len(s)-1)
	i := int(at)
	if i+1 == len(s) {
		return s[i]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}

func figure(x float64) string {
	if x >= 1e4 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}
