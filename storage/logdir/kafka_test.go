package logdir

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

// kafkaDir unpacks a directory that Apache Kafka 4.4.0 left: "killed" by SIGKILL under load, or "clean" after SIGTERM.
// Of the original some small partitions are there, and all files at the top.
func kafkaDir(t *testing.T, which string) *rig {
	t.Helper()
	f, err := os.Open("testdata/kafka-4.4.0.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, fs: vfs.NewMem(), dirs: []string{"/" + which}, events: &events{}, change: func(*Options) {}}
	for files := tar.NewReader(z); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return r
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg || !strings.HasPrefix(h.Name, which+"/") {
			continue
		}
		data, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		put(t, r.fs, "/"+h.Name, string(data))
	}
}

type kafkaLog struct {
	start, hw, end record.Offset
}

// TestKafkaDirectories loads what Kafka left, finds every offset, and leaves checkpoints that say the same.
func TestKafkaDirectories(t *testing.T) {
	for which, want := range map[string]map[record.TopicPartition]kafkaLog{
		"killed": {tp("empty", 0): {}, tp("empty", 2): {}, tp("first", 0): {0, 1, 1}, tp("trimmed", 0): {20, 50, 50}, tp("appendtime", 0): {0, 30, 30}},
		"clean":  {tp("empty", 0): {}, tp("empty", 2): {}, tp("first", 0): {0, 2, 2}, tp("trimmed", 0): {20, 50, 50}, tp("appendtime", 0): {0, 30, 30}},
	} {
		t.Run(which, func(t *testing.T) {
			r := kafkaDir(t, which)
			before, err := checkpoint.ReadOffsets(r.fs, r.dirs[0]+"/"+checkpoint.HighWatermarkFile)
			if err != nil {
				t.Fatal(err)
			}
			m, err := Open(r.options())
			if err != nil {
				t.Fatal(err)
			}
			if wantEpoch := map[string]int64{"killed": -1, "clean": 215}[which]; m.PreviousBrokerEpoch() != wantEpoch {
				t.Errorf("previous broker epoch %d, want %d", m.PreviousBrokerEpoch(), wantEpoch)
			}
			if meta := m.Meta(); meta.ClusterID != "MkU3OEVBNTcwNTJENDM2Qg" || meta.NodeID != 1 {
				t.Errorf("meta %+v", meta)
			}
			if err := m.Load(t.Context(), wantAll); err != nil {
				t.Fatal(err)
			}
			if len(m.Logs()) != 8 {
				t.Errorf("%d logs", len(m.Logs()))
			}
			for p, w := range want {
				o := m.Log(p).Offsets()
				if (kafkaLog{o.LogStartOffset, o.HighWatermark, o.LogEndOffset}) != w {
					t.Errorf("%v: %+v, want %+v", p, o, w)
				}
			}
			// recovering what is whole or empty is nothing to warn of, and nothing of the metadata log is touched.
			for _, e := range r.events.of(LogEvent) {
				if which == "clean" || e.Log.Kind > storage.IndexRebuilt {
					t.Errorf("event %v", e)
				}
				if e.Log.Kind == storage.IndexRebuilt && strings.HasPrefix(e.TopicPartition.Topic, "empty") {
					t.Errorf("an empty segment with a preallocated index looks corrupt: %v", e)
				}
			}
			if len(r.events.of(RemovalResumed)) != 1 {
				t.Errorf("events %v", r.events.list)
			}
			mustClose(t, m)
			after, err := checkpoint.ReadOffsets(r.fs, r.dirs[0]+"/"+checkpoint.HighWatermarkFile)
			if err != nil || len(after) != 8 {
				t.Fatalf("%v %v", after, err)
			}
			for p, o := range after {
				if before[p] != o {
					t.Errorf("high watermark of %v: %d, Kafka had %d", p, o, before[p])
				}
			}
			if got, want := get(t, r.fs, r.dirs[0]+"/"+checkpoint.LogStartFile), "0\n1\ntrimmed 0 20\n"; got != want {
				t.Errorf("log starts %q, want %q", got, want)
			}
			for _, name := range []string{"00000000000000000000.index", "00000000000000000000.timeindex"} {
				if got := get(t, r.fs, r.dirs[0]+"/empty-0/"+name); got != "" {
					t.Errorf("%s of an empty log has %d bytes after a clean stop", name, len(got))
				}
			}
			if got := list(t, r.fs, r.dirs[0]+"/__cluster_metadata-0"); !slices.Equal(got, []string{"quorum-state"}) {
				t.Errorf("the metadata log holds %v", got)
			}
		})
	}
}

// TestR21R25ManySegments: sealed segments cost no descriptor, no map and no read, neither at a clean start nor at a stop.
func TestR21R25ManySegments(t *testing.T) {
	mem := vfs.NewMem()
	r := format(t, mem, 1)
	c := storage.DefaultConfig()
	c.SegmentBytes = 400
	m := r.open()
	l, _, err := m.Create(tp("a", 0), idA, c, record.UUID{})
	if err != nil {
		t.Fatal(err)
	}
	produce(t, l, 600, 1)
	sealed := len(l.Segments()) - 1
	if sealed < 250 {
		t.Fatalf("only %d segments", sealed)
	}
	mustClose(t, m)

	active := l.Segments()[sealed].Path
	active = active[strings.LastIndexByte(active, '/')+1 : strings.LastIndexByte(active, '.')]
	touched := map[vfs.OpKind]int{}
	r.fs = vfs.NewFault(mem, func(op vfs.Op) error {
		if strings.HasPrefix(op.Path, "/data0/a-0/0") && !strings.Contains(op.Path, active) && !strings.HasSuffix(op.Path, ".snapshot") {
			touched[op.Kind]++
		}
		return nil
	})
	r.change = func(o *Options) { o.MaxOpenFiles, o.RecoveryThreads = 16, 1 }
	m = r.open()
	if got := len(m.Log(tp("a", 0)).Segments()); got != sealed+1 {
		t.Errorf("%d segments, want %d", got, sealed+1)
	}
	if touched[vfs.OpOpen]+touched[vfs.OpRead] > 4 { // the segment before the active one may be asked for its end
		t.Errorf("a clean start touched sealed segments: %v", touched)
	}
	clear(touched)
	mustClose(t, m)
	if touched[vfs.OpOpen]+touched[vfs.OpRead]+touched[vfs.OpSync]+touched[vfs.OpTruncate] > 0 {
		t.Errorf("a stop touched sealed segments: %v", touched)
	}
}
