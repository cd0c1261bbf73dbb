// Package where finds, in the stack of a panic, the place that its reader has to
// look at.
package where

import (
	"fmt"
	"path"
	"runtime/debug"
	"strings"
)

const ours = "github.com/hataori/hataori-go"

// Place is the function, file and line of the first frame below the panic that is
// the user's: one of the program's own module if there is one, else the first that
// is neither of the standard library nor of this module, whose tests count as
// users. It is "" if the stack, as [debug.Stack] formats it, has none.
func Place(stack string) string {
	own := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		own = info.Main.Path
	}
	return place(stack, own)
}

// place is Place for the program of a module.
func place(stack, module string) string {
	if _, after, ok := strings.Cut(stack, "\npanic("); ok {
		_, stack, _ = strings.Cut(after, "\n\t") // the frame of panic itself
		_, stack, _ = strings.Cut(stack, "\n")
	}
	first := ""
	for line := ""; stack != ""; {
		fun := line
		line, stack, _ = strings.Cut(stack, "\n")
		at, is := strings.CutPrefix(line, "\t")
		if !is || fun == "" {
			continue
		}
		fun, at = function(fun), location(at)
		pkg := packageOf(fun)
		internal := within(pkg, ours) && !strings.Contains(at, "_test.go:")
		host, _, _ := strings.Cut(pkg, "/")
		switch {
		case internal:
		case pkg == "main", within(pkg, module), within(pkg, ours):
			return text(fun, at)
		case first == "" && strings.Contains(host, "."): // else of the standard library
			first = text(fun, at)
		}
	}
	return first
}

// In is Place as part of a sentence, with a space before it.
func In(stack string) string {
	if p := Place(stack); p != "" {
		return " in " + p
	}
	return ""
}

// text is bounded: a stack may come from anywhere.
func text(fun, at string) string {
	const most = 200
	if len(fun) > most {
		fun = fun[:most] + "…"
	}
	if len(at) > most {
		at = "…" + at[len(at)-most:]
	}
	return strings.ToValidUTF8(fmt.Sprintf("%s (%s)", fun, at), "\uFFFD")
}

// function is the name in the first line of a frame, without arguments.
func function(line string) string {
	line, _, _ = strings.Cut(strings.TrimPrefix(line, "created by "), " in goroutine ")
	if k := strings.LastIndexByte(line, '('); k >= 0 && strings.HasSuffix(line, ")") {
		line = line[:k]
	}
	return line
}

// location is file:line, without directories, in the second line of a frame.
func location(line string) string {
	line, _, _ = strings.Cut(line, " +0x")
	return path.Base(strings.ReplaceAll(line, `\`, "/"))
}

func packageOf(fun string) string {
	dir, name := "", fun
	if k := strings.LastIndexByte(fun, '/'); k >= 0 {
		dir, name = fun[:k+1], fun[k+1:]
	}
	name, _, _ = strings.Cut(name, ".")
	return dir + name
}

func within(pkg, module string) bool {
	return module != "" && (pkg == module || strings.HasPrefix(pkg, module+"/"))
}
