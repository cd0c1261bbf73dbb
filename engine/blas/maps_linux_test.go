package blas

import (
	"reflect"
	"testing"
)

func TestParseMaps(t *testing.T) {
	got := parseMaps([]byte("55d0-55e0 r-xp 00000000 fe:00 12 /usr/bin/x y\n" +
		"7f00-7f10 rw-p 00000000 00:00 0\n7f20-7f30 rw-p 00000000 00:00 0 [heap]\nnonsense\n"))
	want := []mapping{{0x55d0, 0x55e0, "/usr/bin/x y"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func FuzzParseMaps(f *testing.F) {
	f.Add([]byte("55d0-55e0 r-xp 00000000 fe:00 12 /usr/bin/x y\n"))
	f.Add([]byte("-- - - - - /"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, m := range parseMaps(text) {
			if len(m.path) == 0 || m.path[0] != '/' {
				t.Errorf("%q gives the path %q", text, m.path)
			}
		}
	})
}
