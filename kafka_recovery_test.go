package samsa_test

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/epoch"
	"github.com/samsalog/samsa/storage/logdir"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/vfs"
)

// changedSinceKilled are what Kafka's clients wrote to between the start that recovered the killed set and the stop that
// left the clean one.
var changedSinceKilled = []string{"__", "first-0"}

// TestKilledDirectoryRecoversAsKafkaRecoversIt: a directory whose Kafka was killed is started and stopped, and holds what
// Kafka itself made of it, file by file: the same batches, indexes, transactions, producers, epochs and checkpoints.
func TestKilledDirectoryRecoversAsKafkaRecoversIt(t *testing.T) {
	ours, kafkas := kafkaSet(t, "kafka-4.4.0/killed"), kafkaSet(t, "kafka-4.4.0/clean")
	b, err := startOnSet(t, ours)
	if err != nil {
		t.Fatal(err)
	}
	stop(t, b)
	want, got := filesOf(t, kafkas, "/data"), filesOf(t, ours, "/data")
	compared := 0
	for _, name := range union(want, got) {
		dir := strings.Split(strings.TrimPrefix(name, "/data/"), "/")[0]
		if !strings.Contains(strings.TrimPrefix(name, "/data/"), "/") || slices.ContainsFunc(changedSinceKilled, func(p string) bool { return strings.HasPrefix(dir, p) }) {
			continue
		}
		if strings.HasSuffix(dir, "-delete") {
			continue // it goes after a minute
		}
		w, inKafka := want[name]
		g, inOurs := got[name]
		compared++
		switch {
		case !inOurs:
			t.Errorf("%s: Kafka has it", name)
		case !inKafka:
			t.Errorf("%s: Kafka does not have it (%d bytes)", name, len(g))
		case path.Base(name) == "leader-epoch-checkpoint":
			if w, g := begunEpochs(t, kafkas, name), begunEpochs(t, ours, name); !slices.Equal(w, g) {
				t.Errorf("%s: %v, Kafka's has %v", name, g, w)
			}
		case path.Ext(name) == ".snapshot":
			compareProducers(t, name, w, g)
		case !bytes.Equal(w, g):
			t.Errorf("%s: %d bytes, Kafka's has %d:\n got %.200q\nwant %.200q", name, len(g), len(w), g, w)
		}
	}
	if compared < 100 {
		t.Errorf("only %d files were compared", compared)
	}
	for _, name := range []string{"log-start-offset-checkpoint", "cleaner-offset-checkpoint"} {
		if w, g := sortedLines(want["/data/"+name]), sortedLines(got["/data/"+name]); !slices.Equal(w, g) {
			t.Errorf("%s: %q, Kafka's is %q", name, g, w)
		}
	}
}

// compareProducers compares two producer snapshots; the order of the entries is that of a hash table.
func compareProducers(t *testing.T, name string, want, got []byte) {
	t.Helper()
	w, err1 := producer.DecodeSnapshot(want)
	g, err2 := producer.DecodeSnapshot(got)
	if err1 != nil || err2 != nil {
		t.Errorf("%s: %v %v", name, err1, err2)
		return
	}
	order := func(a, b producer.Entry) int { return int(a.ProducerID - b.ProducerID) }
	slices.SortFunc(w, order)
	slices.SortFunc(g, order)
	if !slices.Equal(w, g) {
		t.Errorf("%s:\n got %+v\nwant %+v", name, g, w)
	}
}

// begunEpochs are the leader epochs that wrote something. One that begins at the log end is forgotten by the next start;
// Kafka writes it to the file at once, Samsa with the first batch.
func begunEpochs(t *testing.T, fsys vfs.FS, name string) []epoch.Entry {
	t.Helper()
	ends, err := checkpoint.ReadOffsets(fsys, "/data/"+checkpoint.HighWatermarkFile)
	if err != nil {
		t.Fatal(err)
	}
	c, err := epoch.Open(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	partition, err := logdir.ParseName(path.Base(path.Dir(name)))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(slices.Clone(c.Entries()), func(e epoch.Entry) bool { return e.StartOffset >= ends[partition.TopicPartition] })
}

// filesOf is every file below dir with its content.
func filesOf(t testing.TB, fsys vfs.FS, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := dir + "/" + e.Name()
		if !e.IsDir() {
			files[name] = getFile(t, fsys, name)
			continue
		}
		for n, b := range filesOf(t, fsys, name) {
			files[n] = b
		}
	}
	return files
}

func union(a, b map[string][]byte) []string {
	var names []string
	for n := range a {
		names = append(names, n)
	}
	for n := range b {
		names = append(names, n)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func sortedLines(b []byte) []string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	slices.Sort(lines)
	return lines
}
