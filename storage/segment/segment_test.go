package segment

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"sync/atomic"
	"testing"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNames(t *testing.T) {
	if got := FileName(42, TimeIndexSuffix); got != "00000000000000000042.timeindex" {
		t.Error(got)
	}
	for name, want := range map[string]Name{
		"00000000000000000042.log":               {42, LogSuffix, ""},
		"42.index":                               {42, OffsetIndexSuffix, ""},
		"00000000000000000042.timeindex.deleted": {42, TimeIndexSuffix, DeletedSuffix},
		"00000000000000000042.txnindex.swap":     {42, TxnIndexSuffix, SwapSuffix},
		"00000000000000000042.log.cleaned":       {42, LogSuffix, CleanedSuffix},
		"00000000000000000042.index.tmp":         {42, OffsetIndexSuffix, TmpSuffix},
	} {
		if got, ok := ParseName(name); !ok || got != want {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
	for _, name := range []string{"", "log", "x.log", "-1.log", "42.snapshot", "42", "42.log.old", "42.log.deleted.deleted", "99999999999999999999.log",
		"00000000000000000000-0000000000.checkpoint", "partition.metadata"} {
		if got, ok := ParseName(name); ok {
			t.Errorf("%s was taken for %+v", name, got)
		}
	}
}

// interval is the index interval of the segments here: about two batches.
const interval = 150

func options(fsys vfs.FS) Options {
	return Options{FS: fsys, Handles: vfs.NewHandles(fsys, 16), Dir: "/", Base: 100, IndexBytes: 4096, IndexInterval: interval}
}

// batch has one record at offset o.
func batch(o record.Offset, ts int64) record.Batch {
	b := record.NewBuilder(record.DefaultBuilderOptions())
	b.Append(ts, nil, []byte("a value"), nil)
	out := b.Build()
	out.SetBaseOffset(o)
	return out
}

// filled is a segment with one batch per offset in offsets, all of the same size.
func filled(t *testing.T, fsys vfs.FS, offsets ...record.Offset) (*Segment, int64) {
	t.Helper()
	s, err := Create(options(fsys))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range offsets {
		if err := s.Append(batch(o, 1000+int64(o)), interval); err != nil {
			t.Fatal(err)
		}
	}
	return s, s.Size() / int64(len(offsets))
}

func TestFindAndBoundary(t *testing.T) {
	offsets := []record.Offset{100, 101, 105, 106, 107, 110, 120, 121, 122, 123}
	s, size := filled(t, vfs.NewMem(), offsets...)
	defer s.Close()
	for target := record.Offset(99); target < 125; target++ {
		loc, ok, err := s.Find(target, s.Size())
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		for i < len(offsets) && offsets[i] < target {
			i++
		}
		if ok != (i < len(offsets)) || ok && (loc.Header.BaseOffset != offsets[i] || loc.Position != int64(i)*size) {
			t.Errorf("find %d: %+v, %v", target, loc, ok)
		}
		// Nothing at or behind the end that is given is found.
		if _, ok, _ := s.Find(target, 3*size); ok != (target <= 105) {
			t.Errorf("find %d in three batches: %v", target, ok)
		}
	}
	for from := int64(0); from <= s.Size(); from += size {
		for to := from; to <= s.Size(); to++ {
			if got, err := s.Boundary(from, to); err != nil || got != to/size*size {
				t.Fatalf("boundary in %d … %d: %d, %v", from, to, got, err)
			}
		}
	}
	if next, end, err := s.NextOffset(); next != 124 || end != s.Size() || err != nil {
		t.Error(next, end, err)
	}
}

// TestOldIndexEntries: releases before 4.4 indexed the last offset of a chunk at the position of its first batch.
func TestOldIndexEntries(t *testing.T) {
	mem := vfs.NewMem()
	s, size := filled(t, mem, 100, 101, 102, 103, 104, 105, 106, 107)
	if err := errors.Join(s.Seal(), s.Close()); err != nil {
		t.Fatal(err)
	}
	var old []byte
	for _, e := range [][2]int64{{3, 2 * size}, {7, 4 * size}} { // chunks 102-103 and 104-107
		old = binary.BigEndian.AppendUint32(old, uint32(e[0]))
		old = binary.BigEndian.AppendUint32(old, uint32(e[1]))
	}
	overwrite(t, mem, "/00000000000000000100.index", old)
	rebuilt := false
	o := options(mem)
	o.Rebuilt = func(string, error) { rebuilt = true }
	s, err := Open(o, 8*size)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range int64(8) {
		if loc, ok, err := s.Find(100+record.Offset(i), s.Size()); !ok || err != nil || loc.Position != i*size {
			t.Errorf("find %d: %+v, %v, %v", 100+i, loc, ok, err)
		}
	}
	if next, _, err := s.NextOffset(); next != 108 || err != nil || rebuilt {
		t.Error(next, err, rebuilt)
	}
}

// TestWrongIndexIsHealed: whatever stands in a sealed index, lookups are right, and the index afterwards.
func TestWrongIndexIsHealed(t *testing.T) {
	entry := func(rel, pos uint32) []byte {
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, rel), pos)
	}
	for name, data := range map[string][]byte{
		"position behind the end":   entry(0, 5000),
		"position inside a batch":   entry(0, 17),
		"position of a later batch": entry(0, 75*4),
		"negative":                  entry(0, math.MaxUint32),
		"garbage":                   append(entry(1, 0x67617262), "garbage!"...),
	} {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewMem()
			s, size := filled(t, mem, 100, 101, 102, 103, 104, 105, 106, 107)
			if size != 75 {
				t.Fatalf("batches have %d bytes", size)
			}
			if err := errors.Join(s.Seal(), s.Close()); err != nil {
				t.Fatal(err)
			}
			overwrite(t, mem, "/00000000000000000100.index", data)
			var cause error
			o := options(mem)
			o.Rebuilt = func(_ string, err error) { cause = err }
			s, err := Open(o, 8*size)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for i := range int64(8) {
				if loc, ok, err := s.Find(100+record.Offset(i), s.Size()); !ok || err != nil || loc.Position != i*size {
					t.Errorf("find %d: %+v, %v, %v", 100+i, loc, ok, err)
				}
			}
			if cause == nil {
				t.Error("nobody was told")
			}
			if err := s.IndexSanity(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCorruptLogIsNotHealed: where the log itself is broken the index is not to blame.
func TestCorruptLogIsNotHealed(t *testing.T) {
	mem := vfs.NewMem()
	s, size := filled(t, mem, 100, 101, 102, 103, 104, 105, 106, 107)
	defer s.Close()
	if err := s.Seal(); err != nil {
		t.Fatal(err)
	}
	f, err := mem.OpenFile("/00000000000000000100.log", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, 20), size); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	var c *record.CorruptError
	if _, _, err := s.Find(101, s.Size()); !errors.As(err, &c) || c.Position != size || c.File == "" {
		t.Errorf("%v", err)
	}
	if loc, ok, err := s.Find(107, s.Size()); !ok || err != nil || loc.Position != 7*size {
		t.Errorf("behind the damage: %+v, %v, %v", loc, ok, err)
	}
}

// TestLimits: neither positions nor relative offsets overflow.
func TestLimits(t *testing.T) {
	s, err := Create(options(vfs.NewMem()))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for o, want := range map[record.Offset]bool{99: false, 100: true, 100 + math.MaxInt32: true, 101 + math.MaxInt32: false} {
		if s.Fits(o) != want {
			t.Errorf("%d fits: %v", o, !want)
		}
	}
	s.size.Store(MaxSize - 10)
	if err := s.Append(batch(100, 1), interval); err == nil {
		t.Error("a segment grew beyond 2^31-1 bytes")
	}
	if _, err := Open(options(vfs.NewMem()), MaxSize+1); err == nil {
		t.Error("a file of 2^31 bytes was opened")
	}
}

func overwrite(t *testing.T, fsys vfs.FS, name string, data []byte) {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(data, 0)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestSyncBesideAWrite: a write that began before an fsync and ended after it is not covered by it, so that the next one
// has something to do.
func TestSyncBesideAWrite(t *testing.T) {
	mem := vfs.NewMem()
	begun, release := make(chan struct{}), make(chan struct{})
	var armed atomic.Bool
	fsys := vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite && armed.CompareAndSwap(true, false) {
			close(begun)
			<-release
		}
		return nil
	})
	s, _ := filled(t, fsys, 100, 101)
	defer s.Close()
	if err := errors.Join(s.Sync(), mem.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	armed.Store(true)
	appended := make(chan error)
	go func() { appended <- s.Append(batch(102, 1102), interval) }()
	<-begun
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	close(release)
	if err := <-appended; err != nil {
		t.Fatal(err)
	}
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	info, err := mem.Crash().Stat(s.Path())
	if err != nil || info.Size() != s.Size() {
		t.Errorf("%v, %v of %d bytes survived a power failure", err, info, s.Size())
	}
}
