package controller

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

func TestRegister(t *testing.T) {
	n := newNode(t, nil)
	b := n.store.Image().Brokers[1]
	if b == nil || b.Fenced || b.Epoch != 12 || !slices.Equal(b.LogDirs, n.dirs) || len(b.Endpoints) != 1 || len(b.Features) != len(metadata.SupportedFeatures()) || b.IncarnationID.IsZero() {
		t.Errorf("%+v", b)
	}
	if b.CordonedLogDirs == nil {
		t.Error("the directories that are cordoned are not known to be none")
	}
}

// Field report F-10: the leader epoch grows at every restart, whether the stop was in order or not.
func TestLeaderEpochGrowsAtEveryRestart(t *testing.T) {
	n := newNode(t, nil)
	n.create("a", 3)
	epoch, brokerEpoch := record.LeaderEpoch(0), n.store.Image().Brokers[1].Epoch
	for round, stop := range []bool{false, true, false, true} {
		n.restart(stop)
		for p, part := range n.topic("a").Partitions {
			if part.Leader != 1 || part.LeaderEpoch <= epoch || !slices.Equal(part.ISR, []int32{1}) || len(part.ELR)+len(part.LastKnownELR) != 0 {
				t.Errorf("restart %d: partition %d: %+v, leader epoch was %d", round, p, part, epoch)
			}
		}
		epoch = n.topic("a").Partitions[0].LeaderEpoch
		b := n.store.Image().Brokers[1]
		if b.Epoch <= brokerEpoch || b.Fenced || b.InControlledShutdown {
			t.Errorf("restart %d: broker %+v, epoch was %d", round, b, brokerEpoch)
		}
		brokerEpoch = b.Epoch
	}
}

// What a stop in order leaves is what Kafka's controlled shutdown leaves.
func TestShutdown(t *testing.T) {
	n := newNode(t, nil)
	n.create("a", 1)
	if err := n.c.Shutdown(); err != nil {
		t.Fatal(err)
	}
	p, b := n.topic("a").Partitions[0], n.store.Image().Brokers[1]
	if p.Leader != -1 || len(p.ISR) != 0 || !slices.Equal(p.ELR, []int32{1}) || !slices.Equal(p.LastKnownELR, []int32{1}) || p.LeaderEpoch != 1 {
		t.Errorf("partition %+v", p)
	}
	if !b.Fenced || !b.InControlledShutdown {
		t.Errorf("broker %+v", b)
	}
	end := n.store.Log().LogEndOffset()
	if err := n.c.Shutdown(); err != nil || n.store.Log().LogEndOffset() != end {
		t.Errorf("a second stop wrote something: %v", err)
	}
	if _, err := n.c.CreateTopic("b", 1, 1, nil); !errors.Is(err, kerr.InvalidReplicationFactor) {
		t.Errorf("creating without a live broker: %v", err)
	}
}

// Without eligible leader replicas the last in-sync replica stays in the ISR.
func TestShutdownWithoutELR(t *testing.T) {
	n := newNode(t, nil)
	if _, err := n.store.Append(&stored.FeatureLevelRecord{Name: metadata.ELRVersionFeature}); err != nil {
		t.Fatal(err)
	}
	n.create("a", 1)
	if err := n.c.Shutdown(); err != nil {
		t.Fatal(err)
	}
	if p := n.topic("a").Partitions[0]; p.Leader != -1 || !slices.Equal(p.ISR, []int32{1}) || len(p.ELR) != 0 {
		t.Errorf("%+v", p)
	}
	n.restart(false)
	if p := n.topic("a").Partitions[0]; p.Leader != 1 || !slices.Equal(p.ISR, []int32{1}) {
		t.Errorf("%+v", p)
	}
}

