package metadata

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

// The archives in testdata are log directories that Apache Kafka wrote, without the partitions of topics:
// just formatted, killed, and stopped in order; 4.4.0 with a voter set in the log, 3.9.1 with static voters.

func unpack(t testing.TB, archive string) *vfs.Mem {
	f, err := os.Open("testdata/" + archive + ".tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	mem := vfs.NewMem()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return mem
		}
		if err != nil {
			t.Fatal(err)
		}
		name := "/" + strings.TrimSuffix(h.Name, "/")
		if h.Typeflag == tar.TypeDir {
			if err := mem.MkdirAll(name, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, mem, name, data)
	}
}

func writeFile(t testing.TB, fsys vfs.FS, name string, data []byte) {
	t.Helper()
	w, err := fsys.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteAt(data, 0); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Sync(), w.Close()); err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, fsys vfs.FS, name string) []byte {
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

func fixtureNode(t testing.TB, archive string) *node {
	n := &node{t: t, fs: unpack(t, archive), dir: "/data", rand: newRand()}
	n.nowMs.Store(1800000000000)
	return n
}

func TestOpenDirectoriesOfKafka(t *testing.T) {
	for _, c := range []struct {
		archive   string
		epoch     record.LeaderEpoch
		version   int16
		topics    int
		kraft     int16
		producers record.ProducerID
		state     string
	}{
		{"4.4.0-formatted", 1, 33, 0, 1, 0, `{"leaderId":1,"leaderEpoch":1,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}`},
		{"4.4.0-killed", 2, 33, 15, 1, 1000, `{"leaderId":1,"leaderEpoch":2,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}`},
		{"4.4.0-clean", 3, 33, 16, 1, 2000, `{"leaderId":1,"leaderEpoch":3,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}`},
		{"3.9.1-formatted", 1, 21, 0, 0, 0, `{"clusterId":"","leaderId":1,"leaderEpoch":1,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}],"data_version":0}`},
		{"3.9.1-clean", 2, 21, 15, 0, 1000, `{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}],"data_version":0}`},
	} {
		t.Run(c.archive, func(t *testing.T) {
			n := fixtureNode(t, c.archive)
			s := n.open()
			i := s.Image()
			if s.Epoch() != c.epoch || i.Epoch != c.epoch || i.MetadataVersion() != c.version || i.Topics.Len() != c.topics ||
				s.KRaftVersion() != c.kraft || i.NextProducerID != c.producers || i.ClusterID != "MkU3OEVBNTcwNTJENDM2Qg" {
				t.Errorf("epoch %d, metadata.version %d, %d topics, kraft.version %d, producer ids from %d, cluster %s",
					i.Epoch, i.MetadataVersion(), i.Topics.Len(), s.KRaftVersion(), i.NextProducerID, i.ClusterID)
			}
			if got := string(readFile(t, n.fs, "/data/__cluster_metadata-0/quorum-state")); got != c.state {
				t.Errorf("quorum-state %s", got)
			}
			mustAppend(t, s, topicRecords("new", 1, 2)...)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = n.open()
			defer s.Close()
			if s.Epoch() != c.epoch+1 || s.Image().Topics.Len() != c.topics+1 {
				t.Errorf("reopened: epoch %d, %d topics", s.Epoch(), s.Image().Topics.Len())
			}
		})
	}
}

// The dump tool of Apache Kafka 4.4.0 printed testdata/clean-log.txt.gz for the log of 4.4.0-clean, cut at 400
// characters a line: every record must come out the same.
func TestReadEveryRecordOfKafka(t *testing.T) {
	mem := unpack(t, "4.4.0-clean")
	f, err := mem.OpenFile("/data/__cluster_metadata-0/00000000000000000000.log", os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got []string
	err = eachBatch(f, func(b record.Batch) error {
		if b.Attributes().IsControl() {
			records, err := decodeControl(b)
			for _, r := range records {
				got = append(got, string(r.value.AppendJSON(nil, 0)))
			}
			return err
		}
		records, err := decodeData(b)
		for _, m := range records {
			got = append(got, string(m.AppendJSON(nil, min(m.HighestVersion(), recordVersion(m, MaxMetadataVersion)))))
		}
		again, _, err2 := dataBatch(b.BaseOffset(), b.LeaderEpoch(), b.MaxTimestamp(), MaxMetadataVersion, records)
		if !bytes.Equal(again, b) {
			t.Errorf("offset %d: encoding again gives other bytes", b.BaseOffset())
		}
		return errors.Join(err, err2)
	})
	if err != nil {
		t.Fatal(err)
	}
	want := dumpLines(t)
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i, w := range want {
		// "payload: {"type":…,"version":…,"data":{…}}" or "LeaderChange: {…}": compare from the data on.
		if _, data, ok := strings.Cut(w, `"data":`); ok {
			w = strings.TrimSuffix(data, "}")
		} else if at := strings.Index(w, "{"); at >= 0 {
			w = w[at:]
		}
		if n := min(len(w), len(got[i])); n < 2 || got[i][:n] != w[:n] || len(w) > len(got[i]) {
			t.Errorf("offset %d:\n got %s\nwant %s", i, got[i], w)
		}
	}
}

func dumpLines(t *testing.T) (out []string) {
	f, err := os.Open("testdata/clean-log.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	s := bufio.NewScanner(z)
	for s.Scan() {
		out = append(out, s.Text())
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return out
}

// META-5 on Kafka's own data: each of its snapshots equals the log up to the snapshot's offset.
func TestSnapshotsOfKafkaEqualTheLog(t *testing.T) {
	mem := unpack(t, "4.4.0-clean")
	ids, _, err := listSnapshots(mem, "/data/__cluster_metadata-0")
	if err != nil || len(ids) != 12 {
		t.Fatal(ids, err)
	}
	for _, id := range ids {
		fromLog := foldLog(t, mem, id.EndOffset)
		fold := newFold(emptyImage(""))
		err := readSnapshot(mem, "/data/__cluster_metadata-0/"+id.String()+checkpointSuffix, func(controlRecord) error { return nil }, func(records []stored.Message) error {
			for _, m := range records {
				if err := fold.apply(m); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		// Kafka leaves the configs of the deleted topic "gone" in its snapshots.
		gone := ConfigResource{TopicResource, "gone"}
		if len(fold.img.Config(gone)) == 0 {
			t.Errorf("%s: no configs of the topic gone: the fixture has changed", id)
		}
		fold.setConfig(gone, nil)
		fold.img.Offset = fromLog.Offset
		fromSnapshot, err := fold.seal()
		if err != nil {
			t.Fatal(err)
		}
		// A broker's features come in the order of a Java hash map.
		for _, i := range []*Image{fromLog, fromSnapshot} {
			for _, b := range i.Brokers {
				slices.SortFunc(b.Features, func(a, b FeatureRange) int { return strings.Compare(a.Name, b.Name) })
			}
		}
		if err := same(fromLog, fromSnapshot); err != nil {
			t.Errorf("%s: log and snapshot differ: %v", id, err)
		}
	}
}

func foldLog(t *testing.T, fsys vfs.FS, end record.Offset) *Image {
	f, err := fsys.OpenFile("/data/__cluster_metadata-0/00000000000000000000.log", os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := replay{fold: newFold(emptyImage(""))}
	err = eachBatch(f, func(b record.Batch) error {
		if b.Attributes().IsControl() || b.BaseOffset() >= end {
			return nil
		}
		records, err := decodeData(b)
		if err != nil {
			return err
		}
		return r.batch(b.BaseOffset(), b.LeaderEpoch(), records)
	})
	if err != nil {
		t.Fatal(err)
	}
	i, err := r.image()
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// Formatting must give the bytes of Kafka's storage tool, but for times, checksums and the directory's id.
func TestFormatEqualsKafka(t *testing.T) {
	kafka := unpack(t, "4.4.0-formatted")
	ours := vfs.NewMem()
	err := Format(ours, FormatOptions{Dirs: []string{"/data"}, ClusterID: "MkU3OEVBNTcwNTJENDM2Qg", NodeID: 1, Controller: Endpoint{Host: "127.0.0.1", Port: 19093}})
	if err != nil {
		t.Fatal(err)
	}
	const name = "/data/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
	if a, b := plain(t, kafka, name), plain(t, ours, name); !bytes.Equal(a, b) {
		t.Errorf("checkpoint:\n got %x\nwant %x", b, a)
	}
	a, b := propertyLines(t, kafka), propertyLines(t, ours)
	if !slices.Equal(a, b) {
		t.Errorf("meta.properties: %q, want %q", b, a)
	}
	info, err := ours.Stat(name)
	if err != nil || info.Mode().Perm() != 0o400 {
		t.Errorf("checkpoint: %v %v", info.Mode(), err)
	}
	if err := Format(ours, FormatOptions{Dirs: []string{"/data"}}); !errors.Is(err, ErrFormatted) {
		t.Errorf("formatting again: %v", err)
	}
}

// plain is a snapshot file with all times, checksums and the directory id set to zero.
func plain(t *testing.T, fsys vfs.FS, name string) []byte {
	meta, err := checkpoint.ReadMetaProperties(fsys, "/data/"+checkpoint.MetaPropertiesFile)
	if err != nil {
		t.Fatal(err)
	}
	b := readFile(t, fsys, name)
	err = readSnapshot(fsys, name, func(r controlRecord) error {
		if h, ok := r.value.(*stored.SnapshotHeaderRecord); ok {
			b = bytes.Replace(b, h.AppendTo(nil, 0), make([]byte, 11), 1)
		}
		return nil
	}, func([]stored.Message) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for s := record.NewScanner(b); s.Next(); {
		clear(s.Batch()[17:21])
		clear(s.Batch()[27:43])
	}
	return bytes.Replace(b, meta.DirectoryID[:], make([]byte, 16), 1)
}

// propertyLines are the lines of meta.properties without the date and the random id, in order.
func propertyLines(t *testing.T, fsys vfs.FS) []string {
	lines := strings.Split(string(readFile(t, fsys, "/data/meta.properties")), "\n")
	lines[1] = "# date"
	for i, l := range lines {
		if strings.HasPrefix(l, "directory.id=") {
			lines[i] = fmt.Sprintf("directory.id of %d characters", len(l))
		}
	}
	slices.Sort(lines)
	return lines
}
