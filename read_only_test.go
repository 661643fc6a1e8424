package samsa_test

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/samsalog/samsa"
	"github.com/samsalog/samsa/vfs"
	"github.com/samsalog/samsa/vfs/overlay"
)

// frozen is a file system that must not be changed.
func frozen(t testing.TB, inner vfs.FS) vfs.FS {
	return vfs.NewFault(inner, func(op vfs.Op) error {
		if op.Kind.Changes() || op.Kind == vfs.OpOpen && op.Flag != os.O_RDONLY {
			t.Errorf("a directory that is served read-only was touched: %v", op)
		}
		return nil
	})
}

// serveReadOnly serves /data of a file system until the test ends.
func serveReadOnly(t *testing.T, fsys vfs.FS) *samsa.Broker {
	t.Helper()
	b, err := samsa.Start(t.Context(), samsa.Config{Dirs: []string{"/data"}, Listen: "127.0.0.1:0", FS: fsys, ReadOnly: true, Properties: map[string]string{
		"group.initial.rebalance.delay.ms": "0", "log.index.size.max.bytes": "1048576",
		"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100000000",
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, b) })
	return b
}

// TestReadOnlyServesWhatIsThere: everything in Kafka's directories can be read, offsets can be committed, nothing else can
// be changed, and not a byte is.
func TestReadOnlyServesWhatIsThere(t *testing.T) {
	for _, c := range []struct {
		set      string
		groups   []string
		firstEnd int64
	}{
		{"kafka-4.4.0/killed", []string{"golden-admin", "golden-group"}, 1},
		{"kafka-3.9.1/clean", []string{"golden-admin", "golden-group"}, 1},
	} {
		t.Run(c.set, func(t *testing.T) {
			mem := kafkaSet(t, c.set)
			ids := topicIDs(t, mem)
			b := serveReadOnly(t, frozen(t, mem))
			cl := clientOf(t, b)
			admin := kadm.NewClient(cl)
			compareTopics(t, admin, ids)
			compareRecords(t, b, path.Dir(c.set))
			compareSetOffsets(t, cl, c.firstEnd)
			compareGroups(t, admin, c.groups)
			compareTransactions(t, admin)
			refusesChanges(t, cl, "first")
			commits(t, admin, "reader", "rolled", 5)
		})
	}
}

// commits sees to it that offsets can be committed.
func commits(t *testing.T, admin *kadm.Client, group, topic string, at int64) {
	t.Helper()
	var offsets kadm.Offsets
	offsets.Add(kadm.Offset{Topic: topic, At: at, LeaderEpoch: -1})
	if err := admin.CommitAllOffsets(t.Context(), group, offsets); err != nil {
		t.Errorf("an offset cannot be committed: %v", err)
	}
	got, err := admin.FetchOffsets(t.Context(), group)
	if o, ok := got.Lookup(topic, 0); err != nil || !ok || o.At != at {
		t.Errorf("the committed offset is %v, %v", o, err)
	}
}

// refusesChanges sees to it that nothing can be changed, and that clients hear why.
func refusesChanges(t *testing.T, cl *kgo.Client, topic string) {
	t.Helper()
	admin := kadm.NewClient(cl)
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, kerr.PolicyViolation) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("produce", cl.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("x")}).FirstErr())
	created, err := admin.CreateTopic(t.Context(), 1, 1, nil, "another")
	refused("create topic", err)
	if !strings.Contains(created.ErrMessage, "read-only") {
		t.Errorf("why a topic cannot be created: %q", created.ErrMessage)
	}
	_, err = admin.DeleteTopic(t.Context(), topic)
	refused("delete topic", err)
	more, err := admin.CreatePartitions(t.Context(), 7, topic)
	refused("create partitions", errors.Join(err, more.Error()))
	altered, err := admin.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: "retention.ms", Value: kadm.StringPtr("1")}}, topic)
	if err == nil {
		_, err = altered.On(topic, func(r *kadm.AlterConfigsResponse) error { return r.Err })
	}
	refused("alter configs", err)
	var offsets kadm.Offsets
	offsets.Add(kadm.Offset{Topic: topic, At: 1})
	deleted, err := admin.DeleteRecords(t.Context(), offsets)
	refused("delete records", errors.Join(err, deleted.Error()))
}

// untar reads a compressed archive into memory at /data.
func untar(t *testing.T, name string) *vfs.Mem {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader
	if strings.HasSuffix(name, ".gz") {
		r, err = gzip.NewReader(f)
	} else {
		var z *zstd.Decoder
		z, err = zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
		defer z.Close()
		r = z
	}
	if err != nil {
		t.Fatal(err)
	}
	mem := vfs.NewMem()
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return mem
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		putFile(t, mem, path.Join("/data", h.Name), 0o644, data)
	}
}

