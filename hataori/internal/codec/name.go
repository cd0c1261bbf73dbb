package codec

import (
	"fmt"
	"hash/fnv"
	"io"
	"reflect"
)

// name is the type's name and a fingerprint of all it is made of.
func (c *compiler) name(t reflect.Type) string {
	h := fnv.New64a()
	c.describe(h, t, map[reflect.Type]bool{})
	return fmt.Sprintf("%v/%016x", t, h.Sum64())
}

// describe writes what t, which compiles, is made of. What a named type is made
// of is written once.
func (c *compiler) describe(w io.Writer, t reflect.Type, written map[reflect.Type]bool) {
	fmt.Fprintf(w, "%s.%s %v", t.PkgPath(), t.Name(), t.Kind())
	if written[t] {
		return
	}
	written[t] = t.Name() != ""
	if own, _ := c.marshalsItself(t, ""); own {
		io.WriteString(w, " own")
		return
	}
	switch t.Kind() {
	case reflect.Array:
		fmt.Fprintf(w, "[%d]", t.Len())
		c.describe(w, t.Elem(), written)
	case reflect.Slice, reflect.Pointer:
		c.describe(w, t.Elem(), written)
	case reflect.Map:
		c.describe(w, t.Key(), written)
		io.WriteString(w, ":")
		c.describe(w, t.Elem(), written)
	case reflect.Struct:
		io.WriteString(w, "{")
		for i := range t.NumField() {
			f := t.Field(i)
			fmt.Fprintf(w, "%s ", f.Name)
			c.describe(w, f.Type, written)
			io.WriteString(w, ";")
		}
		io.WriteString(w, "}")
	}
}
