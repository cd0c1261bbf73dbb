package store

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// journalOf builds a journal from bodies, by hand: not with the code under
// test.
func journalOf(bodies ...[]byte) (file []byte, starts []int64) {
	file = append([]byte(journalMagic), bytes.Repeat([]byte{' '}, headerSize-len(journalMagic))...)
	for _, b := range bodies {
		starts = append(starts, int64(len(file)))
		n := binary.LittleEndian.AppendUint32(nil, uint32(len(b)))
		file = append(append(file, "hjrn"...), n...)
		file = binary.LittleEndian.AppendUint32(file, crc32.Checksum(append(n, b...), crc32.MakeTable(crc32.Castagnoli)))
		file = append(file, b...)
	}
	return file, starts
}

func rowBody(sink uint32, index uint64, row string) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{'R'}, sink)
	return append(binary.LittleEndian.AppendUint64(b, index), row...)
}

func syncBody(upTo int64) []byte {
	return binary.LittleEndian.AppendUint64([]byte{'C'}, uint64(upTo))
}

type seen struct {
	offset int64
	body   string
}

func scanAll(t testing.TB, file []byte) ([]seen, scanResult) {
	t.Helper()
	var all []seen
	res, err := scan(bytes.NewReader(file), int64(len(file)), func(off int64, body []byte) error {
		all = append(all, seen{off, string(body)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, res
}

func TestFrameBytes(t *testing.T) {
	want, _ := journalOf(rowBody(3, 77, "payload"))
	got := beginFrame(nil)
	got = append(appendRowHead(got, 3, 77), "payload"...)
	endFrame(got, 0)
	if !bytes.Equal(got, want[headerSize:]) {
		t.Errorf("%x, want %x", got, want[headerSize:])
	}
}

// Bytes changed anywhere: every frame that they do not touch is still found,
// and the damage is reported exactly when it lies before a sync mark that
// survived.
func TestScanDamage(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		var bodies [][]byte
		var upTo int64 = headerSize
		frames := 1 + rng.IntN(12)
		syncAt := rng.IntN(frames)
		for i := range frames {
			if i == syncAt {
				f, _ := journalOf(bodies...)
				upTo = int64(len(f))
				bodies = append(bodies, syncBody(upTo))
				continue
			}
			row := make([]byte, rng.IntN(60))
			for k := range row {
				row[k] = "hjrn\x00"[rng.IntN(5)] // looks like the magic
			}
			bodies = append(bodies, rowBody(0, uint64(i), string(row)))
		}
		file, starts := journalOf(bodies...)
		from := headerSize + rng.IntN(len(file)-headerSize)
		to := min(len(file), from+1+rng.IntN(40))
		for i := from; i < to; i++ {
			file[i] ^= byte(1 + rng.IntN(255))
		}
		all, res := scanAll(rt2t(rt), file)
		want, lastEnd := 0, int64(headerSize)
		markLives := false
		for i, s := range starts {
			end := s + frameHead + int64(len(bodies[i]))
			if s < int64(to) && end > int64(from) {
				continue
			}
			lastEnd = end
			if bodies[i][0] == 'C' {
				markLives = true
				continue
			}
			if !slices.Contains(all, seen{s, string(bodies[i])}) {
				rt.Fatalf("frame %d at %d is intact but was not found", i, s)
			}
			want++
		}
		if len(all) != want || res.end != lastEnd || res.torn != int64(len(file))-lastEnd {
			rt.Fatalf("%d frames to %d, want %d to %d", len(all), res.end, want, lastEnd)
		}
		damaged := res.damage("p") != nil
		if wanted := markLives && int64(from) < upTo && lastEnd > int64(to)-1; damaged != wanted {
			rt.Fatalf("damage from %d to %d of %d, synced up to %d (mark lives: %v): reported %v", from, to, len(file), upTo, markLives, damaged)
		}
	})
}

func rt2t(rt *rapid.T) testing.TB { return fatalOnly{rt: rt} }

// fatalOnly lets rapid's T serve where only Helper and Fatal are used.
type fatalOnly struct {
	testing.TB
	rt *rapid.T
}

func (f fatalOnly) Helper()           {}
func (f fatalOnly) Fatal(args ...any) { f.rt.Fatal(args...) }

// Frames longer than the scanner's buffer, and holes longer than that.
func TestScanLong(t *testing.T) {
	long := string(bytes.Repeat([]byte("hjr"), scanBlock))
	file, starts := journalOf(rowBody(0, 1, "a"), rowBody(0, 2, long), rowBody(0, 3, "c"))
	all, res := scanAll(t, file)
	if len(all) != 3 || all[1].body != string(rowBody(0, 2, long)) || res.end != int64(len(file)) {
		t.Fatal(len(all), res)
	}
	file[starts[1]+8]++ // its checksum
	all, res = scanAll(t, file)
	if len(all) != 2 || len(res.holes) != 1 || res.holes[0].from != starts[1] || res.holes[0].to != starts[2] {
		t.Fatal(len(all), res)
	}
}

// A scan of any bytes ends, allocates no more than they are long, and finds
// only frames that are there.
func FuzzScan(f *testing.F) {
	whole, starts := journalOf([]byte(`H{"fingerprint":"x"}`), []byte(`S{"id":0}`), rowBody(0, 5, "12345678"), syncBody(300), rowBody(0, 6, ""))
	f.Add(whole)
	f.Add(whole[:starts[2]+9])
	f.Add(append(bytes.Clone(whole[:starts[2]]), whole[starts[2]+3:]...))
	huge := bytes.Clone(whole)
	binary.LittleEndian.PutUint32(huge[starts[2]+4:], 0xfffffff0)
	f.Add(huge)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, file []byte) {
		all, res := scanAll(t, file)
		end := int64(headerSize)
		for _, s := range all {
			if s.offset < end {
				t.Fatalf("frame at %d overlaps the one before, which ends at %d", s.offset, end)
			}
			end = s.offset + frameHead + int64(len(s.body))
			again, _ := journalOf([]byte(s.body))
			if !bytes.Equal(again[headerSize:], file[s.offset:end]) {
				t.Fatalf("frame at %d is not in the file", s.offset)
			}
		}
		if res.end < end || res.torn < 0 || int64(len(file)) >= headerSize && res.end+res.torn != int64(len(file)) {
			t.Fatal(res, end, len(file))
		}
	})
}

