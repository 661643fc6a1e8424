package handler_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/samsalog/samsa"
	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/internal/handler"
)

// startBroker runs a broker in a directory of its own.
func startBroker(t *testing.T) string {
	t.Helper()
	b, err := samsa.Start(t.Context(), samsa.Config{
		Dirs: []string{t.TempDir()}, Listen: "127.0.0.1:0",
		Properties: map[string]string{"offsets.topic.num.partitions": "1", "offsets.topic.replication.factor": "1", "group.initial.rebalance.delay.ms": "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := b.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return b.Addr()
}

// V-03, V-05: the versions of the APIs fit together for clients of every Kafka release: each creates a topic,
// produces, consumes in a group, commits and leaves.
func TestV03ClientsOfEveryRelease(t *testing.T) {
	addr := startBroker(t)
	releases := map[string]*kversion.Versions{
		"0.11.0": kversion.V0_11_0(), "1.0": kversion.V1_0_0(), "1.1": kversion.V1_1_0(), "2.0": kversion.V2_0_0(), "2.1": kversion.V2_1_0(),
		"2.3": kversion.V2_3_0(), "2.4": kversion.V2_4_0(), "2.5": kversion.V2_5_0(), "2.7": kversion.V2_7_0(), "2.8": kversion.V2_8_0(),
		"3.0": kversion.V3_0_0(), "3.1": kversion.V3_1_0(), "3.3": kversion.V3_3_0(), "3.5": kversion.V3_5_0(), "3.7": kversion.V3_7_0(),
		"3.9": kversion.V3_9_0(), "4.0": kversion.V4_0_0(), "newest": nil,
	}
	for name, versions := range releases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			walkThrough(ctx, t, addr, "release-"+name, versions)
		})
	}
}