// A directory of a larger cluster: who may lead what, and the other brokers.
func TestRegisterInALargerCluster(t *testing.T) {
	n := newNode(t, nil)
	topic := record.UUID{1}
	records := []stored.Message{&stored.TopicRecord{Name: "a", TopicID: topic}}
	for p, c := range []struct{ replicas, isr, elr, last []int32 }{
		{replicas: []int32{2, 1}, isr: []int32{2, 1}},
		{replicas: []int32{2, 1}, isr: []int32{2}},
		{replicas: []int32{2, 1}, elr: []int32{1, 2}},
		{replicas: []int32{2, 1}, last: []int32{1}},
		{replicas: []int32{2, 1}, last: []int32{2}},
		{replicas: []int32{2}, isr: []int32{2}},
	} {
		m := stored.NewPartitionRecord()
		m.PartitionID, m.TopicID, m.Replicas, m.ISR, m.Leader, m.LeaderEpoch, m.PartitionEpoch = int32(p), topic, c.replicas, c.isr, 2, 5, 7
		m.EligibleLeaderReplicas, m.LastKnownELR, m.LeaderRecoveryState = c.elr, c.last, 1
		records = append(records, &m)
	}
	other := stored.NewRegisterBrokerRecord()
	other.BrokerID, other.BrokerEpoch, other.Fenced, other.LogDirs = 2, 99, false, []record.UUID{{9}}
	if _, err := n.store.Append(append(records, &other)...); err != nil {
		t.Fatal(err)
	}
	n.restart(false)
	if b := n.store.Image().Brokers[2]; !b.Fenced {
		t.Error("broker 2 cannot be there and is not fenced")
	}
	for p, want := range []bool{true, false, true, true, false, false} {
		part := n.topic("a").Partitions[p]
		if leads := part.Leader == 1; leads != want {
			t.Errorf("partition %d: %+v, should be led here: %t", p, part, want)
		}
		if want && (part.LeaderEpoch != 6 || !slices.Equal(part.ISR, []int32{1}) || part.LeaderRecoveryState != 0 || slices.Contains(part.ELR, 1) || len(part.LastKnownELR) != 0 || part.Directories[1] != n.dirs[0]) {
			t.Errorf("partition %d: %+v", p, part)
		}
		if !want && (part.LeaderEpoch != 5 || part.PartitionEpoch != 7) {
			t.Errorf("partition %d was touched: %+v", p, part)
		}
	}
	if err := n.c.AlterConfigRecords(metadata.ConfigResource{Type: metadata.TopicResource, Name: "a"}, map[string]*string{"unclean.leader.election.enable": new("true")}); err != nil {
		t.Fatal(err)
	}
	n.restart(false)
	if p := n.topic("a").Partitions[1]; p.Leader != 1 || !slices.Equal(p.ISR, []int32{1}) {
		t.Errorf("unclean election was allowed: %+v", p)
	}
	if p := n.topic("a").Partitions[5]; p.Leader != 2 {
		t.Errorf("led without a replica: %+v", p)
	}
}

// More partitions than go into one batch.
func TestRegisterInParts(t *testing.T) {
	n := newNode(t, nil)
	for _, name := range []string{"a", "b", "c"} {
		n.create(name, 4000)
	}
	n.restart(true)
	for topic := range n.store.Image().Topics.All() {
		for p, part := range topic.Partitions {
			if part.Leader != 1 || part.LeaderEpoch != 2 {
				t.Fatalf("%s-%d: %+v", topic.Name, p, part)
			}
		}
	}
}

