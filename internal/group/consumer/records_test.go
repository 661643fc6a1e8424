package consumer

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// What Apache Kafka 4.4.0 has written of a group comes out the same, byte for byte, when it is written again.
func TestRecordsAreThoseOfKafka(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "testdata", "__consumer_offsets-0", "00000000000000000000.log"))
	if err != nil {
		t.Fatal(err)
	}
	g, compared := New("new-group"), map[int16]int{}
	for s := record.NewScanner(b); s.Next(); {
		rs := s.Batch().Records(0)
		for rs.Next() {
			r := rs.Record()
			k, err := stored.DecodeKey(r.Key, stored.NewGroupKey)
			if err != nil {
				t.Fatal(err)
			}
			if k.APIKey() < typeGroup {
				continue
			}
			if err := g.Apply(r.Key, r.Value); err != nil {
				t.Fatal(err)
			}
			c := Begin(g)
			rewrite(c, k, r.Value == nil)
			if len(c.Records) != 1 || !bytes.Equal(c.Records[0].Key, r.Key) || !bytes.Equal(c.Records[0].Value, r.Value) || (r.Value == nil) != (c.Records[0].Value == nil) {
				t.Errorf("type %d at offset %d:\n got %x\nwant %x = %x", k.APIKey(), r.Offset, c.Records, r.Key, r.Value)
			}
			compared[k.APIKey()]++
		}
		rs.Close()
	}
	for _, want := range []int16{typeGroup, typeMember, typeTarget, typeTargetOf, typeCurrent} {
		if compared[want] < 2 {
			t.Errorf("%d records of type %d were compared, want 2 or more", compared[want], want)
		}
	}
	if g.State() != "Empty" || g.Epoch != 3 || g.AssignmentEpoch != 3 || len(g.Targets) != 0 {
		t.Errorf("the group in the end: %+v", g)
	}
}

// rewrite writes the record of a key as the state of the group says.
func rewrite(c *Change, key stored.Message, tombstone bool) {
	switch k := key.(type) {
	case *stored.ConsumerGroupMetadataKey:
		c.writeGroup(c.Group.Epoch, c.Group.MetadataHash)
	case *stored.ConsumerGroupTargetAssignmentMetadataKey:
		c.writeTargetMetadata(c.Group.AssignmentEpoch, c.Group.AssignmentMs)
	case *stored.ConsumerGroupMemberMetadataKey:
		if tombstone {
			c.removeInfo(k.MemberID)
			return
		}
		c.writeInfo(c.Group.Members[k.MemberID])
	case *stored.ConsumerGroupTargetAssignmentMemberKey:
		if tombstone {
			c.removeTarget(k.MemberID)
			return
		}
		c.writeTarget(k.MemberID, c.Group.Targets[k.MemberID])
	case *stored.ConsumerGroupCurrentMemberAssignmentKey:
		if tombstone {
			c.removeCurrent(k.MemberID)
			return
		}
		c.writeCurrent(c.Group.Members[k.MemberID])
	}
}

// Damaged and unknown records are errors, orphans are none, and the obsolete record of a group goes when it changes.
func TestApplyOddRecords(t *testing.T) {
	g := New("g")
	apply := func(key stored.Message, value []byte) error { return g.Apply(stored.AppendKey(nil, key), value) }
	for name, key := range map[string]stored.Message{
		"group": &stored.ConsumerGroupMetadataKey{}, "member": &stored.ConsumerGroupMemberMetadataKey{},
		"target": &stored.ConsumerGroupTargetAssignmentMetadataKey{}, "target of a member": &stored.ConsumerGroupTargetAssignmentMemberKey{},
		"current": &stored.ConsumerGroupCurrentMemberAssignmentKey{}, "regex": &stored.ConsumerGroupRegularExpressionKey{},
	} {
		if err := apply(key, []byte{0}); err == nil {
			t.Errorf("%s: a cut value is no error", name)
		}
		if err := apply(key, binary.BigEndian.AppendUint16(nil, 99)); err == nil {
			t.Errorf("%s: a version to come is no error", name)
		}
	}
	if err := apply(&stored.GroupMetadataKey{}, nil); err == nil {
		t.Error("a record of a classic group is no error")
	}
	if err := apply(&stored.ConsumerGroupCurrentMemberAssignmentKey{MemberID: "nobody"}, nil); err != nil || len(g.Members) != 0 {
		t.Errorf("a tombstone about nobody: %v, %v", err, g.Members)
	}
	v := stored.NewConsumerGroupPartitionMetadataValue()
	if err := apply(&stored.ConsumerGroupPartitionMetadataKey{GroupID: "g"}, stored.AppendValue(nil, &v, 0)); err != nil {
		t.Fatal(err)
	}
	c := Begin(g)
	c.bump(View{})
	if len(c.Records) != 2 || c.Records[1].Value != nil || c.Group.outdated {
		t.Errorf("the obsolete record stays: %v", c.Records)
	}
}
