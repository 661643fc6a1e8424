package share

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/group/modern"
	"github.com/samsalog/samsa/record"
)

// typesOf are the types of records, tombstones negative.
func typesOf(records []coord.Record) []int {
	out := make([]int, len(records))
	for i, r := range records {
		out[i] = int(binary.BigEndian.Uint16(r.Key))
		if r.Value == nil {
			out[i] = -out[i]
		}
	}
	return out
}

func (w *world) wantRecords(what string, types ...int) {
	w.t.Helper()
	if got := typesOf(w.records); !slices.Equal(got, types) {
		w.t.Errorf("%s writes %v, want %v", what, got, types)
	}
	w.records = nil
}

// A new group: the first answer has nothing, the next one after the states have begun has it all. Order and number of the
// records are Kafka's.
func TestGroupComesAndGoes(t *testing.T) {
	w := newWorld(t)
	id := w.create("t", 2)
	b := w.mustBeat("m", Join, "t")
	if b.Member.Epoch != 2 || !b.Tell || len(b.Member.Assigned) != 0 || b.Begin == nil {
		t.Errorf("the first answer: %+v %+v", b, b.Member)
	}
	for _, p := range b.Begin.Topics[0].Partitions {
		if p.StateEpoch != 2 || p.StartOffset != undecided {
			t.Errorf("a state begins in epoch %d at %d", p.StateEpoch, p.StartOffset)
		}
	}
	w.wantRecords("the first join", 10, 11, 13, 12, 14, 15)
	if b = w.mustBeat("m", 2); b.Begin != nil || b.Tell || b.Member.Epoch != 2 {
		t.Errorf("while states begin: %+v", b)
	}
	w.wantRecords("a heartbeat meanwhile")
	w.persist(nil)
	w.wantRecords("the beginning of states", 15)
	b = w.mustBeat("m", 2)
	if b.Member.Epoch != 3 || !b.Tell || !slices.Equal(b.Member.Assigned[id], []int32{0, 1}) {
		t.Errorf("with states: %+v %+v", b, b.Member)
	}
	w.wantRecords("the assignment", 11, 13, 12, 14)
	if b = w.mustBeat("m", 2); b.Member.Epoch != 3 || b.Tell {
		t.Errorf("an answer that was lost is given again: %+v", b)
	}
	w.wantRecords("nothing new")
	w.leave("m")
	w.wantRecords("the last to leave", -14, -13, -10, 11, 12)
	if g := w.group; g.Epoch != 4 || g.AssignmentEpoch != 4 || g.MetadataHash != 0 || g.State() != "Empty" {
		t.Errorf("empty: %s", shown(g))
	}
	if got := typesOf(w.group.Tombstones()); !slices.Equal(got, []int{-12, -15, -11}) {
		t.Errorf("tombstones %v", got)
	}
}

func TestEpochsOfMembers(t *testing.T) {
	w := newWorld(t)
	w.create("t", 1)
	w.mustBeat("m", Join, "t")
	w.persist(nil)
	w.mustBeat("m", 2)
	for _, c := range []struct {
		member string
		epoch  int32
		want   *kerr.Error
	}{
		{"m", 3, nil}, {"m", 2, nil}, {"m", 0, nil}, {"m", 1, kerr.FencedMemberEpoch}, {"m", 4, kerr.FencedMemberEpoch},
		{"stranger", 3, kerr.UnknownMemberID}, {"stranger", 1, kerr.UnknownMemberID},
	} {
		if _, e := w.beat(c.member, c.epoch); e != c.want {
			t.Errorf("%s at %d: %v, want %v", c.member, c.epoch, e, c.want)
		}
	}
	w.rules.MaxSize = 1
	if _, e := w.beat("more", Join, "t"); e != kerr.GroupMaxSizeReached {
		t.Errorf("one too many: %v", e)
	}
	if _, e := w.beat("m", Join, "t"); e != nil {
		t.Errorf("who is there may join again: %v", e)
	}
}

