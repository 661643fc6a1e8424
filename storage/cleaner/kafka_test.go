package cleaner

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/vfs"
)

// archive reads a tar.gz into directories of files.
func archive(t *testing.T, name string) map[string]map[string][]byte {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string][]byte{}
	for tr := tar.NewReader(z); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		dir, file := path.Split(path.Clean(h.Name))
		if dir = strings.TrimSuffix(dir, "/"); out[dir] == nil {
			out[dir] = map[string][]byte{}
		}
		out[dir][file] = b
	}
}

// kafkaLogs are directories that Apache Kafka wrote: clean by 4.4.0, legacy by 3.9.1 with magic 0 and 1.
const kafkaLogs = "../testdata/kafka-logs.tar.gz"

func (w *world) install(files map[string][]byte) {
	w.t.Helper()
	for name, b := range files {
		writeFile(w.t, w.fs, dir0+"/"+name, b)
	}
}

func unmodified(o *storage.Options) { o.Clean = true }

// TestCompactsLikeKafka compacts segments that Apache Kafka 4.4.0 has compacted, and compares every byte, indexes
// included. The archive holds them as they were before.
func TestCompactsLikeKafka(t *testing.T) {
	before := archive(t, "testdata/compacted-before.tar.gz")["before"]
	after := archive(t, kafkaLogs)["clean/compacted-0"]
	// Where Kafka's tombstones may go, which tells when it was at work.
	var horizon int64
	for sc := record.NewScanner(after["00000000000000001030.log"]); sc.Next(); {
		if at, ok := sc.Batch().Header().DeleteHorizon(); ok {
			horizon = at
		}
	}
	w := newWorld(t, vfs.NewMem(), func(c *storage.Config) {
		c.SegmentBytes, c.IndexIntervalBytes, c.SegmentIndexBytes, c.DeleteRetentionMs = 1<<20, 4096, 1<<20, 0
	})
	w.now = time.UnixMilli(horizon)
	w.install(after)
	w.install(before)
	w.open(unmodified)
	defer w.log.Abandon()
	latest := w.latest()
	w.clean()
	if s := w.status(); s.Last.To != 2060 || s.Last.SegmentsRead != 2 || s.Last.SegmentsWritten != 2 {
		t.Fatalf("%+v", s)
	}
	files := w.files()
	for _, name := range []string{"00000000000000000000", "00000000000000001030"} {
		for _, suffix := range []string{".log", ".index", ".timeindex"} {
			if got, want := files[name+suffix], after[name+suffix]; !bytes.Equal(got, want) {
				t.Errorf("%s has %d bytes, Kafka's %d", name+suffix, len(got), len(want))
			}
		}
	}
	wantEqual(t, "latest", w.latest(), latest)
}

// TestCompactsOldFormats compacts what the broker of 0.9 and 0.10 wrote: of each key the last record stays, in a batch of
// magic 2 with the codec and the timestamps it had.
func TestCompactsOldFormats(t *testing.T) {
	n := 0
	for name, files := range archive(t, kafkaLogs) {
		topic, ok := strings.CutPrefix(name, "legacy/")
		if !ok || len(files) == 0 {
			continue
		}
		n++
		t.Run(topic, func(t *testing.T) {
			w := newWorld(t, vfs.NewMem(), func(c *storage.Config) { c.IndexIntervalBytes = 4096 })
			w.install(files)
			w.open(unmodified)
			defer w.log.Abandon()
			end := w.log.LogEndOffset()
			before, _ := w.batches(storage.LogEnd)
			want, codec := lastOfEachKey(t, before)
			w.pass(time.Hour)
			w.sealAndClean()
			after, _ := w.batches(storage.LogEnd)
			var got []string
			for _, b := range after {
				h := b.Header()
				if h.Magic != 2 || h.Codec() != codec || h.LeaderEpoch != -1 || h.ProducerID != -1 || h.BaseSequence != -1 || h.TimestampType() != record.CreateTime {
					t.Fatalf("%+v, the codec was %v", h, codec)
				}
				texts, _ := texts(t, b)
				got = append(got, texts...)
			}
			if !slices.Equal(got, want) || len(want) == 0 || len(want) >= int(end) || w.log.LogEndOffset() != end {
				t.Fatalf("%d records\n%q\nwant %d\n%q", len(got), got, len(want), want)
			}
			w.reopen()
			if again := w.contents(storage.LogEnd); len(again) != len(want) {
				t.Fatalf("%d records after a restart", len(again))
			}
		})
	}
	if n != 8 {
		t.Fatalf("%d old formats", n)
	}
}

