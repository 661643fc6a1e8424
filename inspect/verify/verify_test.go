package verify

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/samsalog/samsa/inspect/internal/testdir"
	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

func run(t *testing.T, fsys vfs.FS, path string, change func(*Options)) (Summary, []Finding) {
	t.Helper()
	o := Options{FS: fsys, Path: path, Sleep: func(context.Context, time.Duration) error { return nil }}
	if change != nil {
		change(&o)
	}
	var all []Finding
	sum, err := Run(context.Background(), o, func(f Finding) { all = append(all, f) })
	if err != nil {
		t.Fatal(err)
	}
	return sum, all
}

// TestI06NoFalseAlarms: nothing that Apache Kafka wrote is called wrong: 4.4.0 stopped in order and killed, old formats,
// and topics of releases from 0.9 on, with indexes.
func TestI06NoFalseAlarms(t *testing.T) {
	for _, name := range []string{"../testdata/kafka-4.4.0-directory.tar.gz", "../testdata/kafka-4.4.0-killed.tar.gz",
		"../testdata/old-formats.tar.gz", "../testdata/kafka-3.9.1-old-topics.tar.gz",
		"../../storage/logdir/testdata/kafka-4.4.0.tar.gz", "../testdata/kafka-3.9.1-clean.tar.gz", "../testdata/kafka-3.9.1-zookeeper.tar.gz"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			fsys := testdir.Unpack(t, name, "/data")
			testdir.Complete(t, fsys, "/data")
			dirs := []string{"/data"}
			if entries, err := fsys.ReadDir("/data"); err == nil && len(entries) <= 2 {
				dirs = nil
				for _, e := range entries {
					dirs = append(dirs, filepath.Join("/data", e.Name()))
				}
			}
			for _, dir := range dirs {
				sum, all := run(t, fsys, dir, func(o *Options) { o.Deep = true })
				whole := !testdir.Missing(fsys, dir+"/.kafka_cleanshutdown")
				for _, f := range all {
					if whole || f.Rule != MetaProperties && f.Rule != PartitionMeta && f.Rule != EpochHistory { // some of these hold no more than some files
						t.Errorf("%v", f)
					}
				}
				t.Logf("%s: %+v", dir, sum)
			}
		})
	}
}

// log is n batches of two records each from offset base on, and where they begin.
func log(base, n int) (b []byte, at []int) {
	for i := range n {
		o := record.DefaultBuilderOptions()
		o.BaseOffset, o.LeaderEpoch = record.Offset(base+2*i), 3
		builder := record.NewBuilder(o)
		builder.Append(int64(1000+i), []byte("k"), bytes.Repeat([]byte("v"), 50), nil)
		builder.Append(int64(1000+i), []byte("k"), nil, nil)
		at = append(at, len(b))
		b = append(b, builder.Build()...)
	}
	return b, at
}

const segmentName = "/t-0/00000000000000000000.log"

// TestR19DamageIsLocalised: one flipped bit is told as one batch, by bytes and offsets; what is before and behind is counted.
func TestR19DamageIsLocalised(t *testing.T) {
	b, at := log(0, 20)
	b[at[7]+80] ^= 4
	fsys := vfs.NewMem()
	testdir.Put(t, fsys, segmentName, b)
	sum, all := run(t, fsys, "/t-0", nil)
	if len(all) != 1 || sum.Batches != 19 {
		t.Fatalf("%v, %+v", all, sum)
	}
	want := Finding{Severity: Error, Rule: BatchChecksum, File: segmentName, Position: int64(at[7]), Length: int64(at[8] - at[7]), FirstOffset: 14, LastOffset: 15}
	if f := all[0]; f.What == "" || f.Means == "" || f.Rule != want.Rule || f.Position != want.Position || f.Length != want.Length || f.FirstOffset != 14 || f.LastOffset != 15 {
		t.Errorf("%v", f)
	}
}

