package cpu_test

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/engine/enginetest"
	"github.com/hataori/hataori-go/engine/ref"
)

var rewrite = flag.Bool("rewrite", false, "rewrite docs/operations.md")

const page = "../../docs/operations.md"

// functionTypes are the operations of package engine whose constants are listed in
// their place.
var functionTypes = []string{"Unary", "Binary", "Ternary", "Reduction", "Reduce"}

// comments returns what the source of package engine says about its constants
// and types, and the names of those that are operations: types that infer, and the
// exported constants of functionTypes.
func comments(t *testing.T) (all map[string]string, ops []string) {
	t.Helper()
	set := token.NewFileSet()
	all = map[string]string{}
	list, err := fs.Glob(os.DirFS(".."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range list {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, "../"+name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "Infer" && f.Recv != nil {
				if r, ok := f.Recv.List[0].Type.(*ast.Ident); ok && !slices.Contains(functionTypes, r.Name) {
					ops = append(ops, r.Name)
				}
			}
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			functions := false
			for _, s := range g.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					if s.Comment != nil {
						all[s.Names[0].Name] = oneLine(s.Comment.Text())
					}
					if r, ok := s.Type.(*ast.Ident); ok && g.Tok == token.CONST {
						functions = slices.Contains(functionTypes, r.Name)
					}
					if functions && s.Names[0].IsExported() {
						ops = append(ops, s.Names[0].Name)
					}
				case *ast.TypeSpec:
					all[s.Name.Name] = oneLine(g.Doc.Text())
				}
			}
		}
	}
	return all, ops
}

func oneLine(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}

// render is the page of operations.
func render(t *testing.T) string {
	t.Helper()
	host, err := cpu.Serial(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	docs, _ := comments(t)
	var b strings.Builder
	b.WriteString(`# Operations

<!-- Written by "go test ./engine/cpu -run OperationsPage -rewrite". Do not edit. -->

Every operation of the vocabulary is a value of package engine. Types: b bool, i int32 and int64, f float32 and float64, c complex64 and
complex128. In place: the inputs that output 0 may exactly equal; every other overlap is refused. Accuracy: ulp are units in
the last place of the result, of its modulus where it is complex; arithmetic of integers wraps.

| operation | meaning | types | in place | engines | accuracy |
| --- | --- | --- | --- | --- | --- |
`)
	for _, s := range enginetest.Vocabulary() {
		types, in, engines := support(t, s, []engine.Execution{ref.New(), host})
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", s.Op(engine.Float64).Name(), docs[s.Doc], types, in, engines, s.Accuracy)
	}
	return b.String()
}

// support probes dtypes, aliasing and engines.
func support(t *testing.T, s enginetest.Sample, execs []engine.Execution) (types, in, engines string) {
	t.Helper()
	taken := map[engine.DType]bool{}
	for d := engine.Bool; d <= engine.Complex128; d++ {
		if _, err := s.Op(d).Infer(s.In(d)); err == nil {
			taken[d] = true
		}
	}
	for i, g := range [][]engine.DType{{engine.Bool}, {engine.Int32, engine.Int64}, {engine.Float32, engine.Float64}, {engine.Complex64, engine.Complex128}} {
		if taken[g[0]] != taken[g[len(g)-1]] {
			t.Errorf("%s takes one of %v only", s.Doc, g)
		}
		if taken[g[0]] {
			types += string("bifc"[i])
		}
	}
	if len(taken) == 0 {
		t.Errorf("%s takes no dtype", s.Doc)
	}
	for i := range s.In(engine.Float64) {
		if s.Op(engine.Float64).MayAlias(0, i) {
			in += fmt.Sprint(i, " ")
		}
	}
	for _, e := range execs {
		engines += e.Target().Kind + supported(t, s, e, taken) + " "
	}
	if in == "" {
		in = "–"
	}
	return types, strings.TrimSpace(in), strings.TrimSpace(engines)
}

// supported is what of the dtypes an engine lacks.
func supported(t *testing.T, s enginetest.Sample, e engine.Execution, taken map[engine.DType]bool) (but string) {
	t.Helper()
	for d := engine.Bool; d <= engine.Complex128; d++ {
		if !taken[d] {
			continue
		}
		err := e.Supports(s.Op(d), s.In(d))
		if errors.Is(err, engine.ErrUnsupported) {
			but += " without " + d.String()
		} else if err != nil {
			t.Errorf("%s of %v: %v", s.Doc, d, err)
		}
	}
	return but
}

// The page lists every operation as it is.
func TestOperationsPage(t *testing.T) {
	want := render(t)
	if *rewrite {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil || string(got) != want {
		t.Fatalf("docs/operations.md is stale (%v): go test ./engine/cpu -run OperationsPage -rewrite", err)
	}
}

// Every operation in the source is in the vocabulary, and has a comment with its
// formula: of a function it comes first, before the types.
func TestOperationsAreDocumented(t *testing.T) {
	docs, ops := comments(t)
	listed := map[string]bool{}
	for _, s := range enginetest.Vocabulary() {
		listed[s.Doc] = true
	}
	if len(ops) < 60 || len(listed) != len(ops) {
		t.Errorf("%d operations in the source, %d in the vocabulary", len(ops), len(listed))
	}
	types := regexp.MustCompile(`^(bool|int|real|float|complex|any)`)
	for _, name := range ops {
		doc := docs[name]
		formula := !types.MatchString(doc)
		if strings.HasPrefix(doc, name+" ") { // a type
			formula = strings.Contains(doc, " = ")
		}
		switch {
		case !listed[name]:
			t.Errorf("%s is not in enginetest.Vocabulary", name)
		case doc == "":
			t.Errorf("%s has no comment", name)
		case !formula:
			t.Errorf("the comment of %s has no formula: %s", name, doc)
		}
	}
}
