// Command pairs measures figures of the project beside rivals': it runs
// commands in alternation, each printing one number as its last line, and prints
// a line for each row that it is to compare
//
//	BENCH name ours=… rival=… ratio=… [lo…hi] pairs=… bar=… holds|short
//
//	pairs -name N -bar B -ours C [-rival C]                                one row of two commands
//	pairs -command key=C … -compare 'name|key|key|bar|note' …              many rows of some commands, in one alternation
//	                       -compare 'name|key|key|bar|note|key|key'        a row with a twin
//	pairs -name N -bar B -mean <lines                                      the geometric mean of printed rows
//
// With -serve the commands stay, each printing a number for every line that it
// reads, so that pairs of milliseconds can alternate, which a machine whose
// speed drifts needs. They are started anew every few pairs: which pages of
// memory a process happens to get makes it some percent faster or slower.
// With -pin they all share one processor, the next one at each start: on a
// virtual machine one is often half as fast again as another for seconds, and
// two processes that wait in turns stay on the ones that they have.
//
// The ratio is the median over the pairs of ours divided by the rival's; lo
// and hi are its quartiles (of a mean: the least and the greatest). Without a
// rival the figure itself is held against the bar. A twin is a rival that does the
// same as ours beside one of its own: where it misses the bar too, the machine
// has no more to give, and the bar is what the twin reaches, to a twentieth. It exits with status 1 when
// a command fails, not when a bar is missed: a figure is a result, not a fault.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

type options struct {
	name, ours, rival, bar, note string
	commands, rows               list
	pairs, least                 int
	timeout, budget, limit       time.Duration
	serve, pin, mean             bool
}

// list is a flag that may be given many times.
type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func main() {
	var o options
	flag.StringVar(&o.name, "name", "", "name of the measure")
	flag.StringVar(&o.ours, "ours", "", "shell command that prints our figure")
	flag.StringVar(&o.rival, "rival", "", "shell command that prints the rival's; without it ours is held against the bar")
	flag.StringVar(&o.bar, "bar", "", "what the ratio must reach: '>=0.95' or '<=60'")
	flag.StringVar(&o.note, "note", "", "words to print behind the figures, such as the unit")
	flag.Var(&o.commands, "command", "key=shell command; may be given many times")
	flag.Var(&o.rows, "compare", "'name|key of ours|key of the rival or nothing|bar|note', or with '|key of the twin|key of its rival' behind; may be given many times")
	flag.IntVar(&o.pairs, "pairs", 5, "number of alternating pairs")
	flag.DurationVar(&o.timeout, "timeout", 2*time.Minute, "time limit of one command")
	flag.DurationVar(&o.budget, "budget", 0, "begin no pair after this time, but make the least number; 0: no limit")
	flag.IntVar(&o.least, "least", 15, "pairs to make whatever the budget")
	flag.DurationVar(&o.limit, "limit", 0, "begin no pair after this time, whatever the least number, but for five; 0: no limit")
	flag.BoolVar(&o.serve, "serve", false, "the commands stay and print a number for each line they read")
	flag.BoolVar(&o.pin, "pin", false, "served commands run on one processor, the same for all, another at each start")
	flag.BoolVar(&o.mean, "mean", false, "read printed rows and print the geometric mean of their ratios")
	flag.Parse()
	lines, err := "", error(nil)
	if o.mean {
		lines, err = mean(o, os.Stdin)
	} else {
		lines, err = measure(o)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "pairs: %s: %v\n", o.name, err)
		os.Exit(1)
	}
	fmt.Println(lines)
}

const (
	pairsPerStart = 12 // that a served command lives for
	fewest        = 5  // pairs of a row
)

// row compares the figures of two commands, by their keys.
type row struct {
	name, ours, rival, bar, note string
	twin, twinRival              string // keys, or nothing
	holds                        func(float64) bool
}

// table is the commands to run and the rows to print.
func (o *options) table() (commands map[string]string, rows []row, err error) {
	commands = make(map[string]string)
	for _, c := range o.commands {
		key, command, ok := strings.Cut(c, "=")
		if !ok || key == "" || command == "" {
			return nil, nil, fmt.Errorf("command %q: write it like key=command", c)
		}
		commands[key] = command
	}
	for _, line := range o.rows {
		f := strings.Split(line, "|")
		if len(f) != 5 && len(f) != 7 {
			return nil, nil, fmt.Errorf("row %q: write it like name|ours|rival|bar|note or name|ours|rival|bar|note|twin|its rival", line)
		}
		r := row{name: f[0], ours: f[1], rival: f[2], bar: f[3], note: f[4]}
		if len(f) == 7 {
			r.twin, r.twinRival = f[5], f[6]
		}
		rows = append(rows, r)
	}
	if o.ours != "" {
		r := row{name: o.name, ours: "ours", bar: o.bar, note: o.note}
		commands["ours"] = o.ours
		if o.rival != "" {
			r.rival, commands["rival"] = "rival", o.rival
		}
		rows = append(rows, r)
	}
	used := make(map[string]string)
	for i := range rows {
		r := &rows[i]
		if r.holds, err = parseBar(r.bar); err != nil {
			return nil, nil, err
		}
		for _, key := range []string{r.ours, r.rival, r.twin, r.twinRival} {
			if key == "" && key != r.ours {
				continue
			}
			if used[key] = commands[key]; used[key] == "" {
				return nil, nil, fmt.Errorf("row %s: no command is called %q", r.name, key)
			}
		}
		if r.name == "" {
			return nil, nil, errors.New("a row without a name")
		}
	}
	if len(rows) == 0 || o.pairs < 1 {
		return nil, nil, errors.New("-name and -ours, or -command and -compare, are needed, and at least one pair")
	}
	return used, rows, nil
}