// texts renders the records of a batch with all that must not change.
func texts(t *testing.T, b record.Batch) (list []string, keys []string) {
	t.Helper()
	rs := b.Records(0)
	for rs.Next() {
		r := rs.Record()
		list = append(list, fmt.Sprintf("%d %d %q=%q %v", r.Offset, r.Timestamp, r.Key, r.Value, r.Value == nil))
		keys = append(keys, string(r.Key))
	}
	if rs.Err() != nil {
		t.Fatal(rs.Err())
	}
	return list, keys
}

func lastOfEachKey(t *testing.T, batches []record.Batch) (want []string, codec record.Codec) {
	t.Helper()
	last, all, keyOf := map[string]int{}, []string{}, []string{}
	for _, b := range batches {
		codec = max(codec, b.Header().Codec())
		list, keys := texts(t, b)
		for i := range list {
			last[keys[i]] = len(all)
			all, keyOf = append(all, list[i]), append(keyOf, keys[i])
		}
	}
	for i, k := range keyOf {
		if last[k] == i {
			want = append(want, all[i])
		}
	}
	return want, codec
}

// TestCompactsKafkasTransactions compacts the transactions that Kafka wrote, after the open one was aborted: what a reader
// of committed records ends up with does not change, aborted data goes at once, and the markers with a later pass.
func TestCompactsKafkasTransactions(t *testing.T) {
	for _, name := range []string{"clean/txn-0", "clean/txn-1"} {
		w := newWorld(t, vfs.NewMem(), func(c *storage.Config) { c.SegmentBytes = 1 << 20 })
		w.install(archive(t, kafkaLogs)[name])
		w.open(unmodified)
		for _, p := range w.log.Producers() {
			if p.CurrentTxnFirstOffset >= 0 {
				w.end(from{id: p.ProducerID, epoch: p.ProducerEpoch}, record.ControlAbort)
			}
		}
		before, size := w.latest(), w.log.SizeInBytes()
		committed := w.contents(storage.TxnCommitted)
		w.sealAndClean()
		if got := w.log.SizeInBytes(); len(before) == 0 || got >= size || w.status().Runs != 1 {
			t.Fatalf("%s: %d of %d bytes are left, %d keys", name, got, size, len(before))
		}
		if all := w.contents(storage.LogEnd); !slices.Equal(all, w.contents(storage.TxnCommitted)) || len(all) != len(before) {
			t.Fatalf("%s: %d records are left, committed were %d with %d keys", name, len(all), len(committed), len(before))
		}
		for range 2 { // the first stamps the horizon of markers without data, the second finds it passed
			clear(w.saved)
			w.pass(48 * time.Hour)
			w.clean()
			wantEqual(t, name, w.latest(), before)
		}
		list, _ := w.batches(storage.LogEnd)
		if slices.ContainsFunc(list[:len(list)-1], func(b record.Batch) bool {
			return b.Attributes().IsControl() && b.Count() > 0 && controlType(t, b) == record.ControlAbort
		}) {
			t.Fatalf("%s: an abort marker has outlived its horizon", name)
		}
		w.reopen()
		wantEqual(t, name, w.latest(), before)
		w.log.Abandon()
	}
}
