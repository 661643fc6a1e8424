package samsa_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// startShareBroker runs a broker with one partition of share state.
func startShareBroker(t *testing.T) string {
	t.Helper()
	return startBroker(t, map[string]string{
		"share.coordinator.state.topic.replication.factor": "1", "share.coordinator.state.topic.min.isr": "1", "share.coordinator.state.topic.num.partitions": "1",
		"transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1", "transaction.state.log.num.partitions": "1",
	}).Addr()
}

func shareClient(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(addr))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// shareFetchOf is a share fetch of partition 0.
func shareFetchOf(group, member string, epoch int32, topic [16]byte, waitMs int32) *kmsg.ShareFetchRequest {
	r := kmsg.NewPtrShareFetchRequest()
	r.Version = 2
	r.GroupID, r.MemberID, r.ShareSessionEpoch = &group, &member, epoch
	r.MaxWaitMillis, r.MinBytes, r.MaxBytes, r.MaxRecords, r.BatchSize = waitMs, 1, 1<<20, 100, 100
	t := kmsg.NewShareFetchRequestTopic()
	t.TopicID = topic
	t.Partitions = append(t.Partitions, kmsg.NewShareFetchRequestTopicPartition())
	r.Topics = append(r.Topics, t)
	return r
}

// TestShareGroupsOfCommittedRecords: a group with share.isolation.level=read_committed gets no records of aborted
// transactions, and none of open ones; another gets them all.
func TestShareGroupsOfCommittedRecords(t *testing.T) {
	addr := startShareBroker(t)
	admin := shareClient(t, addr)
	createTopic(t, admin, "committed", 1)
	c := dialRaw(t, addr)
	r, g := kmsg.NewPtrIncrementalAlterConfigsRequest(), kmsg.NewIncrementalAlterConfigsRequestResource()
	g.ResourceType, g.ResourceName = kmsg.ConfigResourceType(32), "some"
	k := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	k.Name, k.Value = "share.isolation.level", kmsg.StringPtr("read_committed")
	g.Configs = append(g.Configs, k)
	r.Resources = append(r.Resources, g)
	if got := c.mustAsk(t, r).(*kmsg.IncrementalAlterConfigsResponse).Resources[0]; got.ErrorCode != 0 {
		t.Fatal(*got.ErrorMessage)
	}
	m := &shareMember{t: t, cl: admin, topic: topicID(t, admin, "committed")}
	for _, m.group = range []string{"all", "some"} {
		eventually(t, "the state is initialised", func() bool { return m.initialise(t.Context()) == nil })
	}
	// Offsets 0-1 aborted, 2 marker, 3-4 committed, 5 marker, 6-7 open.
	txn := shareClient(t, addr, kgo.DefaultProduceTopic("committed"), kgo.TransactionalID("x"))
	for _, end := range []kgo.TransactionEndTry{kgo.TryAbort, kgo.TryCommit} {
		transact(t, txn)
		if err := txn.EndTransaction(t.Context(), end); err != nil {
			t.Fatal(err)
		}
	}
	transact(t, txn)
	for group, want := range map[string]string{"all": "0-7x1", "some": "2-5x1"} {
		resp := c.mustAsk(t, shareFetchOf(group, "m-"+group, 0, m.topic, 5000)).(*kmsg.ShareFetchResponse)
		if resp.ErrorCode != 0 || len(resp.Topics) != 1 {
			t.Fatalf("%s: %+v", group, resp)
		}
		var got []string
		for _, a := range resp.Topics[0].Partitions[0].AcquiredRecords {
			got = append(got, fmt.Sprintf("%d-%dx%d", a.FirstOffset, a.LastOffset, a.DeliveryCount))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s got %v, want %s", group, got, want)
		}
	}
	if err := txn.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
		t.Error(err)
	}
}

// transact writes two records in a new transaction.
func transact(t *testing.T, cl *kgo.Client) {
	t.Helper()
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Value: []byte("1")}, &kgo.Record{Value: []byte("2")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// TestDeletedTopicsEndShareFetches: a share fetch that waits learns at once that its topic is gone.
func TestDeletedTopicsEndShareFetches(t *testing.T) {
	addr := startShareBroker(t)
	admin := shareClient(t, addr)
	createTopic(t, admin, "gone", 1)
	m := &shareMember{t: t, cl: admin, topic: topicID(t, admin, "gone"), group: "g"}
	eventually(t, "the state is initialised", func() bool { return m.initialise(t.Context()) == nil })
	c := dialRaw(t, addr)
	answer := make(chan *kmsg.ShareFetchResponse, 1)
	go func() {
		resp, err := c.ask(shareFetchOf("g", "m", 0, m.topic, 600_000))
		if err != nil {
			t.Error(err)
			close(answer)
			return
		}
		answer <- resp.(*kmsg.ShareFetchResponse)
	}()
	d, dt := kmsg.NewPtrDeleteTopicsRequest(), kmsg.NewDeleteTopicsRequestTopic()
	dt.Topic = kmsg.StringPtr("gone")
	d.TimeoutMillis, d.Topics = 10_000, append(d.Topics, dt)
	d.TopicNames = []string{"gone"}
	if _, err := d.RequestWith(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	resp := <-answer
	if resp == nil {
		return
	}
	codes := map[int16]bool{}
	for _, tp := range resp.Topics {
		for _, p := range tp.Partitions {
			codes[p.ErrorCode] = true
		}
	}
	if got := slices.Collect(maps.Keys(codes)); len(got) != 1 || !errors.Is(kerr.ErrorForCode(got[0]), kerr.UnknownTopicID) {
		t.Errorf("told %v", got)
	}
}
