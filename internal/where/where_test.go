package where

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// As Go 1.26 prints it, shortened.
const item = `goroutine 35 [running]:
runtime/debug.Stack()
	/usr/lib/go/src/runtime/debug/stack.go:26 +0x5e
github.com/hataori/hataori-go/hataori.panicked({0x5c1a80, 0xc0000182a0}, 0x1)
	/home/me/go/pkg/mod/github.com/hataori/hataori-go/hataori/job.go:241 +0x2b
panic({0x5c1a80?, 0xc0000182a0?})
	/usr/lib/go/src/runtime/panic.go:792 +0x132
%sgithub.com/hataori/hataori-go/hataori.(*lane[...]).evaluate(0xc000120000, 0x0, 0x3)
	/home/me/go/pkg/mod/github.com/hataori/hataori-go/hataori/job.go:222 +0x10
created by github.com/hataori/hataori-go/lanes.(*Set[...]).Run in goroutine 1
	/home/me/go/pkg/mod/github.com/hataori/hataori-go/lanes/run.go:60 +0x4c
`

func TestPlace(t *testing.T) {
	for _, c := range []struct{ module, frames, want string }{
		{"example.org/job", "main.solve(...)\n\t/home/me/job/main.go:41\n", "main.solve (main.go:41)"},
		{"job", "runtime.goPanicIndex(0x5, 0x3)\n\t/usr/lib/go/src/runtime/panic.go:115 +0x74\njob/model.(*Grid[...]).At(...)\n\tC:/me/job/model/grid.go:7 +0x1\nmain.f()\n\t/x/main.go:1 +0x1\n",
			"job/model.(*Grid[...]).At (grid.go:7)"},
		{"example.org/job", "strings.Repeat({0x1, 0x2}, 0x3)\n\t/usr/lib/go/src/strings/strings.go:624 +0x5\ngonum.org/v1/gonum/mat.(*Dense).At(0x1)\n\t/m/gonum/mat/dense.go:9 +0x1\nexample.org/job.run.func1({0x1?, 0x2})\n\t/x/run.go:3 +0x1\n",
			"example.org/job.run.func1 (run.go:3)"},
		{"example.org/job", "gopkg.in/yaml%2ev3.Unmarshal(0x1)\n\t/m/yaml.go:9 +0x1\n", "gopkg.in/yaml%2ev3.Unmarshal (yaml.go:9)"},
		{"example.org/job", "slices.Grow(0x1)\n\t/usr/lib/go/src/slices/slices.go:9 +0x1\n", ""},
		{"github.com/hataori/hataori-go", "github.com/hataori/hataori-go/engine.Reshape(0x1)\n\t/x/view.go:9 +0x1\nmain.f(0x1)\n\t/x/main.go:2 +0x1\n", "main.f (main.go:2)"},
		{"example.org/job", "main." + strings.Repeat("x", 5000) + "(0x1)\n\t/x/main.go:2 +0x1\n", "main." + strings.Repeat("x", 195) + "… (main.go:2)"},
	} {
		if got := place(fmt.Sprintf(item, c.frames), c.module); got != c.want {
			t.Errorf("%q in %s, want %s", got, c.frames, c.want)
		}
	}
}

// The stacks of this toolchain, of a panic of the runtime's, of one in the standard
// library, and of a Goexit.
func TestPlaceOfRealStacks(t *testing.T) {
	var line int
	stackOf := func(f func()) (stack string) {
		done := make(chan bool)
		go func() {
			defer close(done)
			defer func() {
				_ = recover()
				stack = string(debug.Stack())
			}()
			f()
		}()
		<-done
		return stack
	}
	here := func() { _, _, line, _ = runtime.Caller(1) }
	for name, f := range map[string]func(){
		"index": func() { here(); _ = []int{}[line] },
		"nil":   func() { here(); *(*int)(nil) = 1 },
		"std":   func() { here(); _ = strings.Repeat("a", -line) },
		"exit":  func() { here(); runtime.Goexit() },
	} {
		want := "github.com/hataori/hataori-go/internal/where.TestPlaceOfRealStacks."
		stack := stackOf(f)
		got := place(stack, "github.com/hataori/hataori-go")
		if name == "exit" { // the deferred function comes first
			want = "github.com/hataori/hataori-go/internal/where.TestPlaceOfRealStacks.func1"
			if !strings.HasPrefix(got, want) {
				t.Errorf("%s: %q in %s", name, got, stack)
			}
			continue
		}
		if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, fmt.Sprintf(" (where_test.go:%d)", line)) {
			t.Errorf("%s: %q, want line %d, in %s", name, got, line, stack)
		}
	}
}

func FuzzPlace(f *testing.F) {
	f.Add(fmt.Sprintf(item, "main.f(0x1)\n\t/x/main.go:2 +0x1\n"))
	f.Add("\npanic(\n\t")
	f.Add(")\n\t")
	f.Fuzz(func(t *testing.T, stack string) {
		if s := Place(stack); len(s) > 420 || strings.Contains(s, "\n") {
			t.Errorf("%q", s)
		}
	})
}
