package picture

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"testing"
	"time"

	"github.com/hataori/hataori-go/trace"
)

// hostile are calls as no scheduler records them, but a file may hold them.
func hostile() []*trace.Call {
	const never = time.Duration(1) << 62
	span := func(from, to, busy time.Duration) trace.Span {
		return trace.Span{Start: from, End: to, Busy: busy, Items: 1 << 62, Index: math.MaxInt64, Failed: 1, FailedIndex: 1 << 62}
	}
	lanes := func(spans ...trace.Span) []trace.Lane {
		return []trace.Lane{{Spans: spans}, {Spans: spans}, {}}
	}
	many := &trace.Call{Elapsed: time.Second}
	for r := range 20_000 {
		many.Ranks = append(many.Ranks, trace.Rank{Rank: r, Lanes: []trace.Lane{{Spans: []trace.Span{{End: time.Second, Busy: time.Second, Items: 1}}}}})
	}
	return []*trace.Call{
		many,
		{Kind: "\x1b[2J\x00\xff", Error: "\x1b]0;title\x07\n\n", Elapsed: 1, Ranks: []trace.Rank{{Host: "a\x1b[31m\r\nb</text>"}, {Rank: 1, Lanes: make([]trace.Lane, 9)}}},
		{Elapsed: 0, Ranks: []trace.Rank{{Lanes: lanes(span(0, 0, 0), span(5, never, 7))}}},
		{Elapsed: 1, Ranks: []trace.Rank{{Lanes: lanes(span(0, 0, 0), span(0, never, never))}, {Rank: 1 << 61, CPUs: []int{1 << 62}, Lanes: lanes(span(never, never, 0))}}},
		{Elapsed: never, Stalled: never, Ranks: []trace.Rank{{CPU: never, Coordinator: never, ClockError: never, CPUs: []int{0}, Lanes: lanes(span(0, never, never))},
			{Rank: 1, CPU: never, CPUs: []int{0}, Lanes: lanes(span(0, never, never))}, {Rank: 2, CPU: never, CPUs: []int{0}, Lanes: lanes(span(1, never, never-1))}}},
	}
}

// show does with a file what the command does.
func show(t *testing.T, file []byte) {
	rec, _ := trace.Read(bytes.NewReader(file))
	for _, c := range rec.Calls {
		s := c.Summary()
		for _, r := range s.String() {
			if r < ' ' && r != '\n' || r == 0x7f {
				t.Errorf("a control character in %q", s.String())
			}
		}
		if g := newGrid(c, s); len(g.rows) > 4*mostRows {
			t.Errorf("%d rows", len(g.rows))
		}
		for _, f := range []Format{PNG, SVG} {
			if err := Draw(io.Discard, f, c, s); err != nil {
				t.Error(err)
			}
		}
		if err := c.WritePerfetto(io.Discard); err != nil {
			t.Error(err)
		}
	}
}

// TestHostile: no file that can be read makes the report fail, hang, fill the
// memory or write to the terminal what is no text.
func TestHostile(t *testing.T) {
	for _, c := range hostile() {
		show(t, write(t, c))
	}
}

// FuzzReport is given records, whose length and checksum are put right.
func FuzzReport(f *testing.F) {
	const head = len("hataori trace 1\n")
	whole := write(f, hostile()[1])
	for _, c := range append(hostile()[1:], farm(2, 2, 20, 1)) {
		f.Add(write(f, c)[head+8:])
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		file := binary.LittleEndian.AppendUint32(bytes.Clone(whole[:head]), uint32(len(record)))
		file = binary.LittleEndian.AppendUint32(file, crc32.Checksum(record, crc32.MakeTable(crc32.Castagnoli)))
		show(t, append(file, record...))
	})
}

func write(t testing.TB, c *trace.Call) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := (&trace.Recording{Calls: []*trace.Call{c}}).WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
