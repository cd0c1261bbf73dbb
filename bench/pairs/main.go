// Command pairs measures one figure of the project beside a rival's: it runs
// two commands in alternation, each printing one number as its last line,
// and prints one line
//
//	BENCH name ours=… rival=… ratio=… [lo…hi] pairs=… bar=… holds|short
//
// With -serve the commands stay, each printing a number for every line that it
// reads, so that pairs of milliseconds can alternate, which a machine whose
// speed drifts needs. They are started anew every few pairs: which pages of
// memory a process happens to get makes it some percent faster or slower.
//
// The ratio is the median over the pairs of ours divided by the rival's; lo
// and hi are its quartiles. Without a rival the figure itself is held
// against the bar. It exits with status 1 when a command fails, not when a
// bar is missed: a figure is a result, not a fault.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
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
	serve                        bool
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
	flag.BoolVar(&o.serve, "serve", false, "the commands stay and print a number for each line they read")
	flag.Parse()
	line, err := measure(o)
	if err != nil {
		fmt.Fprintf(os.Stderr, "pairs: %s: %v\n", o.name, err)
		os.Exit(1)
	}
	fmt.Println(line)
}

// pairsPerStart is how many pairs a served command lives for.
const pairsPerStart = 6

func measure(o options) (string, error) {
	if o.name == "" || o.ours == "" || o.pairs < 1 {
		return "", errors.New("-name and -ours are needed, and at least one pair")
	}
	holds, err := parseBar(o.bar)
	if err != nil {
		return "", err
	}
	take := run
	servers := make(map[string]*server)
	stop := func() {
		for command, s := range servers {
			_ = s.stop() // it has given all that it was asked for
			delete(servers, command)
		}
	}
	defer stop()
	if o.serve {
		take = func(command string, timeout time.Duration) (float64, error) {
			s := servers[command]
			if s == nil {
				if s, err = serve(command); err != nil {
					return 0, err
				}
				servers[command] = s
			}
			return s.ask(timeout)
		}
	}
	var ours, rivals, ratios []float64
	for i := range o.pairs {
		if i%pairsPerStart == 0 {
			stop()
		}
		commands := []string{o.ours, o.rival}
		values := [2]float64{0, 1}
		for j := range commands {
			k := (i + j) % 2 // who goes first changes from pair to pair
			if commands[k] == "" {
				continue
			}
			if values[k], err = take(commands[k], o.timeout); err != nil {
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
	return number(command, text)
}

// number reads the last word of a command's output.
func number(command, text string) (float64, error) {
	text = strings.TrimSpace(text)
	x, err := strconv.ParseFloat(text[strings.LastIndexAny(text, "\n ")+1:], 64)
	if err != nil || x <= 0 {
		return 0, fmt.Errorf("%s: its last word is no positive number:\n%s", command, text)
	}
	return x, nil
}

// server is a command that stays and prints a number for each line it reads.
type server struct {
	command string
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	stderr  strings.Builder
}

func serve(command string) (*server, error) {
	s := &server{command: command, cmd: exec.Command("bash", "-c", "exec "+command)}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.cmd.Stderr = &s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(out)
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return s, s.cmd.Start()
}

// ask takes one sample; a server that does not answer in time is killed.
func (s *server) ask(timeout time.Duration) (float64, error) {
	late := time.AfterFunc(timeout, func() { _ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) })
	defer late.Stop()
	_, err := io.WriteString(s.in, "\n")
	line := ""
	if err == nil {
		line, err = s.out.ReadString('\n')
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w (time limit %v)\n%s", s.command, errors.Join(err, s.stop()), timeout, s.stderr.String())
	}
	return number(s.command, line)
}

// stop ends the server, by the end of its input, and waits for it.
func (s *server) stop() error {
	_ = s.in.Close() // it may be gone
	return s.cmd.Wait()
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
