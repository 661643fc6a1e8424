package samsa_test

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/samsalog/samsa"
	"github.com/samsalog/samsa/vfs"
)

// testdata/kafka.tar.zst holds whole log directories that Apache Kafka left, by version and set: just formatted, killed
// under load, and stopped in order; the clean set of 4.4.0 is its killed one after Kafka recovered it and served some more
// clients. expected/ lists the records that were written into them, values by their SHA-256, and how each transaction ended.

// kafkaFiles hands the files under prefix in the archive to each.
func kafkaFiles(t testing.TB, prefix string, each func(name string, mode os.FileMode, data []byte)) {
	t.Helper()
	f, err := os.Open("testdata/kafka.tar.zst")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<27), zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	found := false
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		name, ok := strings.CutPrefix(h.Name, prefix+"/")
		if !ok && found {
			break // names are in order
		}
		if !ok || h.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		each(name, h.FileInfo().Mode().Perm(), data)
		found = true
	}
	if !found {
		t.Fatalf("the archive has no %s", prefix)
	}
}

// kafkaSet unpacks a set into memory, at /data, as a disk that was synced.
func kafkaSet(t testing.TB, set string) *vfs.Mem {
	t.Helper()
	mem := vfs.NewMem()
	if err := mem.MkdirAll("/data", 0o755); err != nil {
		t.Fatal(err)
	}
	kafkaFiles(t, set, func(name string, mode os.FileMode, data []byte) { putFile(t, mem, "/data/"+name, mode, data) })
	return mem
}

func putFile(t testing.TB, fsys vfs.FS, name string, mode os.FileMode, data []byte) {
	t.Helper()
	if err := fsys.MkdirAll(path.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := fsys.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(data, 0)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if err := fsys.SyncDir(dir); err != nil {
			t.Fatal(err)
		}
		if dir == "/" {
			break
		}
	}
}

func getFile(t testing.TB, fsys vfs.FS, name string) []byte {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return b
}

// startOnSet runs a broker over a set without anything that time would do to it: retention, compaction, and the end of
// transactions and offsets whose time is over.
func startOnSet(t testing.TB, fsys vfs.FS) (*samsa.Broker, error) {
	return samsa.Start(t.Context(), samsa.Config{Dirs: []string{"/data"}, Listen: "127.0.0.1:0", FS: fsys, Properties: map[string]string{
		"group.initial.rebalance.delay.ms": "0", "log.cleaner.enable": "false", "log.retention.check.interval.ms": "100000000",
		"log.index.size.max.bytes": "1048576", "offsets.retention.check.interval.ms": "100000000",
		"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100000000",
	}})
}

// expectation is one line of expected/.
type expectation struct {
	Topic       string
	Partition   int32
	Offset      int64
	TimestampMs int64
	Key         *string
	ValueSha256 *string
	Headers     map[string]string
	Txn         string
}

// expectations are the records of a version's sets by topic, and the last value of each key of the compacted topic.
func expectations(t *testing.T, version string) (records map[string][]expectation, latest map[string]*string) {
	records = map[string][]expectation{}
	kafkaFiles(t, version+"/expected", func(name string, _ os.FileMode, data []byte) {
		if name == "compacted-latest.json" {
			if err := json.Unmarshal(data, &latest); err != nil {
				t.Fatal(err)
			}
			return
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		for lines.Scan() {
			var e expectation
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				t.Fatal(err)
			}
			records[e.Topic] = append(records[e.Topic], e)
		}
		if lines.Err() != nil {
			t.Fatal(lines.Err())
		}
	})
	return records, latest
}

// line renders what is compared of a record; the times of a LogAppendTime topic are the broker's.
func (e expectation) line() string {
	text := func(s *string) string {
		if s == nil {
			return "null"
		}
		return fmt.Sprintf("%q", *s)
	}
	if e.Topic == "appendtime" {
		e.TimestampMs = 0
	}
	headers := []string{}
	for _, k := range slices.Sorted(maps.Keys(e.Headers)) {
		headers = append(headers, k+"="+e.Headers[k])
	}
	return fmt.Sprintf("%d/%d at %d %s %s %v", e.Partition, e.Offset, e.TimestampMs, text(e.Key), text(e.ValueSha256), headers)
}

func expectationOf(r *kgo.Record) expectation {
	e := expectation{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, TimestampMs: r.Timestamp.UnixMilli(), Headers: map[string]string{}}
	if r.Key != nil {
		e.Key = new(string(r.Key))
	}
	if r.Value != nil {
		sum := sha256.Sum256(r.Value)
		e.ValueSha256 = new(hex.EncodeToString(sum[:]))
	}
	for _, h := range r.Headers {
		e.Headers[h.Key] = string(h.Value)
	}
	return e
}

// readAll reads a topic up to its end as the isolation level shows it.
func readAll(t *testing.T, b *samsa.Broker, topic string, isolation kgo.IsolationLevel) []*kgo.Record {
	t.Helper()
	cl := clientOf(t, b, kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(isolation), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.KeepControlRecords())
	list := kadm.NewClient(cl).ListEndOffsets
	if isolation == kgo.ReadCommitted() {
		list = kadm.NewClient(cl).ListCommittedOffsets
	}
	ends, err := list(t.Context(), topic)
	if err != nil || ends.Error() != nil {
		t.Fatal(err, ends.Error())
	}
	starts, err := kadm.NewClient(cl).ListStartOffsets(t.Context(), topic)
	if err != nil || starts.Error() != nil {
		t.Fatal(err, starts.Error())
	}
	left := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if s, _ := starts.Lookup(topic, o.Partition); s.Offset < o.Offset {
			left[o.Partition] = o.Offset
		}
	})
	var out []*kgo.Record
	for len(left) > 0 {
		fetches := cl.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if end, ok := left[r.Partition]; ok && r.Offset >= end-1 {
				delete(left, r.Partition)
			}
			if !r.Attrs.IsControl() {
				out = append(out, r)
			}
		})
	}
	return out
}

// compareExpected holds what a reader gets against the lines of expected/.
func compareExpected(t *testing.T, what string, want []expectation, got []*kgo.Record) {
	t.Helper()
	var a, b []string
	for _, e := range want {
		a = append(a, e.line())
	}
	for _, r := range got {
		b = append(b, expectationOf(r).line())
	}
	slices.Sort(a)
	slices.Sort(b)
	if slices.Equal(a, b) {
		return
	}
	t.Errorf("%s: %d records, want %d", what, len(b), len(a))
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Errorf("%s:\n got %s\nwant %s", what, b[i], a[i])
			return
		}
	}
}