// TestReadOnlyServesMembersOfLargerClusters: what is here of one can be read.
func TestReadOnlyServesMembersOfLargerClusters(t *testing.T) {
	for name, records := range map[string]map[string]int{"voter": {"three": 300, "one": 0}, "broker": {"three": 301, "one": 2}} {
		t.Run(name, func(t *testing.T) {
			b := serveReadOnly(t, frozen(t, untar(t, "internal/adopt/solo/testdata/"+name+".tar.zst")))
			cl := clientOf(t, b)
			for topic, want := range records {
				if got := len(readAll(t, b, topic, kgo.ReadCommitted())); got != want {
					t.Errorf("%s: %d records, not %d", topic, got, want)
				}
			}
			listed, err := kadm.NewClient(cl).ListGroups(t.Context())
			if err != nil || len(listed) != 2 {
				t.Errorf("%d groups, %v", len(listed), err)
			}
			refusesChanges(t, cl, "three")
			commits(t, kadm.NewClient(cl), "reader", "three", 5)
		})
	}
}

// TestReadOnlyServesZooKeepersTime: topics of all formats, and the groups.
func TestReadOnlyServesZooKeepersTime(t *testing.T) {
	b := serveReadOnly(t, frozen(t, untar(t, "internal/adopt/fromlogs/testdata/zookeeper.tar.zst")))
	for _, release := range []string{"0.9.0", "0.10.2"} {
		for _, codec := range []string{"none", "gzip", "snappy", "lz4"} {
			topic := "old-" + release + "-" + codec
			got := readOld(t, b, topic)
			if len(got) != 300 {
				t.Errorf("%s: %d records of 300", topic, len(got))
			}
			for i, r := range got {
				prefix := fmt.Sprintf("value number %d for topic %s ", i+1, topic)
				if r.Offset != int64(i) || !strings.HasPrefix(string(r.Value), prefix) || (release == "0.9.0") != r.Timestamp.IsZero() {
					t.Fatalf("%s: record %d is %d %v %q", topic, i, r.Offset, r.Timestamp, r.Value)
				}
			}
		}
	}
	cl := clientOf(t, b)
	admin := kadm.NewClient(cl)
	groups, err := admin.ListGroups(t.Context())
	if err != nil || !slices.Equal(slices.Sorted(slices.Values(groups.Groups())), []string{"golden-admin", "golden-group"}) {
		t.Errorf("groups %v, %v", groups, err)
	}
	offsets, err := admin.FetchOffsets(t.Context(), "golden-admin") // that of the other group is on a topic that is not here
	if o, ok := offsets.Lookup("codec-zstd", 0); err != nil || !ok || o.At != 7 || o.Metadata == "" {
		t.Errorf("golden-admin: %+v %v", o, err)
	}
	refusesChanges(t, cl, "first")
}

// readOld reads a topic of old messages. Clients other than Java's stumble over the LZ4 of magic 0 (KAFKA-3160), so they are
// helped.
func readOld(t *testing.T, b *samsa.Broker, topic string) []*kgo.Record {
	t.Helper()
	cl := clientOf(t, b, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.WithDecompressor(mended{kgo.DefaultDecompressor()}))
	ends, err := kadm.NewClient(cl).ListEndOffsets(t.Context(), topic)
	if err != nil || ends.Error() != nil {
		t.Fatal(err, ends.Error())
	}
	end, _ := ends.Lookup(topic, 0)
	var out []*kgo.Record
	for int64(len(out)) < end.Offset {
		fetches := cl.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { out = append(out, r) })
	}
	return out
}

// mended corrects the header checksum of old LZ4 frames.
type mended struct{ kgo.Decompressor }

func (d mended) Decompress(src []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	if codec == kgo.CodecLz4 && len(src) > 6 && src[6] == 0x1a {
		src = bytes.Clone(src)
		src[6] = 0x82
	}
	return d.Decompressor.Decompress(src, codec)
}