func walkThrough(ctx context.Context, t *testing.T, addr, topic string, versions *kversion.Versions) {
	opts := []kgo.Opt{kgo.SeedBrokers(addr), kgo.ConsumeTopics(topic), kgo.ConsumerGroup("group-" + topic), kgo.DefaultProduceTopic(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit()}
	if versions != nil {
		opts = append(opts, kgo.MaxVersions(versions))
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	create := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = topic, 2, 1
	create.Topics = append(create.Topics, rt)
	created, err := create.RequestWith(ctx, cl)
	if err == nil {
		err = kerr.ErrorForCode(created.Topics[0].ErrorCode)
	}
	if err != nil {
		t.Fatal(err)
	}
	const n = 20
	want := map[string]bool{}
	for i := range n {
		value := fmt.Sprintf("%s %d", topic, i)
		want[value] = true
		if err := cl.ProduceSync(ctx, kgo.StringRecord(value)).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for len(want) > 0 {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if !want[string(r.Value)] {
				t.Errorf("unexpected or repeated record %q", r.Value)
			}
			delete(want, string(r.Value))
		})
	}
	if err := cl.CommitUncommittedOffsets(ctx); err != nil {
		t.Fatal(err)
	}
	if err := cl.LeaveGroupContext(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestEveryServedVersionIsAnswered: whatever is served has an answer in its own layout, be it an error; whatever lies
// outside closes the connection.
func TestEveryServedVersionIsAnswered(t *testing.T) {
	addr := startBroker(t)
	h := handler.New(handler.Deps{Config: func() config.Layers { return config.Layers{} }})
	answered := 0
	for key := range int16(kmsg.MaxKey + 1) {
		lo, hi, ok := h.Range(nil, key)
		if !ok {
			continue
		}
		for version := lo; version <= hi; version++ {
			if resp, err := ask(addr, defaultRequest(key, version)); err != nil {
				t.Errorf("%s v%d: %v", kmsg.NameForKey(key), version, err)
			} else if string(resp.AppendTo(nil)) == "" {
				t.Errorf("%s v%d: empty answer", kmsg.NameForKey(key), version)
			} else {
				answered++
			}
		}
		for _, version := range []int16{lo - 1, hi + 1} {
			if version >= 0 && version <= kmsg.RequestForKey(key).MaxVersion() && key != 18 {
				if _, err := ask(addr, defaultRequest(key, version)); err == nil {
					t.Errorf("%s v%d is answered although it is not served", kmsg.NameForKey(key), version)
				}
			}
		}
	}
	if answered < 150 {
		t.Errorf("only %d versions", answered)
	}
}

func defaultRequest(key, version int16) kmsg.Request {
	req := kmsg.RequestForKey(key)
	req.(interface{ Default() }).Default()
	if p, ok := req.(*kmsg.ProduceRequest); ok {
		p.Acks = 1
	}
	req.SetVersion(version)
	return req
}

// ask sends one request on a connection of its own, without asking for versions first.
func ask(addr string, req kmsg.Request) (kmsg.Response, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := c.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("t")).AppendRequest(nil, req, 5)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(c, b); err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	b = b[4:]
	if resp.IsFlexible() && resp.Key() != 18 {
		b = b[1:]
	}
	return resp, resp.ReadFrom(b)
}

// TestOldestVersions: clients that pin what Kafka 4 has dropped find it: topics are created and deleted, offsets
// committed, fetched and listed.
func TestOldestVersions(t *testing.T) {
	addr := startBroker(t)
	create := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = "old", 1, 1
	create.Topics = append(create.Topics, rt)
	if got := must[*kmsg.CreateTopicsResponse](t, addr, create); got.Topics[0].ErrorCode != 0 {
		t.Fatalf("CreateTopics v0: %+v", got)
	}
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = "g"
	if got := must[*kmsg.FindCoordinatorResponse](t, addr, find); got.ErrorCode != 0 || got.NodeID != 1 {
		t.Fatalf("FindCoordinator v0: %+v", got)
	}
	for version := range int16(3) {
		commit := kmsg.NewPtrOffsetCommitRequest()
		commit.Version, commit.Group = version, "g"
		ct, cp := kmsg.NewOffsetCommitRequestTopic(), kmsg.NewOffsetCommitRequestTopicPartition()
		ct.Topic, cp.Offset = "old", int64(10+version)
		ct.Partitions = append(ct.Partitions, cp)
		commit.Topics = append(commit.Topics, ct)
		if got := must[*kmsg.OffsetCommitResponse](t, addr, commit); got.Topics[0].Partitions[0].ErrorCode != 0 {
			t.Errorf("OffsetCommit v%d: %+v", version, got)
		}
		fetch := kmsg.NewPtrOffsetFetchRequest()
		fetch.Group = "g"
		ft := kmsg.NewOffsetFetchRequestTopic()
		ft.Topic, ft.Partitions = "old", []int32{0}
		fetch.Topics = append(fetch.Topics, ft)
		if got := must[*kmsg.OffsetFetchResponse](t, addr, fetch); got.Topics[0].Partitions[0].Offset != int64(10+version) {
			t.Errorf("OffsetFetch v0 after commit v%d: %+v", version, got)
		}
	}
	list := kmsg.NewPtrListOffsetsRequest()
	lt, lp := kmsg.NewListOffsetsRequestTopic(), kmsg.NewListOffsetsRequestTopicPartition()
	lt.Topic, lp.Timestamp, lp.MaxNumOffsets = "old", -1, 1
	lt.Partitions = append(lt.Partitions, lp)
	list.Topics = append(list.Topics, lt)
	if got := must[*kmsg.ListOffsetsResponse](t, addr, list).Topics[0].Partitions[0]; got.ErrorCode != 0 || len(got.OldStyleOffsets) != 1 {
		t.Errorf("ListOffsets v0: %+v", got)
	}
	del := kmsg.NewPtrDeleteTopicsRequest()
	del.TopicNames = []string{"old"}
	if got := must[*kmsg.DeleteTopicsResponse](t, addr, del); got.Topics[0].ErrorCode != 0 {
		t.Errorf("DeleteTopics v0: %+v", got)
	}
}

func must[T kmsg.Response](t *testing.T, addr string, req kmsg.Request) T {
	t.Helper()
	resp, err := ask(addr, req)
	if err != nil {
		t.Fatalf("%s v%d: %v", kmsg.NameForKey(req.Key()), req.GetVersion(), err)
	}
	return resp.(T)
}
