package samsa_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/record"
)

// Reports from frameworks that run on a broker: what Connect, Streams, Spark and schema registries rely on.

// TestA07TopicConfigsAsAsked: Connect refuses internal topics that are not compacted, so neither the broker's defaults nor
// its restart may touch what a topic was created with.
func TestA07TopicConfigsAsAsked(t *testing.T) {
	dir := t.TempDir()
	b := startIn(t, dir, map[string]string{"log.cleanup.policy": "delete", "log.retention.ms": "60000"})
	asked := map[string]string{"cleanup.policy": "compact", "min.insync.replicas": "1", "delete.retention.ms": "100", "retention.ms": "-1"}
	configs := map[string]*string{}
	for k, v := range asked {
		configs[k] = &v
	}
	adm := kadm.NewClient(clientOf(t, b))
	if _, err := adm.CreateTopic(t.Context(), 1, 1, configs, "connect-offsets"); err != nil {
		t.Fatal(err)
	}
	compare := func(when string, adm *kadm.Client) {
		t.Helper()
		described, err := adm.DescribeTopicConfigs(t.Context(), "connect-offsets")
		if err != nil || len(described) != 1 {
			t.Fatalf("%s: %v, %v", when, described, err)
		}
		left := maps.Clone(asked)
		for _, c := range described[0].Configs {
			want, ok := left[c.Key]
			if !ok {
				continue
			}
			if delete(left, c.Key); c.MaybeValue() != want || c.Source != kmsg.ConfigSourceDynamicTopicConfig {
				t.Errorf("%s: %s is %q from %s, %q was asked for", when, c.Key, c.MaybeValue(), c.Source, want)
			}
		}
		if len(left) > 0 {
			t.Errorf("%s: not described: %v", when, left)
		}
	}
	compare("created", adm)
	stop(t, b)
	b = startIn(t, dir, map[string]string{"log.cleanup.policy": "delete"})
	compare("started again", kadm.NewClient(clientOf(t, b)))
}

// TestA08OffsetOfTheLastRecord: a schema registry writes a record and waits until it has read up to the offset that was
// acknowledged. The offset must be the record's in every kind of log: new, started again, compacted, after a transaction.
func TestA08OffsetOfTheLastRecord(t *testing.T) {
	dir := t.TempDir()
	props := map[string]string{"transaction.state.log.num.partitions": "1", "transaction.state.log.replication.factor": "1", "log.cleaner.backoff.ms": "50", "log.initial.task.delay.ms": "0"}
	b := startIn(t, dir, props)
	cl := clientOf(t, b)
	compact, ratio, segment := "compact", "0.01", "1048576"
	if _, err := kadm.NewClient(cl).CreateTopic(t.Context(), 1, 1, map[string]*string{
		"cleanup.policy": &compact, "min.cleanable.dirty.ratio": &ratio, "segment.bytes": &segment}, "_schemas"); err != nil {
		t.Fatal(err)
	}
	readBack := func(when string) {
		t.Helper()
		key := []byte("noop")
		r, err := clientOf(t, b).ProduceSync(t.Context(), &kgo.Record{Topic: "_schemas", Key: key, Value: []byte(when)}).First()
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		all := readToEnd(t, b, "_schemas", r.Offset+1)
		if len(all) == 0 || all[len(all)-1].Offset != r.Offset || string(all[len(all)-1].Value) != when {
			t.Fatalf("%s: offset %d was acknowledged, the last record read is %v", when, r.Offset, all[max(len(all)-1, 0):])
		}
	}
	readBack("new")
	stop(t, b)
	b = startIn(t, dir, props)
	readBack("started again")
	transactional := clientOf(t, b, kgo.TransactionalID("registry"), kgo.DefaultProduceTopic("_schemas"))
	for _, end := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort} {
		if err := transactional.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := transactional.ProduceSync(t.Context(), &kgo.Record{Key: []byte("k")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := transactional.EndTransaction(t.Context(), end); err != nil {
			t.Fatal(err)
		}
		readBack(fmt.Sprintf("after a transaction, committed %v", bool(end)))
	}
	cl = clientOf(t, b, plain)
	for i := range 30 { // the first segment is full and can be compacted
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "_schemas", Key: []byte{byte(i % 3)}, Value: make([]byte, 100_000)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "compaction", func() bool {
		first := record.NewScanner(fetchFrom(t, cl, "_schemas", 1<<20, 1, 0, map[int32]int64{0: 0})[0].RecordBatches)
		return first.Next() && first.Batch().Count() == 0 // its record has a newer value; the producer still lives, so the empty batch stays
	})
	readBack("compacted")
}

// TestF10LeaderEpochGrows: clients refuse metadata whose leader epoch went back, and take one that repeats after a change of
// leadership for old news. A restart is such a change.
func TestF10LeaderEpochGrows(t *testing.T) {
	dir := t.TempDir()
	last := int32(-1)
	for round := range 4 {
		b := startIn(t, dir, nil)
		cl := clientOf(t, b)
		if round == 0 {
			createTopic(t, cl, "epochs", 1)
		}
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "epochs", Value: []byte("a")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		epoch := topicOf(t, kadm.NewClient(cl), "epochs").Partitions[0].LeaderEpoch
		if epoch < 0 || epoch <= last {
			t.Errorf("round %d: leader epoch %d follows %d", round, epoch, last)
		}
		last = epoch
		stop(t, b)
	}
}

// plain makes records as large on disk as they look here.
var plain = kgo.ProducerBatchCompression(kgo.NoCompression())

// TestM03OffsetsDoNotGoBack: Spark stops when the earliest or the latest offset is lower than the one it saw. Asked again
// and again while records come and retention deletes segments, neither ever goes back, and earliest stays below latest.
func TestM03OffsetsDoNotGoBack(t *testing.T) {
	b := startBroker(t, map[string]string{"log.retention.check.interval.ms": "10", "log.initial.task.delay.ms": "0"})
	cl := clientOf(t, b)
	segment, keep := "1048576", "2000000"
	if _, err := kadm.NewClient(cl).CreateTopic(t.Context(), 1, 1, map[string]*string{"segment.bytes": &segment, "retention.bytes": &keep}, "spark"); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() {
		producer, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.DefaultProduceTopic("spark"), plain)
		if err != nil {
			written <- err
			return
		}
		defer producer.Close()
		for range 120 {
			if err = producer.ProduceSync(t.Context(), &kgo.Record{Value: make([]byte, 100_000)}).FirstErr(); err != nil {
				break
			}
		}
		written <- err
	}()
	var earliest, latest int64
	look := func() {
		t.Helper()
		first, _ := listOffset(t, cl, "spark", -2, 0)
		end, _ := listOffset(t, cl, "spark", -1, 0)
		if first < earliest || end < latest || first > end {
			t.Fatalf("earliest %d and latest %d, %d and %d before", first, end, earliest, latest)
		}
		earliest, latest = first, end
	}
	for done := false; !done; {
		look()
		select {
		case err := <-written:
			if err != nil {
				t.Fatal(err)
			}
			done = true
		default:
		}
	}
	eventually(t, "retention", func() bool { look(); return earliest > 60 && latest == 120 })
}

