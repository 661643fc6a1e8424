package consumer

import (
	"encoding/binary"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/group/assignor"
	"github.com/samsalog/samsa/record"
)

// ErrEmbedded means that a member's bytes are not those of the embedded consumer protocol.
var ErrEmbedded = errors.New("the embedded consumer protocol is malformed")

// newestEmbedded is the newest version of subscriptions and assignments that is written.
const newestEmbedded = 3

// subscription reads a ConsumerProtocolSubscription of any version.
func subscription(b []byte) (kmsg.ConsumerMemberMetadata, error) {
	s := kmsg.NewConsumerMemberMetadata()
	if err := s.ReadFrom(b); err != nil || s.Version < 0 {
		return s, ErrEmbedded
	}
	return s, nil
}

// ownedBy are the partitions that a subscription says are held; none before version 1, which takes them to be given up.
func ownedBy(s kmsg.ConsumerMemberMetadata, v View) Owned {
	owned := Owned{}
	for _, t := range s.OwnedPartitions {
		if topic := v.Topic(t.Topic); topic != nil {
			owned[topic.ID] = append(owned[topic.ID], t.Partitions...)
		}
	}
	return owned
}

// assigned reads a ConsumerProtocolAssignment. Topics that do not exist are left out. No bytes are no partitions: a
// member that never synced has none.
func assigned(b []byte, v View, epoch int32) (Partitions, error) {
	out := Partitions{}
	if len(b) == 0 {
		return out, nil
	}
	a := kmsg.NewConsumerMemberAssignment()
	if err := a.ReadFrom(b); err != nil || a.Version < 0 {
		return nil, ErrEmbedded
	}
	for _, t := range a.Topics {
		if topic := v.Topic(t.Topic); topic != nil {
			for _, p := range t.Partitions {
				out.put(topic.ID, p, epoch)
			}
		}
	}
	return out, nil
}

// embed writes partitions as an assignment, in the version that the member's subscription has.
func embed(v View, m *Member, p assignor.Partitions) []byte {
	a := kmsg.NewConsumerMemberAssignment()
	if meta := m.Classic.Protocols[0].Metadata; len(meta) >= 2 {
		a.Version = max(0, min(newestEmbedded, int16(binary.BigEndian.Uint16(meta))))
	}
	for _, id := range sortedIDs(p) {
		if name, ok := v.Name(id); ok {
			t := kmsg.NewConsumerMemberAssignmentTopic()
			t.Topic, t.Partitions = name, p[id]
			a.Topics = append(a.Topics, t)
		}
	}
	return a.AppendTo(nil)
}

// EmbeddedAssignment is what a classic member is told to read.
func (m *Member) EmbeddedAssignment(v View) []byte {
	p := assignor.Partitions{}
	m.Assigned.each(func(t record.UUID, x, _ int32) { p[t] = append(p[t], x) })
	return embed(v, m, p)
}
