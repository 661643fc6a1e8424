package verify

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/samsalog/samsa/inspect/internal/testdir"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// planted is damage and what must be said of it, no more and no less: "severity rule file position offsets", without the last
// two where the finding is about a whole file.
type planted struct {
	name   string
	damage func(t *testing.T, fsys *vfs.Mem)
	want   []string
}

// of is a finding as planted names it.
func of(f Finding) string {
	s := fmt.Sprintf("%v %s %s", f.Severity, f.Rule, strings.TrimPrefix(f.File, "/data/"))
	if f.Position >= 0 {
		s += fmt.Sprintf(" @%d+%d", f.Position, f.Length)
	}
	if f.FirstOffset >= 0 {
		s += fmt.Sprintf(" %d-%d", f.FirstOffset, f.LastOffset)
	}
	return s
}

const first, second, third = "made-0/00000000000000000000.log", "made-0/00000000000000000040.log", "made-0/00000000000000000080.log"

// directory is what Apache Kafka left after an orderly stop, with made-0: three segments of 20 batches.
func directory(t *testing.T) (*vfs.Mem, []int) {
	t.Helper()
	fsys := testdir.Unpack(t, "../testdata/kafka-4.4.0-directory.tar.gz", "/data")
	var at []int
	for i, path := range []string{first, second, third} {
		var b []byte
		b, at = log(i*40, 20)
		testdir.Put(t, fsys, "/data/"+path, b)
		stem := "/data/" + strings.TrimSuffix(path, ".log")
		index := binary.BigEndian.AppendUint32(nil, 9) // the fifth batch
		testdir.Put(t, fsys, stem+".index", binary.BigEndian.AppendUint32(index, uint32(at[4])))
		times := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, 1004), 9)
		testdir.Put(t, fsys, stem+".timeindex", binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(times, 1019), 39))
	}
	testdir.Put(t, fsys, "/data/made-0/leader-epoch-checkpoint", []byte("0\n1\n3 0\n"))
	testdir.Put(t, fsys, "/data/made-0/partition.metadata", []byte("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAJQ"))
	return fsys, at
}

// edit changes a file below /data.
func edit(path string, change func(b []byte) []byte) func(t *testing.T, fsys *vfs.Mem) {
	return func(t *testing.T, fsys *vfs.Mem) { testdir.Edit(t, fsys, "/data/"+path, change) }
}

// write makes a file below /data.
func write(path, content string) func(t *testing.T, fsys *vfs.Mem) {
	return func(t *testing.T, fsys *vfs.Mem) { testdir.Put(t, fsys, "/data/"+path, []byte(content)) }
}

// lose removes a file below /data.
func lose(path string) func(t *testing.T, fsys *vfs.Mem) {
	return func(t *testing.T, fsys *vfs.Mem) {
		if err := fsys.Remove("/data/" + path); err != nil {
			t.Fatal(err)
		}
	}
}

func cut(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:n] } }

// patch sets bytes.
func patch(at int, v ...byte) func([]byte) []byte {
	return func(b []byte) []byte { copy(b[at:], v); return b }
}

// stamped rewrites a batch's header with a right checksum.
func stamped(at []int, i int, change func(h record.Batch)) func([]byte) []byte {
	return func(b []byte) []byte {
		one := record.Batch(b[at[i]:at[i+1]])
		change(one)
		binary.BigEndian.PutUint32(one[17:], one.ComputeCRC())
		return b
	}
}

