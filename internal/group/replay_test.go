package group

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/vfs"
)

// kafkaHost leads the partitions of testdata, which Apache Kafka 4.4.0 has written.
func kafkaHost(t testing.TB) *host {
	t.Helper()
	fs := vfs.NewMem()
	logs := make([]*storage.Log, hostPartitions)
	for i := range logs {
		dir := record.TopicPartition{Topic: OffsetsTopic, Partition: int32(i)}.String()
		copyDir(t, fs, filepath.Join("testdata", dir), filepath.Join("/data", dir))
		logs[i] = openLog(t, fs, "/data", i)
	}
	return newHostOn(t, logs, nil)
}

func copyDir(t testing.TB, fs vfs.FS, from, to string) {
	t.Helper()
	if err := fs.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		f, err := fs.OpenFile(filepath.Join(to, e.Name()), os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(b, 0); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPartitionsOfKafkaAreUnderstood(t *testing.T) {
	h := kafkaHost(t)
	c := h.client("c")
	for _, want := range []struct {
		group, topic, metadata string
		offset                 int64
		epoch                  int32
	}{
		{"golden-group", "rolled", "kgo-5438c320-a2cc-4839-aecc-c3bae5d6d4d3", 257, 0},
		{"golden-admin", "codec-zstd", "meta", 7, 0},
		{"new-group", "rolled", "", 50, -1},
		{"golden-group", "codec-zstd", "", -1, -1},
	} {
		p := c.fetch(want.group, want.topic, 0, true)
		if p.Offset != want.offset || p.LeaderEpoch != want.epoch || *p.Metadata != want.metadata || p.ErrorCode != 0 {
			t.Errorf("%s, %s: offset %d, epoch %d, %q, want %+v", want.group, want.topic, p.Offset, p.LeaderEpoch, *p.Metadata, want)
		}
	}
	if d := h.describe("golden-group"); d.State != "Empty" || d.ProtocolType != "consumer" {
		t.Errorf("golden-group is %s of type %q", d.State, d.ProtocolType)
	}
	if d := h.describe("golden-admin"); d.State != "Empty" || d.ProtocolType != "" {
		t.Errorf("golden-admin is %s of type %q", d.State, d.ProtocolType)
	}
	h.on("golden-group", func(m *machine) {
		g := m.groups["golden-group"]
		if g.generation != 2 || g.stateSinceMs != 1795995519776 {
			t.Errorf("golden-group: generation %d since %d", g.generation, g.stateSinceMs)
		}
	})
	list := h.ListGroups(context.Background(), Caller{}, &kmsg.ListGroupsRequest{Version: 5})
	var ids []string
	for _, g := range list.Groups {
		ids = append(ids, g.Group)
	}
	if !slices.Equal(ids, []string{"golden-admin", "golden-group", "new-group", "share-group"}) {
		t.Errorf("listed: %v", ids)
	}
	d := h.ConsumerGroupDescribe(context.Background(), Caller{}, &kmsg.ConsumerGroupDescribeRequest{Version: 1, Groups: []string{"new-group"}}).Groups[0]
	if d.ErrorCode != 0 || d.State != "Empty" || d.Epoch != 3 || d.AssignmentEpoch != 3 {
		t.Errorf("new-group: %+v", d)
	}
	// The generation goes on from what is stored (GROUP-1).
	r := c.enter("golden-group", nil)
	if r.ErrorCode != 0 || r.Generation != 3 {
		t.Errorf("join of golden-group: %s, generation %d, want 3", codeName(r.ErrorCode), r.Generation)
	}
}

// What Kafka has written of groups and offsets comes out the same when it is written again.
func TestRecordsAreByteForByteThoseOfKafka(t *testing.T) {
	m := newTestMachine()
	compared := 0
	for _, partition := range []string{"0", "1"} {
		b, err := os.ReadFile(filepath.Join("testdata", OffsetsTopic+"-"+partition, "00000000000000000000.log"))
		if err != nil {
			t.Fatal(err)
		}
		eachRecord(b, func(r record.Record) {
			if err := m.Replay(coord.Replayed{Offset: r.Offset, ProducerID: record.NoProducerID, Key: r.Key, Value: r.Value}); err != nil {
				t.Fatal(err)
			}
			var again coord.Record
			switch recordType, group, _ := keyOf(r.Key); recordType {
			case typeOffset:
				var k stored.OffsetCommitKey
				if _, err := k.Decode(r.Key[2:], 0); err != nil {
					t.Fatal(err)
				}
				c, _ := m.offsets.stable.get(group, k.Topic, k.Partition)
				again = offsetRecord(group, k.Topic, k.Partition, c)
			case typeGroup:
				g := m.groups[group]
				again = groupRecord(g, assignments(g))
			default:
				return
			}
			compared++
			if !bytes.Equal(again.Key, r.Key) || !bytes.Equal(again.Value, r.Value) {
				t.Errorf("offset %d:\n got %x = %x\nwant %x = %x", r.Offset, again.Key, again.Value, r.Key, r.Value)
			}
		})
	}
	if compared != 6 {
		t.Errorf("%d records were compared, want 6", compared)
	}
}

func newTestMachine() *machine {
	s := NewService(Options{})
	return newMachine(s.env, coord.NewTimers())
}

func eachRecord(b []byte, f func(record.Record)) {
	for s := record.NewScanner(b); s.Next(); {
		rs := s.Batch().Records(0)
		for rs.Next() {
			f(rs.Record())
		}
		rs.Close()
	}
}

// Ids of groups that are not served are not taken, and their records are not harmed (GROUP-5).
func TestGroupsOfOtherKinds(t *testing.T) {
	h := kafkaHost(t)
	h.topics.add("rolled", 1)
	c := h.client("c")
	wantCode(t, "join of a share group without members", c.join(joinRequest("share-group", "", nil)).ErrorCode, kerr.InconsistentGroupProtocol)
	wantCode(t, "commit to a share group", c.commit("share-group", "", -1, "rolled", 0, 1, nil), kerr.GroupIDNotFound)
	wantCode(t, "heartbeat", c.beat("new-group", "m", 3), kerr.UnknownMemberID)
	wantCode(t, "sync", c.sync("new-group", "m", 3, nil).ErrorCode, kerr.UnknownMemberID)
	wantCode(t, "leave", c.leave("new-group", "m").Members[0].ErrorCode, kerr.UnknownMemberID)
	wantCode(t, "join with an id", c.join(joinRequest("new-group", "m", nil)).ErrorCode, kerr.UnknownMemberID)
	if d := h.describe("new-group"); d.State != "Dead" {
		t.Errorf("new-group is described as %s", d.State)
	}
	wantCode(t, "commit from outside to an empty consumer group", c.commit("new-group", "", -1, "rolled", 0, 51, nil), nil)
	wantCode(t, "commit of a member", c.commit("new-group", "m", 3, "rolled", 0, 52, nil), kerr.UnknownMemberID)
	if p := c.fetch("new-group", "rolled", 0, false); p.Offset != 51 {
		t.Errorf("offset %d, want 51", p.Offset)
	}

	for _, f := range []struct {
		member *string
		epoch  int32
		want   *kerr.Error
	}{{nil, -1, nil}, {nil, 1, kerr.UnknownServerError}, {kmsg.StringPtr("m"), 3, kerr.UnknownMemberID}} {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Version, req.Groups = 9, []kmsg.OffsetFetchRequestGroup{{Group: "new-group", MemberID: f.member, MemberEpoch: f.epoch}}
		wantCode(t, "fetch with a member and an epoch", h.OffsetFetch(context.Background(), Caller{}, req).Groups[0].ErrorCode, f.want)
	}

	// A member of it comes back into the log: the id is not given away any more.
	member := stored.AppendKey(nil, &stored.ConsumerGroupMemberMetadataKey{GroupID: "new-group", MemberID: "m"})
	v := stored.NewConsumerGroupMemberMetadataValue()
	h.on("new-group", func(m *machine) {
		if err := m.Replay(coord.Replayed{Offset: 100, ProducerID: -1, Key: member, Value: stored.AppendValue(nil, &v, 0)}); err != nil {
			t.Fatal(err)
		}
	})
	wantCode(t, "join of a consumer group with members", c.join(joinRequest("new-group", "", func(r *kmsg.JoinGroupRequest) { r.ProtocolType = "connect" })).ErrorCode, kerr.InconsistentGroupProtocol)
	wantCode(t, "delete it", h.deleteGroup("new-group"), kerr.NonEmptyGroup)
	wantCode(t, "commit from outside", c.commit("new-group", "", -1, "rolled", 0, 53, nil), kerr.UnknownMemberID)
	h.on("new-group", func(m *machine) {
		if err := m.Replay(coord.Replayed{Offset: 101, ProducerID: -1, Key: member}); err != nil {
			t.Fatal(err)
		}
	})

	// Without members it gives way to a classic group, and nothing of it is left.
	r := c.enter("new-group", nil)
	wantCode(t, "join of an empty consumer group", r.ErrorCode, nil)
	c.sync("new-group", r.MemberID, 1, nil)
	h.on("new-group", func(m *machine) {
		if len(m.consumers) != 0 {
			t.Errorf("records of another kind are remembered: %v", m.consumers)
		}
	})
	h.restart()
	if d := h.describe("new-group"); d.State != "Stable" {
		t.Errorf("after the restart the group is %s, want Stable", d.State)
	}
	h.on("new-group", func(m *machine) {
		if len(m.consumers) != 0 {
			t.Errorf("records of another kind are left: %v", m.consumers)
		}
	})
	wantCode(t, "delete a share group without members", h.deleteGroup("share-group"), nil)
	h.restart()
	h.on("share-group", func(m *machine) {
		if m.shares["share-group"] != nil {
			t.Error("the share group is still there")
		}
	})
	wantCode(t, "delete it again", h.deleteGroup("share-group"), kerr.GroupIDNotFound)
}

// Compaction may leave the records of a group in any order, so what stands in the log is the same in the end.
func TestReplayInAnyOrder(t *testing.T) {
	epoch := stored.NewConsumerGroupMetadataValue()
	offset := committed{offset: 5, leaderEpoch: -1, expireMs: -1}
	records := []coord.Record{
		offsetRecord("g", "topic", 0, offset),
		{Key: stored.AppendKey(nil, &stored.ConsumerGroupMetadataKey{GroupID: "g"}), Value: stored.AppendValue(nil, &epoch, 0)},
	}
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		m := newTestMachine()
		for at, i := range order {
			if err := m.Replay(coord.Replayed{Offset: record.Offset(at), ProducerID: -1, Key: records[i].Key, Value: records[i].Value}); err != nil {
				t.Fatal(err)
			}
		}
		if m.groups["g"] != nil || m.consumerOf("g") == nil {
			t.Errorf("order %v: a classic group was made of a consumer group", order)
		}
		if _, ok := m.offsets.stable.get("g", "topic", 0); !ok {
			t.Errorf("order %v: the offset is lost", order)
		}
	}
}

func TestReplayOddRecords(t *testing.T) {
	unknown := []byte{0, 99, 0, 1, 'g'}
	future := stored.AppendKey(nil, &stored.GroupMetadataKey{Group: "g"})
	for _, c := range []struct {
		name       string
		key, value []byte
		fails      bool
	}{
		{"unknown record type", unknown, []byte{0, 0}, false},
		{"a type that is not in use", []byte{0, 9, 0, 1, 'g'}, []byte{0, 0}, false},
		{"no key", nil, []byte{0, 0}, false},
		{"a key that is cut off", []byte{0, 1, 0, 9, 'g'}, []byte{0, 0}, false},
		{"a length below zero", []byte{0, 1, 255, 255, 'g'}, nil, false},
		{"tombstone of an unknown group", future, nil, false},
		{"an offset's key without topic", []byte{0, 1, 0, 1, 'g'}, []byte{0, 0}, true},
		{"a version of the future", future, []byte{0, 99}, true},
		{"no version", future, []byte{}, true},
		{"a value that is cut off", future, []byte{0, 3, 0, 5}, true},
	} {
		m := newTestMachine()
		if err := m.Replay(coord.Replayed{ProducerID: -1, Key: c.key, Value: c.value}); (err != nil) != c.fails {
			t.Errorf("%s: %v", c.name, err)
		}
		if len(m.groups) != 0 {
			t.Errorf("%s: a group was made", c.name)
		}
	}
}

// Versions of old brokers are read: 0 to 4 of both values, and keys of type 0.
func TestReplayOldVersions(t *testing.T) {
	for version := range int16(5) {
		v := stored.NewOffsetCommitValue()
		v.Offset, v.Metadata, v.CommitTimestamp, v.ExpireTimestamp, v.LeaderEpoch, v.TopicID = 7, "m", 100, 200, 3, record.UUID{1}
		key := offsetKey("g", "topic", 1)
		if version == 0 {
			key[1] = typeOffsetV0
		}
		m := newTestMachine()
		if err := m.Replay(coord.Replayed{Offset: 5, ProducerID: -1, Key: key, Value: stored.AppendValue(nil, &v, version)}); err != nil {
			t.Fatal(err)
		}
		want := committed{recordOffset: 5, offset: 7, leaderEpoch: -1, metadata: "m", commitMs: 100, expireMs: -1}
		if version == 1 {
			want.expireMs = 200
		}
		if version >= 3 {
			want.leaderEpoch = 3
		}
		if version == 4 {
			want.topicID = record.UUID{1}
		}
		if got, _ := m.offsets.stable.get("g", "topic", 1); got != want {
			t.Errorf("offset of version %d: %+v, want %+v", version, got, want)
		}

		g := stored.NewGroupMetadataValue()
		g.ProtocolType, g.Generation, g.Protocol, g.Leader, g.CurrentStateTimestamp = "consumer", 4, kmsg.StringPtr("range"), kmsg.StringPtr("m1"), 300
		x := stored.NewGroupMetadataValueMemberMetadata()
		x.MemberID, x.GroupInstanceID, x.SessionTimeout, x.RebalanceTimeout = "m1", kmsg.StringPtr("i"), 10, 20
		x.Subscription, x.Assignment = subscription("topic"), []byte("all")
		g.Members = []stored.GroupMetadataValueMemberMetadata{x}
		if err := m.Replay(coord.Replayed{Offset: 6, ProducerID: -1, Key: groupKey("g"), Value: stored.AppendValue(nil, &g, version)}); err != nil {
			t.Fatal(err)
		}
		got := m.groups["g"]
		y := got.byID["m1"]
		wantTimeout, wantSince, wantInstance := int32(20), int64(300), "i"
		if version < 1 {
			wantTimeout = 10
		}
		if version < 2 {
			wantSince = -1
		}
		if version < 3 {
			wantInstance = ""
		}
		instance := ""
		if y.instance != nil {
			instance = *y.instance
		}
		if got.state != Stable || got.generation != 4 || !got.isLeader("m1") || got.stateSinceMs != wantSince ||
			y.rebalanceTimeoutMs != wantTimeout || instance != wantInstance || string(y.assignment) != "all" || !got.isSubscribed("topic") || got.isSubscribed("other") {
			t.Errorf("group of version %d: %+v, member %+v", version, got, y)
		}
	}
}

// A group that was stable when its coordinator stopped goes on with the same members, whose sessions begin anew.
func TestGroupsSurviveARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		c := h.client("c")
		r := c.enter("g", nil)
		c.sync("g", r.MemberID, 1, map[string]string{r.MemberID: "all"})
		h.restart()
		wantCode(t, "heartbeat", c.beat("g", r.MemberID, 1), nil)
		if s := c.sync("g", r.MemberID, 1, nil); string(s.MemberAssignment) != "all" {
			t.Errorf("assignment %q", s.MemberAssignment)
		}
		again := c.join(joinRequest("g", r.MemberID, nil))
		if again.Generation != 2 || len(again.Members) != 1 {
			t.Errorf("generation %d with %d members, want 2 with 1", again.Generation, len(again.Members))
		}
		h.Close()
	})
}

