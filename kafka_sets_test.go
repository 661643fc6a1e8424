package samsa_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/samsalog/samsa"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

// TestKafkasDirectories: every directory that Apache Kafka left is served whole: records, transactions, the last values of
// a compacted topic, offsets, topic ids, features, groups.
func TestKafkasDirectories(t *testing.T) {
	for _, c := range []struct {
		set, version string
		features     map[string]int16
		groups       []string
		firstEnd     int64
	}{
		{"kafka-4.4.0/killed", "kafka-4.4.0", levels440, []string{"golden-admin", "golden-group"}, 1},
		{"kafka-4.4.0/clean", "kafka-4.4.0", levels440, []string{"golden-admin", "golden-group", "new-group", "share-group"}, 2},
		{"kafka-3.9.1/clean", "kafka-3.9.1", map[string]int16{"metadata.version": 21}, []string{"golden-admin", "golden-group"}, 1},
	} {
		t.Run(c.set, func(t *testing.T) {
			mem := kafkaSet(t, c.set)
			ids := topicIDs(t, mem)
			b, err := startOnSet(t, mem)
			if err != nil {
				t.Fatal(err)
			}
			defer stop(t, b)
			if b.ClusterID() != "MkU3OEVBNTcwNTJENDM2Qg" {
				t.Errorf("cluster %s", b.ClusterID())
			}
			cl := clientOf(t, b)
			admin := kadm.NewClient(cl)
			compareTopics(t, admin, ids)
			compareRecords(t, b, c.version)
			compareSetOffsets(t, cl, c.firstEnd)
			compareGroups(t, admin, c.groups)
			compareTransactions(t, admin)
			features := finalizedFeatures(t, admin)
			for name, want := range c.features {
				if got := features[name]; got != want {
					t.Errorf("%s: %d, want %d", name, got, want)
				}
			}
		})
	}
}

var levels440 = map[string]int16{
	"metadata.version": 33, "eligible.leader.replicas.version": 1, "group.version": 1, "kraft.version": 1,
	"share.version": 2, "streams.version": 1, "transaction.version": 2,
}

func finalizedFeatures(t *testing.T, admin *kadm.Client) map[string]int16 {
	t.Helper()
	brokers, err := admin.ApiVersions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	levels := map[string]int16{}
	for _, b := range brokers {
		for _, f := range b.Raw().FinalizedFeatures {
			levels[f.Name] = f.MaxVersionLevel
		}
	}
	return levels
}

// topicIDs are the ids by topic as the partition directories tell them.
func topicIDs(t *testing.T, fsys vfs.FS) map[string]string {
	ids := map[string]string{}
	entries, err := fsys.ReadDir("/data")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() || strings.HasSuffix(e.Name(), "-delete") || e.Name() == "__cluster_metadata-0" {
			continue
		}
		id, err := checkpoint.ReadPartitionMetadata(fsys, "/data/"+e.Name()+"/"+checkpoint.PartitionMetadataFile)
		if err != nil {
			t.Fatal(err)
		}
		ids[e.Name()[:strings.LastIndexByte(e.Name(), '-')]] = kadm.TopicID(id).String()
	}
	return ids
}

func compareTopics(t *testing.T, admin *kadm.Client, ids map[string]string) {
	t.Helper()
	topics, err := admin.ListTopicsWithInternal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, d := range topics {
		got[d.Topic] = d.ID.String()
		for _, p := range d.Partitions {
			if p.Err != nil || p.Leader != 1 {
				t.Errorf("%s-%d: leader %d, %v", d.Topic, p.Partition, p.Leader, p.Err)
			}
		}
	}
	if !maps.Equal(got, ids) {
		t.Errorf("topics %v, want %v", got, ids)
	}
}

// compareRecords reads every topic that was written to, as both isolation levels show it.
func compareRecords(t *testing.T, b *samsa.Broker, version string) {
	t.Helper()
	records, latest := expectations(t, version)
	if len(records) != 8 || len(latest) != 200 {
		t.Fatalf("%d topics, %d keys are expected", len(records), len(latest))
	}
	for topic, all := range records {
		compareExpected(t, topic, all, readAll(t, b, topic, kgo.ReadUncommitted()))
		committed := slices.DeleteFunc(slices.Clone(all), func(e expectation) bool { return e.Txn == "abort" || e.Txn == "open" })
		compareExpected(t, topic+", committed", committed, readAll(t, b, topic, kgo.ReadCommitted()))
	}
	last := map[string]*string{}
	for _, r := range readAll(t, b, "compacted", kgo.ReadUncommitted()) {
		last[string(r.Key)] = expectationOf(r).ValueSha256
	}
	for key, want := range latest {
		got := last[key]
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("compacted: %s has another last value", key)
		}
		delete(last, key)
	}
	if len(last) > 0 {
		t.Errorf("compacted: keys that were never written: %v", last)
	}
}