func rules(at []int) []planted {
	size := at[1]
	end := at[19] + size
	span := func(i int) string { return fmt.Sprintf("@%d+%d", at[i], size) }
	txn, open := "txn-0/00000000000000000000.txnindex", "txn-0/00000000000000000271.snapshot"
	return []planted{
		{"nothing", func(*testing.T, *vfs.Mem) {}, nil},
		{"a record", edit(first, testdir.Flip(at[7]+80)), []string{"error batch-checksum " + first + " " + span(7) + " 14-15"}},
		{"the checksum", edit(first, testdir.Flip(at[7]+17)), []string{"error batch-checksum " + first + " " + span(7) + " 14-15"}},
		{"two batches in a row", func(t *testing.T, fsys *vfs.Mem) {
			edit(first, testdir.Flip(at[7]+80))(t, fsys)
			edit(first, testdir.Flip(at[8]+80))(t, fsys)
		}, []string{"error batch-checksum " + first + " " + span(7), "error batch-checksum " + first + " " + span(8) + " 14-17"}},
		{"a length", edit(second, patch(at[3]+8, 0x3f)), []string{"error batch-structure " + second + " " + span(3) + " 46-47"}},
		{"a newer format", edit(second, patch(at[3]+16, 9)), []string{fmt.Sprintf("error batch-structure %s @%d+1 46-47", second, at[3]+16)}},
		{"more records than offsets", edit(second, stamped(at, 3, func(b record.Batch) { b[60] = 9 })), []string{"error batch-structure " + second + " " + span(3) + " 46-47"}},
		{"a base offset", edit(first, patch(at[5]+7, 99)), []string{fmt.Sprintf("error batch-order %s @%d+8 10-11", first, at[5])}},
		{"a batch twice", edit(first, func(b []byte) []byte { return slices.Insert(b, at[6], b[at[5]:at[6]]...) }), []string{"error batch-order " + first + " " + span(6)}},
		{"a leader epoch", edit(second, patch(at[3]+12, 0, 0, 0, 1)), []string{fmt.Sprintf("error batch-epoch %s @%d+4 46-47", second, at[3]+12)}},
		{"a batch is gone", edit(third, func(b []byte) []byte { return slices.Delete(b, at[9], at[10]) }), []string{fmt.Sprintf("error offset-gap %s @%d+0 98-99", third, at[9])}},
		{"the first batch is gone", edit(third, func(b []byte) []byte { return slices.Delete(b, 0, at[1]) }), []string{"error offset-gap " + third + " @0+0 80-81", "error index-entry " + index(third) + " @0+8"}},
		{"a segment is gone", func(t *testing.T, fsys *vfs.Mem) {
			for _, suffix := range []string{".log", ".index", ".timeindex"} {
				lose(strings.TrimSuffix(second, ".log")+suffix)(t, fsys)
			}
		}, []string{"error offset-gap " + third + " @0+0 40-79"}},
		{"all segments are gone", func(t *testing.T, fsys *vfs.Mem) {
			for _, path := range []string{first, second, third} {
				for _, suffix := range []string{".log", ".index", ".timeindex"} {
					lose(strings.TrimSuffix(path, ".log")+suffix)(t, fsys)
				}
			}
		}, []string{"error offset-gap made-0"}},
		{"a torn tail", edit(third, cut(end-9)), []string{fmt.Sprintf("error log-tail %s @%d+%d", third, at[19], size-9), "note time-entry " + times(third) + " @12+12"}},
		{"zeros at the end", edit(third, func(b []byte) []byte { return append(b, make([]byte, 50)...) }), []string{fmt.Sprintf("error log-tail %s @%d+50", third, end)}},
		{"no index", lose(index(first)), []string{"warning index-missing " + index(first)}},
		{"no time index", lose(times(first)), []string{"error index-missing " + times(first)}},
		{"half an index entry", edit(index(first), cut(5)), []string{"error index-length " + index(first) + " @0+5"}},
		{"half a time entry", edit(times(first), cut(20)), []string{"error index-length " + times(first) + " @12+8"}},
		{"an index in zeros", edit(index(first), func(b []byte) []byte { return append(b, make([]byte, 80)...) }), []string{"error index-padding " + index(first) + " @8+80"}},
		{"an index entry of zeros before others", edit(index(first), func(b []byte) []byte { return append(make([]byte, 8), b...) }), []string{"error index-entry " + index(first) + " @0+16"}},
		{"an index that points inside of a batch", edit(index(first), patch(7, byte(at[4]+1))), []string{"error index-entry " + index(first) + " @0+8"}},
		{"an index with a wrong offset", edit(index(first), patch(3, 10)), []string{"error index-entry " + index(first) + " @0+8"}},
		{"a time entry that lies", edit(times(first), patch(7, 0)), []string{"error time-entry " + times(first) + " @0+12"}},
		{"no last time entry", edit(times(first), cut(12)), []string{"error time-largest " + times(first)}},
		{"a wrong aborted transaction", edit(txn, testdir.Flip(5)), []string{"error txn-entry " + txn + " @0+34"}},
		{"a missing aborted transaction", edit(txn, func(b []byte) []byte { return b[34:] }), []string{"error txn-missing " + txn + " @0+34"}},
		{"a newer version of a transaction index", edit(txn, patch(0, 0, 7)), []string{"error txn-entry " + txn + " @0+34"}},
		{"a snapshot's checksum", edit(open, testdir.Flip(3)), []string{"warning snapshot-format " + open}},
		{"a snapshot behind the end", func(t *testing.T, fsys *vfs.Mem) {
			testdir.Put(t, fsys, "/data/txn-0/00000000000000000900.snapshot", testdir.Get(t, fsys, "/data/"+open))
		}, []string{"warning snapshot-state txn-0/00000000000000000900.snapshot"}},
		{"a snapshot of another place", func(t *testing.T, fsys *vfs.Mem) {
			testdir.Put(t, fsys, "/data/txn-0/00000000000000000200.snapshot", testdir.Get(t, fsys, "/data/"+open))
		}, []string{"error snapshot-state txn-0/00000000000000000200.snapshot"}},
		{"no leader epochs", write("made-0/leader-epoch-checkpoint", "0\n0\n"), []string{"error epoch-history made-0/leader-epoch-checkpoint"}},
		{"leader epochs that fall", write("made-0/leader-epoch-checkpoint", "0\n2\n3 0\n2 10\n"), []string{"error epoch-file made-0/leader-epoch-checkpoint"}},
		{"leader epochs that are none", write("made-0/leader-epoch-checkpoint", "0\n1\nx 0\n"), []string{"error epoch-file made-0/leader-epoch-checkpoint"}},
		{"no topic id", lose("made-0/partition.metadata"), []string{"error partition-metadata made-0/partition.metadata"}},
		{"a topic id that is none", write("made-0/partition.metadata", "version: 0\ntopic_id: x"), []string{"error partition-metadata made-0/partition.metadata"}},
		{"a checkpoint that is none", write("replication-offset-checkpoint", "0\n2\nmade 0 3\n"), []string{"error checkpoint-format replication-offset-checkpoint"}},
		{"a negative offset", write("log-start-offset-checkpoint", "0\n1\nmade 0 -3\n"), []string{"error checkpoint-range log-start-offset-checkpoint"}},
		{"a high watermark behind the end", write("replication-offset-checkpoint", "0\n1\nmade 0 125\n"), []string{"error checkpoint-range " + third + " 120-124"}},
		{"a recovery point behind the end", write("recovery-point-offset-checkpoint", "0\n1\nmade 0 125\n"), []string{"error checkpoint-range " + third + " 120-124"}},
		{"a log start behind the end", write("log-start-offset-checkpoint", "0\n1\nmade 0 200\n"), []string{"error checkpoint-range " + third}},
		{"no meta.properties", lose("meta.properties"), []string{"error meta-properties meta.properties"}},
		{"meta.properties that says nothing", write("meta.properties", "#\n#Sun Nov 29 23:38:27 UTC 2026\nnode.id=1\n"), []string{"error meta-properties meta.properties"}},
		{"meta.properties that makes no sense", write("meta.properties", "version=9\n"), []string{"error meta-properties meta.properties"}},
		{"a directory that is none", write("backup/file", ""), []string{"error directory-name backup"}},
		{"leftovers", func(t *testing.T, fsys *vfs.Mem) {
			write(first+".deleted", "x")(t, fsys)
			write("recovery-point-offset-checkpoint.tmp", "x")(t, fsys)
			write("gone-0.0123456789abcdef0123456789abcdef-delete/00000000000000000000.log", "x")(t, fsys)
		}, []string{"note leftover gone-0.0123456789abcdef0123456789abcdef-delete", "note log-tail gone-0.0123456789abcdef0123456789abcdef-delete/00000000000000000000.log @0+1", "note leftover " + first + ".deleted", "note leftover recovery-point-offset-checkpoint.tmp"}},
		{"an index without its log", write("made-0/00000000000000000020.index", "12345678"), []string{"warning orphan made-0/00000000000000000020.index"}},
		{"a file of somebody's", write("made-0/notes.txt", "x"), []string{"note unknown-file made-0/notes.txt"}},
		{"a stray", func(t *testing.T, fsys *vfs.Mem) {
			if err := fsys.Rename("/data/made-0", "/data/made-0.0123456789abcdef0123456789abcdef-stray"); err != nil {
				t.Fatal(err)
			}
		}, []string{"note stray-partition made-0.0123456789abcdef0123456789abcdef-stray"}},
	}
}