func measure(o options) (string, error) {
	commands, rows, err := o.table()
	if err != nil {
		return "", err
	}
	var cpus []int
	if o.pin {
		if cpus, err = processors(); err != nil {
			return "", err
		}
	}
	take := run
	processor := "" // what a served command is started by, to run on one
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
				if s, err = serve(processor + command); err != nil {
					return 0, err
				}
				servers[command] = s
			}
			return s.ask(timeout)
		}
	}
	keys := make([]string, 0, len(commands))
	for key := range commands {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	figures := make(map[string][]float64)
	begin := time.Now()
	for i := range o.pairs {
		spent := time.Since(begin)
		if o.budget > 0 && i >= o.least && spent > o.budget || o.limit > 0 && i >= fewest && spent > o.limit {
			break
		}
		if i%pairsPerStart == 0 {
			stop()
			if o.pin {
				processor = fmt.Sprintf("taskset -c %d ", cpus[i/pairsPerStart%len(cpus)])
			}
		}
		for j := range keys {
			key := keys[(i+j)%len(keys)] // who goes first changes from pair to pair
			x, err := take(commands[key], o.timeout)
			if err != nil {
				return "", err
			}
			figures[key] = append(figures[key], x)
		}
	}
	lines := make([]string, len(rows))
	for i, r := range rows {
		if r.twin != "" {
			r.yield(quantile(ratiosOf(figures[r.twin], figures[r.twinRival]), 0.5))
		}
		lines[i] = r.line(figures[r.ours], figures[r.rival])
	}
	return strings.Join(lines, "\n"), nil
}

// processors are the numbers of those that this process may run on.
func processors() (cpus []int, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("asking for the processors to run on: %w", err)
	}
	for i := 0; len(cpus) < set.Count(); i++ {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus, nil
}

// line says how ours, in alternation with the rival's, stand to the bar.
func (r *row) line(ours, rivals []float64) string {
	ratios, rival := ours, "none"
	if r.rival != "" {
		rival, ratios = figure(quantile(rivals, 0.5)), ratiosOf(ours, rivals)
	}
	return r.report(figure(quantile(ours, 0.5)), rival, quantile(ratios, 0.5), quantile(ratios, 0.25), quantile(ratios, 0.75), len(ratios))
}

// ratiosOf are the ratios of the pairs; without rivals the figures themselves.
func ratiosOf(ours, rivals []float64) []float64 {
	ratios := slices.Clone(ours)
	for i, v := range rivals {
		ratios[i] /= v
	}
	return ratios
}

// yield moves the bar to what the twin reaches, if that misses it: a twentieth
// beyond.
func (r *row) yield(twin float64) {
	if r.holds(twin) {
		return
	}
	limit := twin * 1.05
	if strings.HasPrefix(r.bar, ">=") {
		limit = twin / 1.05
	}
	r.note += fmt.Sprintf("; the bar of %s is missed by the twin too: %s", r.bar, figure(twin))
	r.bar = r.bar[:2] + figure(limit)
	r.holds, _ = parseBar(r.bar) // written here
}

func (r *row) report(ours, rival string, ratio, lo, hi float64, pairs int) string {
	verdict := "short"
	if r.holds(ratio) {
		verdict = "holds"
	}
	line := fmt.Sprintf("BENCH %s ours=%s rival=%s ratio=%s [%s…%s] pairs=%d bar=%s %s", r.name, ours, rival,
		figure(ratio), figure(lo), figure(hi), pairs, r.bar, verdict)
	if r.note != "" {
		line += " # " + r.note
	}
	return line
}

// mean reads rows and prints one of the geometric means of their figures.
func mean(o options, in io.Reader) (string, error) {
	r := row{name: o.name, bar: o.bar, note: o.note}
	var err error
	if r.holds, err = parseBar(o.bar); err != nil {
		return "", err
	}
	var ours, rivals, ratios []float64
	pairs := math.MaxInt
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var x, y, z float64
		var name, quartiles string
		var n int
		if _, err := fmt.Sscanf(lines.Text(), "BENCH %s ours=%g rival=%g ratio=%g %s pairs=%d", &name, &x, &y, &z, &quartiles, &n); err != nil {
			return "", fmt.Errorf("row %q: %w", lines.Text(), err)
		}
		ours, rivals, ratios, pairs = append(ours, x), append(rivals, y), append(ratios, z), min(pairs, n)
	}
	if len(ratios) == 0 {
		return "", errors.New("no rows to take the mean of")
	}
	return r.report(figure(geometric(ours)), figure(geometric(rivals)), geometric(ratios), slices.Min(ratios), slices.Max(ratios), pairs), nil
}

func geometric(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(x)))
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
