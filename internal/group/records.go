package group

import (
	"encoding/binary"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/stored"
)

// Record types of the offsets topic that this room writes. Types 3 to 23 belong to other kinds of groups.
const (
	typeOffsetV0 = 0
	typeOffset   = 1
	typeGroup    = 2
)

// Value versions that Apache Kafka 4.4 writes.
const (
	offsetValueVersion = 4
	// offsetValueWithExpiry is the only version that carries an expire timestamp, which old clients ask for.
	offsetValueWithExpiry = 1
	groupValueVersion     = 3
)

// offsetKey is the key of a committed offset.
func offsetKey(group, topic string, partition int32) []byte {
	return stored.AppendKey(nil, &stored.OffsetCommitKey{Group: group, Topic: topic, Partition: partition})
}

// offsetRecord is the record of a committed offset.
func offsetRecord(group, topic string, partition int32, c committed) coord.Record {
	v := stored.NewOffsetCommitValue()
	v.Offset, v.LeaderEpoch, v.Metadata = c.offset, c.leaderEpoch, c.metadata
	v.CommitTimestamp, v.ExpireTimestamp, v.TopicID = c.commitMs, c.expireMs, c.topicID
	version := int16(offsetValueVersion)
	if c.expireMs >= 0 {
		version = offsetValueWithExpiry
	}
	return coord.Record{Key: offsetKey(group, topic, partition), Value: stored.AppendValue(nil, &v, version)}
}

// offsetTombstone removes a committed offset.
func offsetTombstone(group, topic string, partition int32) coord.Record {
	return coord.Record{Key: offsetKey(group, topic, partition)}
}

// groupKey is the key of a classic group.
func groupKey(group string) []byte {
	return stored.AppendKey(nil, &stored.GroupMetadataKey{Group: group})
}

// groupRecord is the record of a classic group with its members and the given assignment.
func groupRecord(g *classicGroup, assignment map[string][]byte) coord.Record {
	v := stored.NewGroupMetadataValue()
	v.ProtocolType = g.protocolType
	v.Generation = g.generation
	v.Protocol = g.protocol
	v.Leader = g.leaderOrNil()
	v.CurrentStateTimestamp = g.stateSinceMs
	for _, m := range g.members {
		x := stored.NewGroupMetadataValueMemberMetadata()
		x.MemberID, x.GroupInstanceID, x.ClientID, x.ClientHost = m.id, m.instance, m.clientID, m.clientHost
		x.RebalanceTimeout, x.SessionTimeout = m.rebalanceTimeoutMs, m.sessionTimeoutMs
		x.Subscription = m.metadata(g.protocol)
		x.Assignment = assignment[m.id]
		v.Members = append(v.Members, x)
	}
	return coord.Record{Key: groupKey(g.id), Value: stored.AppendValue(nil, &v, groupValueVersion)}
}

// newGroupRecord is the record of a group that exists but has had no generation yet.
func newGroupRecord(g *classicGroup) coord.Record {
	v := stored.NewGroupMetadataValue()
	v.Protocol, v.Leader = nil, nil
	v.CurrentStateTimestamp = g.stateSinceMs
	return coord.Record{Key: groupKey(g.id), Value: stored.AppendValue(nil, &v, groupValueVersion)}
}

// groupTombstone removes a classic group.
func groupTombstone(group string) coord.Record { return coord.Record{Key: groupKey(group)} }

// keyOf splits a key into its record type and its first field, which is the group id in all types.
func keyOf(key []byte) (recordType int16, group string, ok bool) {
	if len(key) < 4 {
		return 0, "", false
	}
	recordType = int16(binary.BigEndian.Uint16(key))
	n := int(int16(binary.BigEndian.Uint16(key[2:])))
	if n < 0 || n > len(key)-4 {
		return 0, "", false
	}
	return recordType, string(key[4 : 4+n]), true
}