func index(log string) string { return strings.TrimSuffix(log, ".log") + ".index" }
func times(log string) string { return strings.TrimSuffix(log, ".log") + ".timeindex" }

// Each rule with damage of its kind, and with nothing said beside it.
func TestRules(t *testing.T) {
	base, at := directory(t)
	seen := map[Rule]bool{}
	for _, c := range rules(at) {
		t.Run(c.name, func(t *testing.T) {
			fsys := base.Crash()
			c.damage(t, fsys)
			_, all := run(t, fsys, "/data", func(o *Options) { o.Notes = true })
			var got []string
			for _, f := range all {
				got = append(got, of(f))
				seen[f.Rule] = true
				if f.What == "" || f.Means == "" || !strings.HasPrefix(f.String(), f.Severity.String()+": "+f.File) {
					t.Errorf("%+v", f)
				}
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
	for _, r := range []Rule{BatchChecksum, BatchStructure, BatchOrder, BatchEpoch, OffsetGap, LogTail, IndexMissing, IndexLength, IndexPadding, IndexEntry, TimeEntryRule, TimeLargest, TxnEntry, TxnMissing,
		SnapshotFormat, SnapshotState, EpochFile, EpochHistory, PartitionMeta, CheckpointFile, CheckpointRange, MetaProperties, DirectoryName, Leftover, Orphan, UnknownFile, StrayPartition} {
		if !seen[r] {
			t.Errorf("no damage for rule %s", r) // those of the metadata log and unreadable files have tests of their own
		}
	}
}

// One file, one partition or the whole directory: the same is said of the same bytes.
func TestPartOfDirectory(t *testing.T) {
	fsys, at := directory(t)
	edit(first, testdir.Flip(at[7]+80))(t, fsys)
	edit(index(second), cut(5))(t, fsys)
	for path, want := range map[string]int{"/data": 2, "/data/made-0": 2, "/data/" + first: 1, "/data/" + index(second): 1, "/data/" + third: 0, "/data/txn-0": 0} {
		if _, all := run(t, fsys, path, nil); len(all) != want {
			t.Errorf("%s: %v", path, all)
		}
	}
}

// What cannot be read is told, and the rest is looked at.
func TestUnreadablePartition(t *testing.T) {
	base, _ := directory(t)
	fsys := vfs.NewFault(base, func(o vfs.Op) error {
		if o.Kind == vfs.OpRead && o.Path == "/data/"+second {
			return errors.New("input/output error")
		}
		return nil
	})
	sum, all := run(t, fsys, "/data", nil)
	if len(all) != 1 || all[0].Rule != Unreadable || all[0].File != "/data/made-0" || !strings.Contains(all[0].What, "input/output error") || sum.Partitions < 10 {
		t.Errorf("%v, %+v", all, sum)
	}
}

// The rules that only the metadata log has.
func TestMetadataRules(t *testing.T) {
	const dir, newest = "/data/__cluster_metadata-0/", "__cluster_metadata-0/00000000000000000356-0000000002.checkpoint"
	base, _ := directory(t)
	for path, b := range testdir.Tree(t, testdir.Unpack(t, "../testdata/kafka-4.4.0-clean.tar.gz", ""), "__cluster_metadata-0") {
		testdir.Put(t, base, "/data/"+path, []byte(b))
	}
	testdir.Put(t, base, dir+"quorum-state", []byte(`{"leaderId":1,"leaderEpoch":2,"votedId":-1,"data_version":1}`))
	testdir.Put(t, base, dir+"leader-epoch-checkpoint", []byte("0\n2\n1 0\n2 164\n"))
	testdir.Put(t, base, dir+"partition.metadata", []byte("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"))
	testdir.Complete(t, base, "/data")
	for name, c := range map[string]struct {
		damage func(t *testing.T, fsys *vfs.Mem)
		want   string
	}{
		"nothing":               {func(*testing.T, *vfs.Mem) {}, "[]"},
		"a snapshot's record":   {edit(newest, testdir.Flip(700)), "[error metadata-snapshot " + newest + " @"},
		"no footer":             {edit(newest, func(b []byte) []byte { return b[:len(b)-20] }), "[error metadata-snapshot " + newest + " @"},
		"a snapshot of nothing": {edit(newest, cut(0)), "[error metadata-snapshot " + newest + " @0+0]"},
		"half a quorum-state":   {edit("__cluster_metadata-0/quorum-state", cut(20)), "[error quorum-state __cluster_metadata-0/quorum-state]"},
		"a newer quorum-state":  {write("__cluster_metadata-0/quorum-state", `{"leaderEpoch":2,"data_version":7}`), "[error quorum-state __cluster_metadata-0/quorum-state]"},
	} {
		fsys := base.Crash()
		c.damage(t, fsys)
		got := []string{}
		_, all := run(t, fsys, "/data", nil)
		for _, f := range all {
			got = append(got, of(f))
		}
		if !strings.HasPrefix(fmt.Sprint(got), c.want) || len(got) > 1 {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}