// TestReadOnlyServesOrphans: nothing but segments of magic 0 and 1, not even indexes.
func TestReadOnlyServesOrphans(t *testing.T) {
	mem := untar(t, "inspect/testdata/old-formats.tar.gz")
	type line struct {
		Offset      int64
		TimestampMs int64
		Key, Value  *string
	}
	expected := map[string][]line{}
	entries, err := mem.ReadDir("/data")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		topic, ok := strings.CutSuffix(e.Name(), "-0.jsonl")
		if !ok {
			continue
		}
		lines := bufio.NewScanner(bytes.NewReader(getFile(t, mem, "/data/"+e.Name())))
		for lines.Scan() {
			var l line
			if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
				t.Fatal(err)
			}
			expected[topic] = append(expected[topic], l)
		}
	}
	b := serveReadOnly(t, frozen(t, mem))
	for _, e := range entries {
		topic, ok := strings.CutSuffix(e.Name(), "-0")
		if !ok {
			continue
		}
		got := readOld(t, b, topic)
		if len(got) != 100 {
			t.Errorf("%s: %d records", topic, len(got))
		}
		for i, want := range expected[topic] {
			ms := int64(-1)
			if !got[i].Timestamp.IsZero() {
				ms = got[i].Timestamp.UnixMilli()
			}
			if got[i].Offset != want.Offset || ms != want.TimestampMs || want.Value != nil && string(got[i].Value) != *want.Value || (want.Key == nil) != (got[i].Key == nil) {
				t.Fatalf("%s: record %d is %d %d %q", topic, i, got[i].Offset, ms, got[i].Value)
			}
		}
	}
}

// TestReadOnlyKeepsItsScratch: offsets are there after a restart, until the directory changes.
func TestReadOnlyKeepsItsScratch(t *testing.T) {
	dir, scratch := t.TempDir(), t.TempDir()
	b := startIn(t, dir, nil)
	cl := clientOf(t, b)
	createTopic(t, cl, "topic", 1)
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "topic", Value: []byte("x")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	stop(t, b)
	start := func() (*samsa.Broker, error) {
		return samsa.Start(t.Context(), samsa.Config{Dirs: []string{dir}, Listen: "127.0.0.1:0", ReadOnly: true, Scratch: scratch})
	}
	for round := range 2 {
		if b, err := start(); err != nil {
			t.Fatal(err)
		} else {
			admin := kadm.NewClient(clientOf(t, b))
			if round == 0 {
				commits(t, admin, "reader", "topic", 1)
			} else if got, err := admin.FetchOffsets(t.Context(), "reader"); err != nil || len(got) == 0 {
				t.Errorf("the offset is gone: %v, %v", got, err)
			}
			stop(t, b)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "topic-0", "another"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := start(); !errors.Is(err, overlay.ErrChanged) {
		t.Errorf("a scratch of another state was taken: %v", err)
	}
}

// TestReadOnlyRefusesALiveDirectory: a running broker's directory is not read.
func TestReadOnlyRefusesALiveDirectory(t *testing.T) {
	dir := t.TempDir()
	startIn(t, dir, nil)
	_, err := samsa.Start(t.Context(), samsa.Config{Dirs: []string{dir}, Listen: "127.0.0.1:0", ReadOnly: true})
	if !errors.Is(err, overlay.ErrInUse) || !errors.Is(err, vfs.ErrLocked) {
		t.Errorf("it was taken: %v", err)
	}
}

// TestReadOnlyServesDamage: a metadata log that cannot be read, and a log whose end is torn off.
func TestReadOnlyServesDamage(t *testing.T) {
	mem := kafkaSet(t, "kafka-4.4.0/clean")
	const log, rolled = "/data/__cluster_metadata-0/00000000000000000000.log", "/data/rolled-0/00000000000000000514.log"
	b := getFile(t, mem, log)
	b[300] ^= 1
	putFile(t, mem, log, 0o644, b)
	snapshots, err := mem.ReadDir("/data/__cluster_metadata-0")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range snapshots {
		if strings.HasSuffix(e.Name(), ".checkpoint") {
			if err := mem.Remove("/data/__cluster_metadata-0/" + e.Name()); err != nil {
				t.Fatal(err)
			}
		}
	}
	tail := getFile(t, mem, rolled)
	putFile(t, mem, rolled, 0o644, tail[:len(tail)-100])
	if err := mem.Remove("/data/.kafka_cleanshutdown"); err != nil {
		t.Fatal(err)
	}
	if err := mem.Remove("/data/recovery-point-offset-checkpoint"); err != nil {
		t.Fatal(err)
	}
	broker := serveReadOnly(t, frozen(t, mem))
	if got := len(readAll(t, broker, "rolled", kgo.ReadCommitted())); got != 699 {
		t.Errorf("%d records are left of 700", got)
	}
	if broker.ClusterID() != "MkU3OEVBNTcwNTJENDM2Qg" {
		t.Errorf("cluster %s", broker.ClusterID())
	}
}