// What a member says counts from when it says it; what it leaves out stays.
func TestSubscriptionsChange(t *testing.T) {
	w := newWorld(t)
	a, b := w.create("a", 1), w.create("b", 1)
	w.mustBeat("m", Join, "b", "a", "b")
	w.persist(nil)
	if m := w.mustBeat("m", 2).Member; len(m.Assigned) != 2 || !slices.Equal(m.Topics, []string{"a", "b"}) {
		t.Errorf("both topics: %+v", m)
	}
	w.records = nil
	// It is given less at once, and the new epoch with it.
	m := w.mustBeat("m", 3, "b").Member
	if m.Epoch != 4 || len(m.Assigned) != 1 || m.Assigned[b] == nil {
		t.Errorf("one topic: %+v", m)
	}
	w.wantRecords("reading less", 10, 11, 13, 12, 14)
	if _, there := w.group.Partitions.Initialized[a]; !there {
		t.Error("the state of a topic that nobody reads is kept")
	}
	req := kmsg.NewPtrShareGroupHeartbeatRequest()
	req.GroupID, req.MemberID, req.MemberEpoch, req.RackID = "g", "m", 4, kmsg.StringPtr("r")
	c := Begin(w.group)
	if _, e := c.Heartbeat(Now{View: w.view(), Rules: w.rules, Ms: w.ms, Client: "c", Host: "/h"}, req); e != nil {
		t.Fatal(e)
	}
	w.commit(c)
	w.wantRecords("another rack", 10)
}

// There is at most one assignment in an interval; who joins in between has nothing until the next.
func TestAssignmentInterval(t *testing.T) {
	w := newWorld(t)
	w.rules.AssignmentInterval = time.Second
	id := w.create("t", 4)
	w.mustBeat("m1", Join, "t")
	w.persist(nil)
	if m := w.mustBeat("m1", 2).Member; m.Epoch != 2 || w.group.Epoch != 3 {
		t.Errorf("within the interval: %+v", m)
	}
	w.ms += 1000
	if m := w.mustBeat("m1", 2).Member; m.Epoch != 3 || len(m.Assigned[id]) != 4 {
		t.Errorf("after it: %+v", m)
	}
	m := w.mustBeat("m2", Join, "t").Member
	if m.Epoch != 3 || len(m.Assigned) != 0 || w.group.Epoch != 4 || w.group.AssignmentEpoch != 3 {
		t.Errorf("who joins in between: %+v %s", m, shown(w.group))
	}
	w.ms += 999
	w.mustBeat("m1", 3)
	if w.group.AssignmentEpoch != 3 {
		t.Error("assigned too early")
	}
	w.ms++
	if m = w.mustBeat("m2", 3).Member; m.Epoch != 4 || len(m.Assigned[id]) != 2 {
		t.Errorf("its part: %+v", m)
	}
	if m = w.mustBeat("m1", 3).Member; m.Epoch != 4 || len(m.Assigned[id]) != 2 {
		t.Errorf("the other part: %+v", m)
	}
}

// A group begins a topic where its settings say, and partitions that the topic gets later at their beginning.
func TestLaterPartitionsBeginAtTheirBeginning(t *testing.T) {
	w := newWorld(t)
	id := w.create("t", 1)
	w.mustBeat("m", Join, "t")
	w.persist(nil)
	w.mustBeat("m", 2)
	w.grow("t", 3)
	b := w.mustBeat("m", 3)
	if b.Member.Epoch != 4 || b.Begin == nil || len(b.Begin.Topics[0].Partitions) != 2 {
		t.Fatalf("more partitions: %+v", b)
	}
	for _, p := range b.Begin.Topics[0].Partitions {
		if p.StartOffset != firstOffset || p.StateEpoch != 4 || p.Partition == 0 {
			t.Errorf("partition %d begins at %d in epoch %d", p.Partition, p.StartOffset, p.StateEpoch)
		}
	}
	w.persist(nil)
	if m := w.mustBeat("m", 4).Member; m.Epoch != 5 || len(m.Assigned[id]) != 3 {
		t.Errorf("all partitions: %+v", m)
	}
}

// What cannot be begun is tried again; what could is assigned.
func TestStatesThatCannotBegin(t *testing.T) {
	w := newWorld(t)
	id := w.create("t", 2)
	w.mustBeat("m", Join, "t")
	w.persist(map[place]int16{{id, 1}: kerr.CoordinatorNotAvailable.Code})
	if p := w.group.Partitions; len(p.Initializing) != 0 || !slices.Equal(p.Initialized[id].Partitions, []int32{0}) {
		t.Errorf("one of two has begun: %+v", p)
	}
	b := w.mustBeat("m", 2)
	if !slices.Equal(b.Member.Assigned[id], []int32{0}) || b.Begin == nil || b.Begin.Topics[0].Partitions[0].Partition != 1 {
		t.Errorf("the next heartbeat: %+v %+v", b.Member, b.Begin)
	}
	w.persist(nil)
	if m := w.mustBeat("m", 3).Member; len(m.Assigned[id]) != 2 {
		t.Errorf("in the end: %+v", m)
	}
}