// Any bytes in the place of a journal's frames are replayed or refused.
func FuzzReplayFrame(f *testing.F) {
	f.Add([]byte(`H{"fingerprint":"x"}`), []byte(`S{"id":0,"name":"a","format":{"elem":{"kind":"float64"}},"chunk_rows":4,"deflate":1}`), rowBody(0, 2, "12345678"))
	f.Add([]byte(`H{}`), []byte(`S{"id":0,"name":"a/b","format":{"shape":[2],"elem":{"kind":"struct","fields":[{"name":"x","type":{"kind":"array","dims":[2],"elem":{"kind":"int8"}}}]}},"chunk_rows":4}`), rowBody(0, 2, "1234"))
	f.Add([]byte(`H[]`), []byte(`S{"id":0,"name":"v","format":{"elem":{"kind":"vlen","elem":{"kind":"bool"}}},"chunk_rows":1}`), rowBody(0, 1<<40, ""))
	f.Add([]byte(`H{}`), []byte(`S{"format":{"elem":{"kind":"array"}}}`), rowBody(9, 0, ""))
	f.Fuzz(func(t *testing.T, head, sink, row []byte) {
		file := &File{}
		for _, body := range [][]byte{head, sink, row} {
			if len(body) == 0 || !bodyShaped(body) || body[0] == kindSync {
				continue
			}
			if file.replayFrame(body, nil) != nil {
				return
			}
		}
		for _, s := range file.sinks {
			// What passed is safe to fold.
			d := &s.def
			_ = d.Format.String()
			if d.Format.Elem.variable() {
				continue
			}
			n := d.Format.size()
			if n < 1 || n > maxRow {
				t.Fatalf("a row of %d bytes passed", n)
			}
			if n < 1<<16 && len(fillValue(&d.Format.Elem)) != d.Format.Elem.size() {
				t.Fatal("the fill value has another size")
			}
		}
	})
}

func TestCheckVersion(t *testing.T) {
	for v, ok := range map[[3]uint32]bool{{1, 8, 22}: false, {1, 10, 0}: false, {1, 10, 1}: false, {1, 10, 2}: true,
		{1, 10, 8}: true, {1, 12, 0}: true, {1, 14, 6}: true, {2, 0, 0}: true, {0, 99, 99}: false} {
		if err := checkVersion(v); (err == nil) != ok {
			t.Errorf("%v: %v", v, err)
		}
	}
}