// TestM05RecordsDeletedInALoop: Streams deletes what it has read of its repartition topics, which have no other retention.
// The space must come back soon, under either policy.
func TestM05RecordsDeletedInALoop(t *testing.T) {
	for _, policy := range []string{"delete", ""} {
		t.Run("policy "+policy, func(t *testing.T) {
			dir := t.TempDir()
			b := startIn(t, dir, map[string]string{"log.retention.check.interval.ms": "20", "log.initial.task.delay.ms": "0", "log.segment.delete.delay.ms": "0"})
			cl := clientOf(t, b, plain)
			adm := kadm.NewClient(cl)
			segment, forever := "1048576", "-1"
			if _, err := adm.CreateTopic(t.Context(), 1, 1, map[string]*string{"segment.bytes": &segment, "retention.ms": &forever, "cleanup.policy": &policy}, "repartition"); err != nil {
				t.Fatal(err)
			}
			for range 20 {
				r, err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "repartition", Value: make([]byte, 900_000)}).First()
				if err != nil {
					t.Fatal(err)
				}
				var o kadm.Offsets
				o.AddOffset("repartition", 0, r.Offset+1, -1)
				deleted, err := adm.DeleteRecords(t.Context(), o)
				if err != nil || deleted.Error() != nil {
					t.Fatal(err, deleted.Error())
				}
			}
			eventually(t, "the space to come back", func() bool { return logBytes(t, filepath.Join(dir, "repartition-0")) <= 2<<20 })
		})
	}
}

// logBytes is the size of the segments in a partition's directory, those that wait for their deletion too.
func logBytes(t *testing.T, dir string) int64 {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.log*"))
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, f := range files {
		if i, err := os.Stat(f); err == nil { // one may go in between
			sum += i.Size()
		}
	}
	return sum
}

// TestE01FirstCallSucceeds: when Start has returned, everything works at the first try, and nobody has to ask again until a
// coordinator is there.
func TestE01FirstCallSucceeds(t *testing.T) {
	for round := range 5 {
		b := startBroker(t, map[string]string{"transaction.state.log.num.partitions": "1", "transaction.state.log.replication.factor": "1"})
		c := dialRaw(t, b.Addr())
		for _, kind := range []int8{0, 1} {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.Version, req.CoordinatorType, req.CoordinatorKeys = 4, kind, []string{"first"}
			got := c.mustAsk(t, req).(*kmsg.FindCoordinatorResponse).Coordinators[0]
			if got.ErrorCode != 0 {
				t.Errorf("round %d: coordinator of type %d: %v", round, kind, kerr.ErrorForCode(got.ErrorCode))
			}
		}
		init := kmsg.NewPtrInitProducerIDRequest()
		id := "first"
		init.Version, init.TransactionalID, init.TransactionTimeoutMillis, init.ProducerID, init.ProducerEpoch = 4, &id, 60_000, -1, -1
		if got := c.mustAsk(t, init).(*kmsg.InitProducerIDResponse); got.ErrorCode != 0 {
			t.Errorf("round %d: producer id: %v", round, kerr.ErrorForCode(got.ErrorCode))
		}
		stop(t, b)
	}
}