// G-09: a beginning that a restart broke off is not forgotten: it is tried again, and still follows the group's settings.
func TestG09BeginningsThatWereBrokenOff(t *testing.T) {
	w := newWorld(t)
	id := w.create("t", 2)
	w.mustBeat("m", Join, "t")
	w.asked, w.beginning = nil, Topics{} // nobody knows of it any more
	w.records = nil
	b := w.mustBeat("m", 2)
	if b.Begin == nil || len(b.Begin.Topics[0].Partitions) != 2 || b.Begin.Topics[0].Partitions[0].StartOffset != undecided {
		t.Fatalf("the next heartbeat begins %+v", b.Begin)
	}
	w.wantRecords("what is recorded already")
	w.persist(nil)
	if m := w.mustBeat("m", 2).Member; len(m.Assigned[id]) != 2 {
		t.Errorf("in the end: %+v", m)
	}
}

// A topic that comes again under its name is another one; its states begin anew.
func TestTopicsGoAndComeAgain(t *testing.T) {
	w := newWorld(t)
	w.create("t", 2)
	w.mustBeat("m", Join, "t")
	w.persist(nil)
	w.mustBeat("m", 2)
	w.drop("t")
	m := w.mustBeat("m", 3).Member
	if m.Epoch != 4 || len(m.Assigned) != 0 || w.group.MetadataHash != 0 {
		t.Errorf("without its topic: %+v", m)
	}
	if p := w.group.Partitions; len(p.Initialized) != 0 {
		t.Errorf("states of a topic that is gone: %+v", p)
	}
	again := w.create("t", 1)
	b := w.mustBeat("m", 4)
	if b.Begin == nil || record.UUID(b.Begin.Topics[0].TopicID) != again || b.Begin.Topics[0].Partitions[0].StartOffset != undecided {
		t.Fatalf("the new topic begins %+v", b.Begin)
	}
	w.persist(nil)
	if m = w.mustBeat("m", 5).Member; len(m.Assigned[again]) != 1 {
		t.Errorf("with the new topic: %+v", m)
	}
	// The old topic's share partitions, if they are still recorded, are no reason for ever new assignments.
	w.group.Partitions.Initialized[record.UUID{1}] = Topic{"t", []int32{0}}
	before := w.group.Epoch
	w.mustBeat("m", 6)
	if w.group.Epoch != before {
		t.Error("states of a topic that is gone raise the epoch")
	}
}

func alterRequest(topic string, starts map[int32]int64) *kmsg.AlterShareGroupOffsetsRequest {
	r := kmsg.NewPtrAlterShareGroupOffsetsRequest()
	r.GroupID = "g"
	t := kmsg.NewAlterShareGroupOffsetsRequestTopic()
	t.Topic = topic
	for _, n := range allOf(9) {
		if at, ok := starts[n]; ok {
			p := kmsg.NewAlterShareGroupOffsetsRequestTopicPartition()
			p.Partition, p.StartOffset = n, at
			t.Partitions = append(t.Partitions, p)
		}
	}
	r.Topics = append(r.Topics, t)
	return r
}

func TestOffsetsAreAltered(t *testing.T) {
	w := newWorld(t)
	id := w.create("t", 2)
	c := Begin(w.group)
	r, begin := c.Alter(w.view(), alterRequest("t", map[int32]int64{1: 7, 5: 1}))
	w.commit(c)
	if codes := fmt.Sprint(r.Topics[0].Partitions[0].ErrorCode, r.Topics[0].Partitions[1].ErrorCode); codes != "0 3" {
		t.Errorf("codes %s", codes)
	}
	if p := begin.Topics[0].Partitions; len(p) != 1 || p[0].StartOffset != 7 || p[0].StateEpoch != modern.FirstEpoch {
		t.Errorf("begins %+v", p)
	}
	w.wantRecords("an alteration", 15)
	w.asked = append(w.asked, begin)
	w.persist(nil)
	w.wantRecords("what came of it", 15)
	if g := w.group; g.Epoch != 1 || !slices.Equal(g.Partitions.Initialized[id].Partitions, []int32{1}) {
		t.Errorf("altered: %s", shown(g))
	}
	c = Begin(w.group)
	if r, begin = c.Alter(w.view(), alterRequest("nope", map[int32]int64{0: 1})); begin != nil || len(c.Records) != 0 || r.Topics[0].Partitions[0].ErrorCode != kerr.UnknownTopicOrPartition.Code {
		t.Errorf("of a topic that does not exist: %+v %v", r, begin)
	}
	// The other partition of the topic begins at its beginning, as one that is new.
	b := w.mustBeat("m", Join, "t")
	if p := b.Begin.Topics[0].Partitions; len(p) != 1 || p[0].Partition != 0 || p[0].StartOffset != firstOffset {
		t.Errorf("begins %+v", p)
	}
	if !slices.Equal(b.Member.Assigned[id], []int32{1}) {
		t.Errorf("what has a state is assigned at once: %+v", b.Member)
	}
}

