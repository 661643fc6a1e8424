package producer

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// golden are snapshots that Apache Kafka 4.4's dump tool reads as these entries.
var golden = []struct {
	hex     string
	entries []Entry
}{
	{"000148674bc700000000", []Entry{}},
	{"00019af88f080000000100000000000003e800020000001f0000000000000028000000040000018bcfe5680000000009ffffffffffffffff",
		[]Entry{{ProducerID: 1000, ProducerEpoch: 2, LastSequence: 31, LastOffset: 40, OffsetDelta: 4, LastTimestamp: 1700000000000,
			CoordinatorEpoch: 9, CurrentTxnFirstOffset: -1}}},
}

func TestSnapshotGolden(t *testing.T) {
	for _, g := range golden {
		b, _ := hex.DecodeString(g.hex)
		if got := EncodeSnapshot(g.entries); hex.EncodeToString(got) != g.hex {
			t.Errorf("encoded %x, want %s", got, g.hex)
		}
		if got, err := DecodeSnapshot(b); err != nil || !slices.Equal(got, g.entries) {
			t.Errorf("decoded %+v, %v", got, err)
		}
		for i := range b {
			bad := slices.Clone(b)
			bad[i] ^= 0x10
			if _, err := DecodeSnapshot(bad); !errors.Is(err, record.ErrCorruptBatch) {
				t.Errorf("a flipped bit in byte %d: %v", i, err)
			}
			if _, err := DecodeSnapshot(b[:i]); !errors.Is(err, record.ErrCorruptBatch) {
				t.Errorf("%d bytes: %v", i, err)
			}
		}
		if _, err := DecodeSnapshot(append(slices.Clone(b), 0)); !errors.Is(err, record.ErrCorruptBatch) {
			t.Errorf("a byte more: %v", err)
		}
	}
}

func FuzzDecodeSnapshot(f *testing.F) {
	for _, g := range golden {
		b, _ := hex.DecodeString(g.hex)
		f.Add(b)
	}
	for _, name := range []string{"txn", "compacted"} { // of Apache Kafka 4.4.0
		b, err := os.ReadFile("testdata/" + name + ".snapshot")
		if err != nil {
			f.Fatal(err)
		}
		if entries, err := DecodeSnapshot(b); err != nil || name == "txn" && len(entries) == 0 {
			f.Fatal(name, entries, err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := DecodeSnapshot(b)
		if err != nil {
			if !errors.Is(err, record.ErrCorruptBatch) {
				t.Error(err)
			}
			return
		}
		if got := EncodeSnapshot(entries); !slices.Equal(got, b) {
			t.Errorf("%x became %x", b, got)
		}
	})
}

func TestSnapshotFiles(t *testing.T) {
	mem := vfs.NewMem()
	if err := mem.MkdirAll("/d", 0o755); err != nil {
		t.Fatal(err)
	}
	entry := func(id record.ProducerID) []Entry { return []Entry{{ProducerID: id, LastTimestamp: 1}} }
	open := func() *Snapshots {
		list, err := mem.ReadDir("/d")
		if err != nil {
			t.Fatal(err)
		}
		return OpenSnapshots(mem, "/d", list)
	}
	s := open()
	for _, o := range []record.Offset{10, 20, 25, 30, 31, 33} {
		if err := s.Write(o, EncodeSnapshot(entry(record.ProducerID(o)))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Write(30, []byte("garbage that is longer than before, and then shorter")); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(30, []byte("garbage")); err != nil {
		t.Fatal(err)
	}
	s = open()
	if got := fmt.Sprint(s.Offsets()); got != "[10 20 25 30 31 33]" || !s.Has(25) || s.Has(24) {
		t.Error(got)
	}
	// Only the bases, and the largest of the others, stay.
	if err := s.RemoveStray([]record.Offset{0, 10, 20, 30}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.Offsets()); got != "[10 20 30 33]" {
		t.Error(got)
	}
	var bad []string
	entries, at, ok, err := s.LoadNewest(32, func(path string, err error) { bad = append(bad, path) })
	if !ok || err != nil || at != 20 || len(entries) != 1 || entries[0].ProducerID != 20 || fmt.Sprint(bad) != "[/d/00000000000000000030.snapshot]" {
		t.Errorf("%+v at %d, %v, %v; bad %v (PROD-4)", entries, at, ok, err, bad)
	}
	if path, err := s.MarkDeleted(20); path != "/d/00000000000000000020.snapshot.deleted" || err != nil {
		t.Error(path, err)
	}
	if path, err := s.MarkDeleted(20); path != "" || err != nil {
		t.Error(path, err)
	}
	if err := s.RemoveIf(func(o record.Offset) bool { return o > 30 }); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(open().Offsets()); got != "[10]" {
		t.Error(got)
	}
	if _, _, ok, err := s.LoadNewest(9, nil); ok || err != nil {
		t.Error(ok, err)
	}
}
