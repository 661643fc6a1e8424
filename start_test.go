package samsa_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/samsalog/samsa"
	"github.com/samsalog/samsa/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startBroker runs a broker on a free port until the test ends.
func startBroker(t *testing.T, properties map[string]string) *samsa.Broker {
	t.Helper()
	return startIn(t, t.TempDir(), properties)
}

func startIn(t *testing.T, dir string, properties map[string]string) *samsa.Broker {
	t.Helper()
	return startOn(t, []string{dir}, properties)
}

func startOn(t *testing.T, dirs []string, properties map[string]string) *samsa.Broker {
	t.Helper()
	props := map[string]string{"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "4"}
	maps.Copy(props, properties)
	b, err := samsa.Start(t.Context(), samsa.Config{Dirs: dirs, Listen: "127.0.0.1:0", Properties: props})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, b) })
	return b
}

func stop(t *testing.T, b *samsa.Broker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := b.Shutdown(ctx); err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

// clientOf connects to a broker until the test ends.
func clientOf(t *testing.T, b *samsa.Broker, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.Addr()), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func createTopic(t *testing.T, cl *kgo.Client, name string, partitions int32) {
	t.Helper()
	if _, err := kadm.NewClient(cl).CreateTopic(t.Context(), partitions, 1, nil, name); err != nil {
		t.Fatal(err)
	}
}

// TestReadyWhenStartReturns: the first request of every kind succeeds without a retry (E-01).
func TestReadyWhenStartReturns(t *testing.T) {
	for range 5 {
		cl := clientOf(t, startBroker(t, nil), kgo.RecordRetries(0), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("first"))
		if err := cl.ProduceSync(t.Context(), kgo.StringRecord("hello")).FirstErr(); err != nil {
			t.Fatal(err)
		}
		o := kadm.Offsets{}
		o.AddOffset("first", 0, 1, -1)
		if err := kadm.NewClient(cl).CommitAllOffsets(t.Context(), "g", o); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSecondBrokerIsRefused: two brokers never share a directory.
func TestSecondBrokerIsRefused(t *testing.T) {
	dir := t.TempDir()
	startIn(t, dir, nil)
	_, err := samsa.Start(t.Context(), samsa.Config{Dirs: []string{dir}, Listen: "127.0.0.1:0"})
	if !errors.Is(err, vfs.ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Fatalf("second broker: %v", err)
	}
}

// TestStartFailsClean: a start that fails leaves nothing behind (SAM-3; the leak check sees the rest).
func TestStartFailsClean(t *testing.T) {
	b := startBroker(t, nil)
	dir := t.TempDir()
	if _, err := samsa.Start(t.Context(), samsa.Config{Dirs: []string{dir}, Listen: b.Addr()}); err == nil {
		t.Fatal("two brokers on one address")
	}
	startIn(t, dir, nil)
	for name, c := range map[string]samsa.Config{
		"no directory":   {Listen: "127.0.0.1:0"},
		"bad number":     {Dirs: []string{t.TempDir()}, Properties: map[string]string{"num.partitions": "many"}},
		"other node":     {Dirs: []string{dir}, Listen: "127.0.0.1:0", Properties: map[string]string{"node.id": "7"}},
		"other protocol": {Dirs: []string{t.TempDir()}, Properties: map[string]string{"listeners": "SSL://127.0.0.1:0"}},
	} {
		if b, err := samsa.Start(t.Context(), c); err == nil {
			stop(t, b)
			t.Errorf("%s: started", name)
		}
	}
}

// TestRestartKeepsEverything: records, offsets, groups, topic ids and configs come back, the leader epoch has grown
// (F-10) and offsets go on where they ended.
func TestRestartKeepsEverything(t *testing.T) {
	dir := t.TempDir()
	b := startIn(t, dir, nil)
	cl := clientOf(t, b)
	adm := kadm.NewClient(cl)
	v := "60000"
	if _, err := adm.CreateTopic(t.Context(), 2, 1, map[string]*string{"retention.ms": &v}, "kept"); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "kept", Partition: 1, Value: []byte("v")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	o := kadm.Offsets{}
	o.AddOffset("kept", 1, 7, 0)
	if err := adm.CommitAllOffsets(t.Context(), "g", o); err != nil {
		t.Fatal(err)
	}
	before := topicOf(t, adm, "kept")
	stop(t, b)

	adm = kadm.NewClient(clientOf(t, startIn(t, dir, nil)))
	after := topicOf(t, adm, "kept")
	if after.ID != before.ID || len(after.Partitions) != 2 {
		t.Fatalf("topic was %+v, is %+v", before, after)
	}
	if was, is := before.Partitions[1].LeaderEpoch, after.Partitions[1].LeaderEpoch; is <= was {
		t.Errorf("leader epoch was %d, is %d", was, is)
	}
	ends, err := adm.ListEndOffsets(t.Context(), "kept")
	if end, _ := ends.Lookup("kept", 1); err != nil || end.Offset != 10 {
		t.Errorf("end offset %d, %v", end.Offset, err)
	}
	offsets, err := adm.FetchOffsets(t.Context(), "g")
	if got, _ := offsets.Lookup("kept", 1); err != nil || got.At != 7 {
		t.Errorf("committed offset %d, %v", got.At, err)
	}
	configs, err := adm.DescribeTopicConfigs(t.Context(), "kept")
	if err != nil || len(configs) != 1 {
		t.Fatal(err)
	}
	for _, c := range configs[0].Configs {
		if c.Key == "retention.ms" && c.MaybeValue() != v {
			t.Errorf("retention.ms is %s", c.MaybeValue())
		}
	}
}

func topicOf(t *testing.T, adm *kadm.Client, name string) kadm.TopicDetail {
	t.Helper()
	topics, err := adm.ListTopics(t.Context(), name)
	if err != nil || topics[name].Err != nil {
		t.Fatalf("topic %s: %v, %v", name, err, topics[name].Err)
	}
	return topics[name]
}