func compareSetOffsets(t *testing.T, cl *kgo.Client, firstEnd int64) {
	t.Helper()
	admin := kadm.NewClient(cl)
	starts, err1 := admin.ListStartOffsets(t.Context())
	ends, err2 := admin.ListEndOffsets(t.Context())
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct {
		topic      string
		partition  int32
		start, end int64
	}{
		{"trimmed", 0, 20, 50}, {"trimmed", 1, 0, 0}, {"trimmed", 2, 0, 0}, {"empty", 2, 0, 0}, {"first", 0, 0, firstEnd},
		{"names.with_dots-and-dashes", 0, 0, 0}, {"rolled", 0, 0, 700}, {"txn", 0, 0, 271}, {"txn", 1, 0, 270}, {"compacted", 0, 0, 3000},
	} {
		s, _ := starts.Lookup(w.topic, w.partition)
		e, _ := ends.Lookup(w.topic, w.partition)
		if s.Err != nil || e.Err != nil || s.Offset != w.start || e.Offset != w.end {
			t.Errorf("%s-%d: %d to %d (%v %v), want %d to %d", w.topic, w.partition, s.Offset, e.Offset, s.Err, e.Err, w.start, w.end)
		}
	}
}

func compareGroups(t *testing.T, admin *kadm.Client, want []string) {
	t.Helper()
	listed, err := admin.ListGroups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(slices.Values(listed.Groups()))
	if !slices.Equal(got, want) {
		t.Errorf("groups %v, want %v", got, want)
	}
	offsets, err := admin.FetchOffsets(t.Context(), "golden-admin")
	if o, ok := offsets.Lookup("codec-zstd", 0); err != nil || !ok || o.At != 7 || o.Metadata == "" {
		t.Errorf("golden-admin: %+v %v", o, err)
	}
	offsets, err = admin.FetchOffsets(t.Context(), "golden-group")
	if o, ok := offsets.Lookup("rolled", 0); err != nil || !ok || o.At <= 0 || o.At > 700 {
		t.Errorf("golden-group: %+v %v", o, err)
	}
}

// compareTransactions: the one that was left open is open, with its partition, and no other.
func compareTransactions(t *testing.T, admin *kadm.Client) {
	t.Helper()
	txns, err := admin.DescribeTransactions(t.Context())
	if err != nil || len(txns) != 4 {
		t.Fatal(err, txns)
	}
	for id, x := range txns {
		switch {
		case id == "golden-open" && (x.State != "Ongoing" || !x.Topics.Lookup("txn", 0)):
			t.Errorf("golden-open: %+v", x)
		case id != "golden-open" && x.State != "CompleteCommit" && x.State != "CompleteAbort":
			t.Errorf("%s: %+v", id, x)
		}
	}
}

// TestKafkasFormattedDirectories: a directory that Kafka's storage tool has just formatted begins its life with Samsa, at the
// levels that it was formatted with.
func TestKafkasFormattedDirectories(t *testing.T) {
	for set, want := range map[string]int16{"kafka-4.4.0/formatted": 33, "kafka-3.9.1/formatted": 21} {
		b, err := startOnSet(t, kafkaSet(t, set))
		if err != nil {
			t.Fatal(set, err)
		}
		cl := clientOf(t, b)
		if got := finalizedFeatures(t, kadm.NewClient(cl))["metadata.version"]; got != want || b.ClusterID() != "MkU3OEVBNTcwNTJENDM2Qg" {
			t.Errorf("%s: metadata.version %d, cluster %s", set, got, b.ClusterID())
		}
		createTopic(t, cl, "new", 1)
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "new", Value: []byte("x")}).FirstErr(); err != nil {
			t.Errorf("%s: %v", set, err)
		}
		stop(t, b)
	}
}