// A length field that leads astray: the walk goes on at the next batch.
func TestGoesOnBehindDamage(t *testing.T) {
	b, at := log(0, 20)
	binary.BigEndian.PutUint32(b[at[3]+8:], 1<<30)
	b = append(b[:at[10]], append(bytes.Repeat([]byte{0xee}, 333), b[at[10]:]...)...)
	fsys := vfs.NewMem()
	testdir.Put(t, fsys, segmentName, b)
	sum, all := run(t, fsys, "/t-0", nil)
	if len(all) != 2 || sum.Batches != 19 || all[0].Position != int64(at[3]) || all[1].Position != int64(at[10]) || all[1].Length != 333 {
		t.Fatalf("%v, %+v", all, sum)
	}
}

// A file that grows while it is read: what a first look finds and a second does not is not told.
func TestGrowingDirectory(t *testing.T) {
	b, at := log(0, 20)
	fsys := vfs.NewMem()
	testdir.Put(t, fsys, segmentName, b[:at[19]+30])
	looked := 0
	_, all := run(t, fsys, "/t-0", func(o *Options) {
		o.FS = vfs.NewFault(fsys, func(op vfs.Op) error {
			if op.Kind == vfs.OpClose && op.Path == segmentName && looked == 0 {
				looked++
				f, err := fsys.OpenFile(segmentName, os.O_RDWR, 0)
				if err == nil {
					_, err = f.WriteAt(b, 0)
				}
				return errors.Join(err, f.Close())
			}
			return nil
		})
	})
	if looked != 1 || len(all) != 0 {
		t.Errorf("%d looks, %v", looked, all)
	}
}

func TestThrottle(t *testing.T) {
	b, _ := log(0, 20)
	fsys := vfs.NewMem()
	testdir.Put(t, fsys, segmentName, b)
	slept := time.Duration(0)
	run(t, fsys, "/t-0", func(o *Options) {
		o.BytesPerSecond = 100
		o.Sleep = func(_ context.Context, d time.Duration) error { slept += d; return nil }
	})
	if want := time.Duration(len(b)) * time.Second / 100; slept < want-time.Second || slept > want+time.Second {
		t.Errorf("%v, want %v", slept, want)
	}
}

// Two sealed segments that compaction merges after the list was made are not called wrong, nor is one that is gone; damage is.
func TestSealedSegments(t *testing.T) {
	segmentPath := func(base int) string { return fmt.Sprintf("/t-0/%020d.log", base) }
	fsys := vfs.NewMem()
	put := func(base, n int) ([]byte, []int) {
		b, at := log(base, n)
		testdir.Put(t, fsys, segmentPath(base), b)
		largest := binary.BigEndian.AppendUint64(nil, uint64(1000+n-1))
		testdir.Put(t, fsys, strings.TrimSuffix(segmentPath(base), ".log")+".timeindex", binary.BigEndian.AppendUint32(largest, uint32(2*n-1)))
		testdir.Complete(t, fsys, "/t-0")
		return b, at
	}
	for i := range 4 {
		put(i*40, 20)
	}
	list, err := logfile.List(fsys, "/t-0")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{FS: fsys, Sleep: func(context.Context, time.Duration) error { return nil }}
	look := func(i int) (all []Finding, state *SegmentState, err error) {
		state, err = Segment(context.Background(), &o, list, i, func(f Finding) { all = append(all, f) })
		return all, state, err
	}
	if all, s, err := look(1); err != nil || len(all) != 0 || s.Next != 80 || !s.Sealed || s.Log != s.End {
		t.Fatalf("%v %+v %v", all, s, err)
	}
	b, at := put(0, 40)
	if err := fsys.Remove(segmentPath(40)); err != nil {
		t.Fatal(err)
	}
	if all, s, err := look(0); err != nil || len(all) != 0 || s.Next != 80 {
		t.Errorf("merged: %v %+v %v", all, s, err)
	}
	if _, _, err := look(1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("gone: %v", err)
	}
	b[at[7]+80] ^= 4
	testdir.Put(t, fsys, segmentPath(0), b)
	if all, s, err := look(0); err != nil || len(all) != 1 || all[0].Rule != BatchChecksum || all[0].FirstOffset != 14 || len(s.Damage) != 1 {
		t.Errorf("damaged: %v %+v %v", all, s, err)
	}
}