// FuzzReplay: whatever stands in the log, replaying it does not panic, and what was understood can be written
// and read again with the same result.
func FuzzReplay(f *testing.F) {
	for _, partition := range []string{"0", "1"} {
		b, err := os.ReadFile(filepath.Join("testdata", OffsetsTopic+"-"+partition, "00000000000000000000.log"))
		if err != nil {
			f.Fatal(err)
		}
		eachRecord(b, func(r record.Record) { f.Add(r.Key, r.Value, r.Value == nil, int64(-1), true) })
	}
	f.Add(offsetKey("g", "t", 0), offsetRecord("g", "t", 0, committed{}).Value, false, int64(7), false)
	f.Fuzz(func(t *testing.T, key, value []byte, tombstone bool, producer int64, commit bool) {
		if tombstone {
			value = nil
		}
		m := newTestMachine()
		if err := m.Replay(coord.Replayed{Offset: 1, ProducerID: record.ProducerID(producer), Key: key, Value: value}); err != nil {
			return
		}
		m.ReplayMarker(record.ProducerID(producer), commit)
		for id, g := range m.groups {
			if g.isSimple() {
				continue
			}
			again := newTestMachine()
			w := groupRecord(g, assignments(g))
			if err := again.Replay(coord.Replayed{Offset: 1, ProducerID: -1, Key: w.Key, Value: w.Value}); err != nil {
				t.Fatalf("group %q cannot be read again: %v", id, err)
			}
			if h := again.groups[id]; h == nil || h.generation != g.generation || len(h.members) != len(g.members) || h.state != g.state {
				t.Fatalf("group %q is another after it was written: %+v, was %+v", id, h, g)
			}
		}
		for group := range m.offsets.stable {
			m.offsets.stable.each(group, func(topic string, partition int32, c committed) {
				again := newTestMachine()
				w := offsetRecord(group, topic, partition, c)
				if err := again.Replay(coord.Replayed{Offset: c.recordOffset, ProducerID: -1, Key: w.Key, Value: w.Value}); err != nil {
					t.Fatal(err)
				}
				got, _ := again.offsets.stable.get(group, topic, partition)
				if got.offset != c.offset || got.metadata != c.metadata || got.commitMs != c.commitMs {
					t.Fatalf("offset %+v is read as %+v", c, got)
				}
			})
		}
		m.Loaded()
		m.expire()
		m.Unloaded()
	})
}