// CTL-3: ids are never handed out twice, whoever asks and whatever happens in between.
func TestProducerIDsAreNeverRepeated(t *testing.T) {
	n := newNode(t, nil)
	seen := map[record.ProducerID]bool{}
	var mu sync.Mutex
	take := func() {
		first, count, err := n.c.AllocateProducerIDs()
		mu.Lock()
		defer mu.Unlock()
		if err != nil || count != 1000 || seen[first] || first%1000 != 0 {
			t.Errorf("block %d of %d ids, %v", first, count, err)
		}
		seen[first] = true
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(take)
	}
	wg.Wait()
	n.restart(false)
	take()
	if len(seen) != 9 || !seen[8000] {
		t.Errorf("%v", seen)
	}
	if _, err := n.store.Append(&stored.ProducerIdsRecord{NextProducerID: 1<<63 - 1000}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := n.c.AllocateProducerIDs(); !errors.Is(err, kerr.UnknownServerError) {
		t.Errorf("no ids are left: %v", err)
	}
}

// Field report X-12: an internal topic gets the replicas that there are brokers for, and the log says so.
func TestInternalTopicWithTooManyReplicas(t *testing.T) {
	var text bytes.Buffer
	n := newNode(t, nil)
	n.c.o.Logger = slog.New(slog.NewTextHandler(&text, nil))
	topic, err := n.c.CreateTopic("__consumer_offsets", 50, 3, map[string]string{"cleanup.policy": "compact"})
	if err != nil || len(topic.Partitions) != 50 || len(topic.Partitions[0].Replicas) != 1 {
		t.Fatal(topic, err)
	}
	if s := text.String(); !strings.Contains(s, "__consumer_offsets") || !strings.Contains(s, "configured=3") || !strings.Contains(s, "brokers=1") {
		t.Errorf("log: %s", s)
	}
	again, err := n.c.CreateTopic("__consumer_offsets", 3, 1, nil)
	if err != nil || again.ID != topic.ID {
		t.Errorf("a topic that exists: %+v, %v", again, err)
	}
	if _, err := n.c.CreateTopic("mine", 1, 3, nil); !errors.Is(err, kerr.InvalidReplicationFactor) {
		t.Errorf("an ordinary topic: %v", err)
	}
	if _, err := n.c.CreateTopic("bad name", 1, 1, nil); !errors.Is(err, kerr.InvalidTopicException) {
		t.Errorf("bad name: %v", err)
	}
}

func TestCreateTopicConcurrently(t *testing.T) {
	n := newNode(t, nil)
	var wg sync.WaitGroup
	var mu sync.Mutex
	ids := map[record.UUID]bool{}
	for range 10 {
		wg.Go(func() {
			topic, err := n.c.CreateTopic("a", -1, -1, nil)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
				return
			}
			ids[topic.ID] = true
		})
	}
	wg.Wait()
	if len(ids) != 1 {
		t.Errorf("created %d times", len(ids))
	}
}

