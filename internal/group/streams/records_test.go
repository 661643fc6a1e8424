package streams

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/stored"
)

// kafkaRecords are the records that Apache Kafka 4.4.0 wrote of one streams group, in order.
func kafkaRecords(t *testing.T) (out []coord.Record) {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "testdata", "streams.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(z); dec.More(); {
		var step struct{ Records []string }
		if err := dec.Decode(&step); err != nil {
			t.Fatal(err)
		}
		for _, line := range step.Records {
			key, value, _ := strings.Cut(line, " ")
			r := coord.Record{}
			if r.Key, err = hex.DecodeString(key); err != nil {
				t.Fatal(err)
			}
			if value != "" {
				if r.Value, err = hex.DecodeString(value); err != nil {
					t.Fatal(err)
				}
			}
			if k := binary.BigEndian.Uint16(r.Key); k == typeGroup || k >= typeMember && k <= typeTopology {
				out = append(out, r)
			}
		}
	}
	return out
}

// What Apache Kafka 4.4.0 has written of a group comes out the same, byte for byte, when it is written again; and the
// records read in one go, as after a start, say the same as one by one.
func TestRecordsAreThoseOfKafka(t *testing.T) {
	g, compared := New("rec"), map[int16]int{}
	for i, r := range kafkaRecords(t) {
		if err := g.Apply(r.Key, r.Value); err != nil {
			t.Fatal(i, err)
		}
		k, err := stored.DecodeKey(r.Key, stored.NewGroupKey)
		if err != nil {
			t.Fatal(err)
		}
		compared[k.APIKey()]++
		if r.Value == nil {
			continue
		}
		c := Begin(g)
		rewrite(c, k)
		if len(c.Records) != 1 || !bytes.Equal(c.Records[0].Key, r.Key) || !bytes.Equal(c.Records[0].Value, r.Value) {
			t.Errorf("record %d:\n got %x\nwant %x = %x", i, c.Records, r.Key, r.Value)
		}
		if !reflect.DeepEqual(c.Group, g) {
			t.Errorf("record %d changes something when it comes again:\n%+v\n%+v", i, c.Group, g)
		}
	}
	for _, want := range []int16{typeGroup, typeMember, typeTarget, typeTargetOf, typeCurrent, typeTopology} {
		if compared[want] < 2 {
			t.Errorf("%d records of type %d were compared, want 2 or more", compared[want], want)
		}
	}
	if !g.Dead || g.State() != "Empty" || len(g.Targets) != 0 || len(g.runs) != 0 || len(g.copies) != 0 || g.Topology != nil {
		t.Errorf("the group in the end: %+v", g)
	}
}

// rewrite writes the record of a key as the state of the group says.
func rewrite(c *Change, key stored.Message) {
	g := c.Group
	switch k := key.(type) {
	case *stored.StreamsGroupMetadataKey:
		before := *g
		before.Epoch--
		c.Group = &before
		c.writeGroup(g.MetadataHash, g.ValidatedTopology, g.Settings)
	case *stored.StreamsGroupTargetAssignmentMetadataKey:
		c.writeTargetMetadata(g.AssignmentEpoch, g.AssignmentMs)
	case *stored.StreamsGroupMemberMetadataKey:
		c.writeInfo(g.Members[k.MemberID])
	case *stored.StreamsGroupTargetAssignmentMemberKey:
		c.writeTarget(k.MemberID, g.Targets[k.MemberID])
	case *stored.StreamsGroupCurrentMemberAssignmentKey:
		c.writeCurrent(g.Members[k.MemberID])
	case *stored.StreamsGroupTopologyKey:
		c.writeTopology(g.Topology.value)
	}
}

// Damaged and unknown records are errors, orphans are none.
func TestApplyOddRecords(t *testing.T) {
	g := New("g")
	apply := func(key stored.Message, value []byte) error { return g.Apply(stored.AppendKey(nil, key), value) }
	keys := map[string]stored.Message{
		"group": &stored.StreamsGroupMetadataKey{}, "member": &stored.StreamsGroupMemberMetadataKey{MemberID: "m"},
		"target": &stored.StreamsGroupTargetAssignmentMetadataKey{}, "target of a member": &stored.StreamsGroupTargetAssignmentMemberKey{MemberID: "m"},
		"current": &stored.StreamsGroupCurrentMemberAssignmentKey{MemberID: "m"}, "topology": &stored.StreamsGroupTopologyKey{},
	}
	for name, key := range keys {
		if err := apply(key, []byte{0}); err == nil {
			t.Errorf("%s: a cut value is no error", name)
		}
		if err := apply(key, binary.BigEndian.AppendUint16(nil, 99)); err == nil {
			t.Errorf("%s: a version to come is no error", name)
		}
		if err := apply(key, nil); err != nil || len(g.Members) != 0 {
			t.Errorf("%s: a tombstone about nobody: %v, %v", name, err, g.Members)
		}
	}
	if err := apply(&stored.GroupMetadataKey{}, nil); err == nil {
		t.Error("a record of a classic group is no error")
	}
	twice := stored.NewStreamsGroupTopologyValue()
	twice.Subtopologies = []storedSubtopology{{SubtopologyID: "0"}, {SubtopologyID: "0"}}
	if err := apply(&stored.StreamsGroupTopologyKey{}, stored.AppendValue(nil, &twice, 0)); err == nil {
		t.Error("two subtopologies of one id are no error")
	}
}

// Tasks of records of before 4.2 have no epochs: they are held since the member's.
func TestTasksWithoutEpochs(t *testing.T) {
	v := stored.NewStreamsGroupCurrentMemberAssignmentValue()
	v.MemberEpoch, v.State = 7, int8(Stable)
	v.ActiveTasks = []storedCurrent{{SubtopologyID: "0", Partitions: []int32{1, 2}}}
	v.StandbyTasks = []storedCurrent{{SubtopologyID: "0", Partitions: []int32{3}}}
	g := New("g")
	if err := g.Apply(stored.AppendKey(nil, &stored.StreamsGroupCurrentMemberAssignmentKey{GroupID: "g", MemberID: "m"}), stored.AppendValue(nil, &v, 0)); err != nil {
		t.Fatal(err)
	}
	want := Assignment{{Active, task{"0", 1}}: 7, {Active, task{"0", 2}}: 7, {Standby, task{"0", 3}}: 0}
	if m := g.Members["m"]; !m.Assigned.equal(want) {
		t.Errorf("the member has %v, want %v", m.Assigned, want)
	}
}
