package hataori

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
)

func panicForFormat(x int) int {
	var m map[int]int
	if x == 3 {
		m[0] = x //lint:ignore SA5000 the panic is what is tested
	}
	return x
}

// TestStackIsPrintedOnAllRanks wants the line that panicked from %+v, on every
// rank, and nothing but the message from the other verbs.
func TestStackIsPrintedOnAllRanks(t *testing.T) {
	onRanks(t, 3, mpitest.Options{Seed: 5}, func(w *World) error {
		_, err := PmapLanes(context.Background(), w, lanes.New(1), Options{}, count(w, 0, 20),
			func(_ context.Context, _ lanes.Lane, x int) (int, error) { return panicForFormat(x), nil })
		var ie *ItemError
		if !errors.As(err, &ie) {
			return fmt.Errorf("got %v", err)
		}
		if s := fmt.Sprintf("%v|%s", err, err); s != ie.Error()+"|"+ie.Error() {
			t.Errorf("%%v and %%s print %s", s)
		}
		if s := fmt.Sprintf("%q", err); s != fmt.Sprintf("%q", ie.Error()) {
			t.Errorf("%%q prints %s", s)
		}
		s := fmt.Sprintf("%+v", err)
		if !strings.HasPrefix(s, ie.Error()+"\n\n") || !strings.Contains(s, "hataori.panicForFormat") || !strings.Contains(s, "format_test.go:") {
			t.Errorf("rank %d: %%+v prints %s", w.Rank(), s)
		}
		return nil
	})
	plain := &ItemError{Index: 1, Kind: KindError, Message: "no"}
	if s := fmt.Sprintf("%+v", plain); s != plain.Error() {
		t.Errorf("without a stack %%+v prints %q", s)
	}
}
