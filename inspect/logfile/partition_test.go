package logfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/samsalog/samsa/inspect/internal/testdir"
	"github.com/samsalog/samsa/vfs"
)

func TestList(t *testing.T) {
	fsys := vfs.NewMem()
	for _, name := range []string{"00000000000000000100.log", "00000000000000000000.log", "00000000000000000000.index", "00000000000000000000.timeindex", "00000000000000000000.txnindex",
		"00000000000000000007.index", "00000000000000000007.timeindex", "00000000000000000100.snapshot", "00000000000000000020.snapshot", "x.snapshot",
		"00000000000000000000-0000000000.checkpoint", "leader-epoch-checkpoint", "partition.metadata", "quorum-state",
		"00000000000000000000.log.deleted", "00000000000000000000.log.cleaned", "00000000000000000000.log.swap", "leader-epoch-checkpoint.tmp", "y.part", "notes.txt", "dir/file"} {
		testdir.Put(t, fsys, "/t-0/"+name, []byte(name))
	}
	p, err := List(fsys, "/t-0")
	if err != nil {
		t.Fatal(err)
	}
	segments := []Segment{{Base: 0, Log: 24, Index: 26, Time: 30, Txn: 29}, {Base: 100, Log: 24, Index: -1, Time: -1, Txn: -1}}
	if !slices.Equal(p.Segments, segments) {
		t.Errorf("segments %+v", p.Segments)
	}
	if got := fmt.Sprint(p.Snapshots); got != "[{20 00000000000000000020.snapshot} {100 00000000000000000100.snapshot}]" {
		t.Errorf("snapshots %s", got)
	}
	for what, c := range map[string]struct{ got, want []string }{
		"orphans":     {p.Orphans, []string{"00000000000000000007.index", "00000000000000000007.timeindex"}},
		"checkpoints": {p.Checkpoints, []string{"00000000000000000000-0000000000.checkpoint"}},
		"leftovers":   {p.Leftovers, []string{"00000000000000000000.log.cleaned", "00000000000000000000.log.deleted", "00000000000000000000.log.swap", "leader-epoch-checkpoint.tmp", "y.part"}},
		"unknown":     {p.Unknown, []string{"dir", "notes.txt", "x.snapshot"}},
	} {
		if slices.Sort(c.got); !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v", what, c.got)
		}
	}
	if !p.LeaderEpochs || !p.Metadata || !p.Quorum {
		t.Errorf("%+v", p)
	}
	if got := p.Path(42, ".log"); got != "/t-0/00000000000000000042.log" {
		t.Error(got)
	}
	if got := p.Path(1<<62, ".log"); got != "/t-0/04611686018427387904.log" {
		t.Error(got)
	}
	if _, err := List(fsys, "/none"); err == nil {
		t.Error("a directory that is not there was listed")
	}
}

func TestEntries(t *testing.T) {
	const n = 10000 // more than a piece
	var index []byte
	for i := range n {
		index = binary.BigEndian.AppendUint32(index, uint32(i))
		index = binary.BigEndian.AppendUint32(index, uint32(100*i))
	}
	f := open(t, append(index, 1, 2, 3))
	next := 0
	err := Entries(f, f.SizeInBytes, OffsetEntrySize, func(i int, raw []byte) (bool, error) {
		if e := ParseOffsetEntry(1000, raw); i != next || e.Offset != int64(1000+i) || e.Position != int32(100*i) {
			t.Fatalf("entry %d: %+v", i, e)
		}
		next++
		return true, nil
	})
	if err != nil || next != n {
		t.Errorf("%d entries, %v", next, err)
	}
	stop, seen := errors.New("stop"), 0
	if err := Entries(f, f.SizeInBytes, OffsetEntrySize, func(int, []byte) (bool, error) { seen++; return seen < 5, nil }); err != nil || seen != 5 {
		t.Errorf("%d entries, %v", seen, err)
	}
	if err := Entries(f, f.SizeInBytes, OffsetEntrySize, func(int, []byte) (bool, error) { return true, stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	if err := Entries(f, f.SizeInBytes+800, OffsetEntrySize, func(int, []byte) (bool, error) { return true, nil }); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("shorter than it was: %v", err)
	}
	if err := Entries(open(t, nil), 0, TimeEntrySize, func(int, []byte) (bool, error) { t.Error("an entry of nothing"); return true, nil }); err != nil {
		t.Error(err)
	}
}

func TestParseEntries(t *testing.T) {
	raw := binary.BigEndian.AppendUint64(nil, 1700000000000)
	raw = binary.BigEndian.AppendUint32(raw, 7)
	if e := ParseTimeEntry(100, raw); e != (TimeEntry{Timestamp: 1700000000000, Offset: 107}) {
		t.Errorf("%+v", e)
	}
	raw = binary.BigEndian.AppendUint16(nil, 0)
	for _, v := range []uint64{9, 10, 20, 10} {
		raw = binary.BigEndian.AppendUint64(raw, v)
	}
	if e := ParseAbortedEntry(raw); e.Version != 0 || e.ProducerID != 9 || e.FirstOffset != 10 || e.LastOffset != 20 || e.LastStableOffset != 10 || len(raw) != TxnEntrySize {
		t.Errorf("%+v", e)
	}
}

func TestOpenMissing(t *testing.T) {
	if _, err := Open(vfs.NewMem(), "/none.log"); err == nil || !strings.Contains(err.Error(), "none.log") {
		t.Error(err)
	}
}
