package index

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// raw files in Kafka's encoding.
func offsetBytes(pairs ...[2]uint32) []byte {
	var b []byte
	for _, p := range pairs {
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, p[0]), p[1])
	}
	return b
}

func timeBytes(pairs ...[2]int64) []byte {
	var b []byte
	for _, p := range pairs {
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(b, uint64(p[0])), uint32(p[1]))
	}
	return b
}

func openFiles(t testing.TB, offsets, times []byte) (*Offset, *Time) {
	t.Helper()
	m := vfs.NewMem()
	writeFile(t, m, "/1.index", offsets)
	writeFile(t, m, "/1.timeindex", times)
	h := vfs.NewHandles(m, 4)
	x, err := OpenOffset(h, "/1.index", 1000, 1<<20, false)
	if err != nil {
		t.Fatal(err)
	}
	y, err := OpenTime(h, "/1.timeindex", 1000, 1<<20, false)
	if err != nil {
		t.Fatal(err)
	}
	return x, y
}

func TestBytes(t *testing.T) {
	m := vfs.NewMem()
	h := vfs.NewHandles(m, 4)
	x, err := CreateOffset(h, "/0.index", 1000, 80)
	if err != nil {
		t.Fatal(err)
	}
	y, err := CreateTime(h, "/0.timeindex", 1000, 80)
	if err != nil {
		t.Fatal(err)
	}
	z, err := OpenTxn(h, "/0.txnindex", 1000)
	if err != nil {
		t.Fatal(err)
	}
	steps := []error{
		x.Append(1007, 4097), x.Append(1000+1<<31-1, 1<<31-1), y.Append(1700000000000, 1007, false),
		z.Append(AbortedTxn{ProducerID: 1000, FirstOffset: 1001, LastOffset: 1005, LastStableOffset: 1006}),
		x.Seal(), y.Seal(), x.Sync(), y.Sync(), z.Sync(), m.SyncDir("/"),
	}
	if err := errors.Join(steps...); err != nil {
		t.Fatal(err)
	}
	m = m.Crash()
	for name, want := range map[string]string{
		"/0.index":     "\x00\x00\x00\x07\x00\x00\x10\x01\x7f\xff\xff\xff\x7f\xff\xff\xff",
		"/0.timeindex": "\x00\x00\x01\x8b\xcf\xe5\x68\x00\x00\x00\x00\x07",
		"/0.txnindex": "\x00\x00" + "\x00\x00\x00\x00\x00\x00\x03\xe8" + "\x00\x00\x00\x00\x00\x00\x03\xe9" +
			"\x00\x00\x00\x00\x00\x00\x03\xed" + "\x00\x00\x00\x00\x00\x00\x03\xee",
	} {
		f, err := m.OpenFile(name, os.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 200)
		n, _ := f.ReadAt(buf, 0)
		if string(buf[:n]) != want {
			t.Errorf("%s: % x, want % x", name, buf[:n], want)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	h := vfs.NewHandles(vfs.NewMem(), 4)
	x, err := CreateOffset(h, "/0.index", 1000, 8*3)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Append(1010, 100); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		off  record.Offset
		pos  Position
		want error
	}{
		{999, 200, ErrOffsetOverflow}, {1000 + 1<<31, 200, ErrOffsetOverflow}, {1 << 62, 200, ErrOffsetOverflow}, {-1 << 62, 200, ErrOffsetOverflow},
		{1010, 200, ErrOutOfOrder}, {1009, 200, ErrOutOfOrder}, {1011, 100, ErrOutOfOrder}, {1011, 99, ErrOutOfOrder}, {1011, -1, ErrOutOfOrder},
	} {
		if err := x.Append(c.off, c.pos); !errors.Is(err, c.want) {
			t.Errorf("(%d, %d): %v, want %v", c.off, c.pos, err, c.want)
		}
	}
	if err := errors.Join(x.Append(1011, 101), x.Append(1012, 102)); err != nil {
		t.Fatal(err)
	}
	if err := x.Append(1013, 103); !errors.Is(err, ErrFull) || !x.Full() || x.Entries() != 3 {
		t.Errorf("full: %v", err)
	}
	y, err := CreateTime(h, "/0.timeindex", 1000, 12*3)
	if err != nil {
		t.Fatal(err)
	}
	if err := y.Append(-1, 1000, false); err != nil || y.Entries() != 0 {
		t.Errorf("a record without timestamp: %v, %d entries", err, y.Entries())
	}
	if err := errors.Join(y.Append(50, 1010, false), y.Append(50, 1010, false), y.Append(50, 1020, false)); err != nil || y.Entries() != 1 {
		t.Errorf("the same timestamp: %v, %d entries", err, y.Entries())
	}
	if err := y.Append(49, 1030, false); !errors.Is(err, ErrOutOfOrder) {
		t.Errorf("an earlier timestamp: %v", err)
	}
	if err := y.Append(60, 1009, false); !errors.Is(err, ErrOutOfOrder) {
		t.Errorf("an earlier offset: %v", err)
	}
	if err := y.Append(60, 1000+1<<31, false); !errors.Is(err, ErrOffsetOverflow) {
		t.Errorf("overflow: %v", err)
	}
	if err := y.Append(60, 1010, false); err != nil || !y.Full() {
		t.Errorf("the same offset: %v", err)
	}
	if err := y.Append(70, 1020, false); !errors.Is(err, ErrFull) {
		t.Errorf("into the last slot: %v", err)
	}
	if err := y.Append(70, 1020, true); err != nil || y.Entries() != 3 {
		t.Errorf("the final entry: %v", err)
	}
	if _, err := CreateOffset(h, "/1.index", 0, 7); err == nil {
		t.Error("a limit below one entry was accepted")
	}
	if _, err := OpenTime(h, "/1.timeindex", 0, 11, true); err == nil {
		t.Error("a limit below one entry was accepted")
	}
}

func TestSanity(t *testing.T) {
	good := [][2]uint32{{1, 10}, {5, 20}, {9, 30}}
	for name, c := range map[string]struct {
		data []byte
		bad  string
	}{
		"empty":             {nil, ""},
		"good":              {offsetBytes(good...), ""},
		"partial entry":     {append(offsetBytes(good...), 0, 0, 0), "no multiple"},
		"padded":            {append(offsetBytes(good...), make([]byte, 80)...), "entry 3"},
		"only zeros":        {make([]byte, 16), "entry 1"},
		"offset repeated":   {offsetBytes([2]uint32{1, 10}, [2]uint32{1, 20}), "entry 1"},
		"position repeated": {offsetBytes([2]uint32{1, 10}, [2]uint32{2, 10}), "entry 1"},
		"negative offset":   {offsetBytes([2]uint32{1 << 31, 10}), "entry 0"},
		"negative position": {offsetBytes([2]uint32{1, 1 << 31}), "entry 0"},
	} {
		x, _ := openFiles(t, c.data, nil)
		for kind, err := range map[string]error{"whole": x.Sanity(), "tail": x.TailSanity()} {
			var corrupt *record.CorruptError
			if (err != nil) != (c.bad != "") || err != nil && (!errors.As(err, &corrupt) || !strings.Contains(err.Error(), c.bad) || corrupt.File != "/1.index") {
				t.Errorf("%s, %s: %v, want %q", name, kind, err, c.bad)
			}
		}
	}
}

// TestR03TimeIndexPaddedWithZeros: an index that ends in zeros, or is out of order, is found, however many zeros there
// are, and Last does not tell a time from 1970.
func TestR03TimeIndexPaddedWithZeros(t *testing.T) {
	var long [][2]int64
	for i := range int64(3000) {
		long = append(long, [2]int64{1700000000000 + i, i})
	}
	for name, c := range map[string]struct {
		data []byte
		bad  bool
	}{
		"good":                     {timeBytes(long...), false},
		"one zero entry":           {append(timeBytes(long...), make([]byte, 12)...), true},
		"zeros fill the warm part": {append(timeBytes(long...), make([]byte, 12*2000)...), true},
		"preallocated, two":        {append(timeBytes(long[:2]...), make([]byte, 12*900)...), true},
		"preallocated, none":       {make([]byte, 12*900), true},
		"one zero entry only":      {make([]byte, 12), false}, // indistinguishable from a record of 1970
		"partial entry":            {timeBytes(long...)[:12*20-5], true},
		"time goes back":           {timeBytes([2]int64{9, 1}, [2]int64{8, 2}), true},
		"time stands still":        {timeBytes([2]int64{9, 1}, [2]int64{9, 2}), true},
		"offset goes back":         {timeBytes([2]int64{8, 2}, [2]int64{9, 1}), true},
		"same offset":              {timeBytes([2]int64{8, 2}, [2]int64{9, 2}), false},
		"negative time":            {timeBytes([2]int64{-8, 2}), true},
	} {
		_, y := openFiles(t, nil, c.data)
		_, _, lastErr := y.Last()
		if got := [3]bool{y.Sanity() != nil, y.TailSanity() != nil, lastErr != nil}; got != [3]bool{c.bad, c.bad, c.bad} {
			t.Errorf("%s: Sanity, TailSanity and Last refuse: %v, want %v", name, got, c.bad)
		}
	}
	broken := timeBytes(long...)
	copy(broken[12*1000:], broken[12*500:12*501])
	_, y := openFiles(t, nil, broken)
	if y.TailSanity() != nil || y.Sanity() == nil {
		t.Errorf("damage in the middle: tail %v, whole %v", y.TailSanity(), y.Sanity())
	}
}

// TestTxnDamage: versions, short tails and entries of another segment.
func TestTxnDamage(t *testing.T) {
	good := AbortedTxn{ProducerID: 1, FirstOffset: 100, LastOffset: 200, LastStableOffset: 201}
	for name, c := range map[string]struct {
		data   []byte
		count  int
		insane bool
		broken bool
	}{
		"short tail":  {append(good.append(nil), 1, 2, 3), 1, false, false},
		"only a tail": {[]byte{0, 0, 1}, 0, false, false},
		"below base":  {AbortedTxn{LastOffset: 99, LastStableOffset: 100}.append(nil), 1, true, false},
		"version 1":   {append([]byte{0, 1}, good.append(nil)[2:]...), 1, true, true},
		"version 256": {append([]byte{1, 0}, good.append(nil)[2:]...), 1, true, true},
	} {
		m := vfs.NewMem()
		writeFile(t, m, "/0.txnindex", c.data)
		x, err := OpenTxn(vfs.NewHandles(m, 2), "/0.txnindex", 100)
		if err != nil {
			t.Fatal(err)
		}
		_, allErr := x.All()
		_, _, collectErr := x.Collect(0, 1000)
		if x.Entries() != c.count || (x.Sanity() != nil) != c.insane || (allErr != nil) != c.broken || (collectErr != nil) != c.broken {
			t.Errorf("%s: %d entries, sanity %v, all %v, collect %v", name, x.Entries(), x.Sanity(), allErr, collectErr)
		}
		if err := errors.Join(x.Reset(), x.Append(good), x.Sanity()); err != nil || x.Entries() != 1 {
			t.Errorf("%s: after reset %v", name, err)
		}
	}
}

func TestMissingFiles(t *testing.T) {
	h := vfs.NewHandles(vfs.NewMem(), 2)
	x, err := OpenOffset(h, "/1.index", 0, 800, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Load(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("load: %v", err)
	}
	if _, _, err := x.Lookup(5); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("lookup: %v", err)
	}
	if x.Entries() != 0 || x.LastOffset() != 0 || x.SizeInBytes() != 0 {
		t.Error("a missing file has entries")
	}
	if err := errors.Join(x.Reset(), x.Append(1, 1)); err != nil {
		t.Fatal(err)
	}
	if off, pos, err := x.Lookup(5); off != 1 || pos != 1 || err != nil {
		t.Errorf("after reset: (%d, %d) %v", off, pos, err)
	}
}

func TestOverlongFile(t *testing.T) {
	path := t.TempDir() + "/0.index"
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, maxFile+1); err != nil { // sparse
		t.Fatal(err)
	}
	x, err := OpenOffset(vfs.NewHandles(vfs.NewOS(), 2), path, 0, 800, false)
	if err != nil {
		t.Fatal(err)
	}
	var corrupt *record.CorruptError
	if err := x.Load(); !errors.As(err, &corrupt) {
		t.Errorf("load: %v", err)
	}
}