func TestAlterConfigs(t *testing.T) {
	n := newNode(t, nil)
	n.create("a", 1)
	topic := metadata.ConfigResource{Type: metadata.TopicResource, Name: "a"}
	cluster := metadata.ConfigResource{Type: metadata.BrokerResource}
	broker := metadata.ConfigResource{Type: metadata.BrokerResource, Name: "1"}
	if err := n.c.AlterConfigRecords(topic, map[string]*string{"x": new("1"), "y": new("2"), "z": nil}); err != nil {
		t.Fatal(err)
	}
	end := n.store.Log().LogEndOffset()
	if err := n.c.AlterConfigRecords(topic, map[string]*string{"x": new("1"), "z": nil}); err != nil || n.store.Log().LogEndOffset() != end {
		t.Errorf("a change to what is so wrote something: %v", err)
	}
	err := n.c.AlterConfig(topic, func(now map[string]string) (map[string]*string, error) {
		return map[string]*string{"x": new(now["x"] + now["y"]), "y": nil}, nil
	})
	if got := n.store.Image().Config(topic); err != nil || len(got) != 1 || got["x"] != "12" {
		t.Errorf("%v, %v", got, err)
	}
	for name, c := range map[string]struct {
		r    metadata.ConfigResource
		v    *string
		want *kerr.Error
	}{
		"unknown topic":         {metadata.ConfigResource{Type: metadata.TopicResource, Name: "nope"}, new("1"), kerr.UnknownTopicOrPartition},
		"one broker":            {broker, new("1"), kerr.InvalidConfig},
		"cluster default unset": {cluster, nil, kerr.InvalidConfig},
		"cluster default set":   {cluster, new("2"), nil},
		"one broker, unset":     {broker, nil, nil},
		"topic":                 {topic, new("2"), nil},
	} {
		err := n.c.AlterConfigRecords(c.r, map[string]*string{"min.insync.replicas": c.v})
		if c.want == nil && err != nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A change of min.insync.replicas makes eligible leaders void, as it does in Kafka (CLEAR_ELR).
func TestMinInsyncReplicasClearsELR(t *testing.T) {
	n := newNode(t, nil)
	for _, name := range []string{"a", "b"} {
		id := n.create(name, 1).ID
		m := stored.NewPartitionChangeRecord()
		m.PartitionID, m.TopicID, m.EligibleLeaderReplicas = 0, id, []int32{2}
		if _, err := n.store.Append(&m); err != nil {
			t.Fatal(err)
		}
	}
	elr := func(name string) int { return len(n.topic(name).Partitions[0].ELR) }
	for _, c := range []struct {
		r    metadata.ConfigResource
		a, b int
	}{
		{metadata.ConfigResource{Type: metadata.TopicResource, Name: "a"}, 0, 1},
		{metadata.ConfigResource{Type: metadata.BrokerResource}, 0, 0},
	} {
		if err := n.c.AlterConfigRecords(c.r, map[string]*string{"min.insync.replicas": new("2")}); err != nil {
			t.Fatal(err)
		}
		if elr("a") != c.a || elr("b") != c.b {
			t.Errorf("after %v: %d and %d eligible leaders", c.r, elr("a"), elr("b"))
		}
	}
	if e := n.topic("b").Partitions[0].PartitionEpoch; e != 2 {
		t.Errorf("partition epoch %d", e)
	}
}

func TestAssignDirectories(t *testing.T) {
	n := newNode(t, nil)
	id := n.create("a", 2).ID
	end := n.store.Log().LogEndOffset()
	placed := []Placement{{id, 0, n.dirs[0]}, {record.UUID{9}, 0, record.UUID{8}}, {id, 7, record.UUID{8}}}
	if err := n.c.AssignDirectories(placed); err != nil || n.store.Log().LogEndOffset() != end {
		t.Errorf("what is known or gone was written: %v", err)
	}
	if err := n.c.AssignDirectories([]Placement{{id, 1, record.UUID{8}}}); err != nil {
		t.Fatal(err)
	}
	if p := n.topic("a").Partitions[1]; p.Directories[0] != (record.UUID{8}) || p.LeaderEpoch != 0 || p.PartitionEpoch != 1 {
		t.Errorf("%+v", p)
	}
}

func TestDeletionDisabled(t *testing.T) {
	n := newNode(t, map[string]string{"delete.topic.enable": "false"})
	n.create("a", 1)
	for version, code := range map[int16]int16{1: kerr.InvalidRequest.Code, 3: kerr.TopicDeletionDisabled.Code, 6: kerr.TopicDeletionDisabled.Code} {
		q := question{Q: fmt.Sprint("v", version), API: "DeleteTopics", Version: version, Ask: `{"TimeoutMillis":5000,"TopicNames":["a"],"Topics":[{"Topic":"a"}]}`}
		got := plain(t, n.ask(q, nil), nil).(map[string]any)["Topics"].([]any)
		if len(got) != 1 || got[0].(map[string]any)["ErrorCode"] != fmt.Sprint(code) {
			t.Errorf("v%d: %v", version, got)
		}
	}
	if n.topic("a") == nil {
		t.Error("deleted all the same")
	}
}

// Placement over several brokers: every broker leads, nobody has a partition twice, fenced ones come last.
func TestPlacement(t *testing.T) {
	n := newNode(t, nil)
	for id := int32(2); id <= 4; id++ {
		b := stored.NewRegisterBrokerRecord()
		b.BrokerID, b.BrokerEpoch, b.Fenced, b.LogDirs = id, int64(id), id == 4, []record.UUID{{byte(id)}, {byte(id + 100)}}
		if _, err := n.store.Append(&b); err != nil {
			t.Fatal(err)
		}
	}
	topic, err := n.c.CreateTopic("a", 6, 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	leaders := map[int32]int{}
	for p, part := range topic.Partitions {
		leaders[part.Leader]++
		sorted := slices.Sorted(slices.Values(part.Replicas))
		if !slices.Equal(sorted, []int32{1, 2, 3, 4}) || part.Replicas[3] != 4 || part.Leader != part.Replicas[0] || slices.Contains(part.ISR, 4) || len(part.ISR) != 3 {
			t.Errorf("partition %d: %+v", p, part)
		}
		for r, id := range part.Replicas {
			want := record.UnassignedDirID // they have two directories each
			if id == 1 {
				want = n.dirs[0]
			}
			if part.Directories[r] != want {
				t.Errorf("partition %d: replica on %d in %s", p, id, part.Directories[r])
			}
		}
	}
	if leaders[1] != 2 || leaders[2] != 2 || leaders[3] != 2 {
		t.Errorf("leaders %v", leaders)
	}
	if _, err := n.c.CreateTopic("b", 1, 5, nil); !errors.Is(err, kerr.InvalidReplicationFactor) {
		t.Error(err)
	}
}