func deleteRequest(topics ...string) *kmsg.DeleteShareGroupOffsetsRequest {
	r := kmsg.NewPtrDeleteShareGroupOffsetsRequest()
	r.GroupID = "g"
	for _, n := range topics {
		t := kmsg.NewDeleteShareGroupOffsetsRequestTopic()
		t.Topic = n
		r.Topics = append(r.Topics, t)
	}
	return r
}

func TestOffsetsAreDeleted(t *testing.T) {
	w := newWorld(t)
	id := w.create("t", 2)
	w.create("other", 1)
	if req, refused := Begin(w.group).DeleteOffsets(w.view(), deleteRequest("t", "nope")); req != nil || refused != nil {
		t.Errorf("a group that has never had a state: %v %v", req, refused)
	}
	w.mustBeat("m", Join, "t")
	w.persist(nil)
	w.leave("m")
	w.records = nil
	c := Begin(w.group)
	req, refused := c.DeleteOffsets(w.view(), deleteRequest("t", "nope", "other", "t"))
	if len(req.Topics) != 1 || len(req.Topics[0].Partitions) != 2 || len(refused) != 2 {
		t.Fatalf("deletes %+v, refuses %+v", req, refused)
	}
	w.commit(c)
	w.wantRecords("a deletion", 15)
	// It was broken off: it can be asked for again, and does not hold up a member who comes.
	c = Begin(w.group)
	if req, refused = c.DeleteOffsets(w.view(), deleteRequest("t")); len(req.Topics[0].Partitions) != 2 || len(refused) != 0 || len(c.Records) != 0 {
		t.Errorf("again: %+v %+v", req, refused)
	}
	c = Begin(w.group)
	c.Deleted(map[record.UUID]struct{}{id: {}})
	w.commit(c)
	w.wantRecords("what came of it", 15)
	if p := w.group.Partitions; len(p.Initialized)+len(p.Deleting) != 0 {
		t.Errorf("left: %+v", p)
	}
	if _, refused = Begin(w.group).DeleteOffsets(w.view(), deleteRequest("t")); len(refused) != 1 || *refused[0].ErrorMessage != "There is no offset information to delete." {
		t.Errorf("nothing to delete: %+v", refused)
	}
	if p := w.mustBeat("m", Join, "t").Begin.Topics[0].Partitions; p[0].StartOffset != undecided {
		t.Error("a topic whose states were deleted is new to the group")
	}
}

// All states of a group are deleted before it is: also those that were being begun, and those whose deletion was broken off.
func TestAllStatesAreDeleted(t *testing.T) {
	w := newWorld(t)
	if Begin(w.group).DeleteAll(w.view()) != nil {
		t.Error("a group without states")
	}
	a, b, gone := w.create("a", 1), w.create("b", 2), w.create("gone", 1)
	c := Begin(w.group)
	c.writePartitions(Partitions{
		Initializing: Topics{a: {"a", []int32{0}}}, Initialized: Topics{gone: {"gone", []int32{0}}}, Deleting: map[record.UUID]string{b: "b"},
	})
	w.commit(c)
	w.topics = w.topics[:2]
	c = Begin(w.group)
	req := c.DeleteAll(w.view())
	w.commit(c)
	if len(req.Topics) != 2 || len(req.Topics[0].Partitions) != 1 || len(req.Topics[1].Partitions) != 2 {
		t.Errorf("deletes %+v", req)
	}
	if p := w.group.Partitions; len(p.Initialized)+len(p.Initializing) != 0 || len(p.Deleting) != 3 {
		t.Errorf("recorded: %+v", p)
	}
}

// A member that comes while states are being deleted begins them again.
func TestBeginningEndsDeletion(t *testing.T) {
	w := newWorld(t)
	id := w.create("t", 1)
	c := Begin(w.group)
	c.writePartitions(Partitions{Deleting: map[record.UUID]string{id: "t"}})
	w.commit(c)
	w.mustBeat("m", Join, "t")
	if p := w.group.Partitions; len(p.Deleting) != 0 || len(p.Initializing) != 1 {
		t.Errorf("recorded: %+v", p)
	}
}

// Whoever hears of states that are no longer being begun does not take them for begun.
func TestOutcomeThatComesTooLate(t *testing.T) {
	w := newWorld(t)
	w.create("t", 1)
	w.mustBeat("m", Join, "t")
	w.drop("t")
	w.records = nil
	w.persist(nil)
	w.wantRecords("an outcome of a topic that is gone")
	if p := w.group.Partitions; len(p.Initialized) != 0 {
		t.Errorf("recorded: %+v", p)
	}
}