// FuzzLookup opens arbitrary bytes: no lookup may panic, or give a negative position or an offset below the base (IDX-5);
// and I-12: in a file that passes Sanity every answer is an entry of it.
func FuzzLookup(f *testing.F) {
	f.Add(offsetBytes([2]uint32{1, 10}, [2]uint32{5, 20}), int64(3))
	f.Add(timeBytes([2]int64{1, 1}, [2]int64{1700000000000, 5}), int64(1700000000000))
	f.Add(fromKafka(f, "rolled.index"), int64(1300))
	f.Add(fromKafka(f, "rolled.timeindex"), int64(1700000000000))
	f.Add(make([]byte, 20000), int64(1000))
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 30000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	f.Add(noise, int64(1<<30))
	f.Fuzz(func(t *testing.T, data []byte, key int64) {
		x, y := openFiles(t, data, data)
		entries := map[[2]int64]bool{{1000, 0}: true}
		for i := range x.Entries() {
			if off, pos, err := x.Entry(i); err == nil {
				entries[[2]int64{int64(off), int64(pos)}] = true
			}
		}
		sane := x.Sanity() == nil
		for _, target := range []record.Offset{record.Offset(key), 1000 + record.Offset(uint32(key)), 0, 1 << 62} {
			off, pos, err := x.Lookup(target)
			if err == nil && (off < 1000 || pos < 0 || sane && !entries[[2]int64{int64(off), int64(pos)}]) {
				t.Errorf("lookup %d: (%d, %d)", target, off, pos)
			}
			_, _, _ = x.UpperBound(Position(key&0x7fffffff), int(target))
		}
		if ts, off, err := y.Lookup(key); err == nil && (off < 1000 || ts < -1) {
			t.Errorf("lookup time %d: (%d, %d)", key, ts, off)
		}
		_, _, _ = y.Last()
		_ = y.Sanity()
		_ = x.Truncate(record.Offset(key))
		_ = y.Truncate(1000 + record.Offset(uint16(key)))
	})
}
