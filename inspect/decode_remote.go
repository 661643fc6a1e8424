package inspect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// remoteDecoder reads the records of __remote_log_metadata. They have no keys, and Kafka's tool prints them as Java
// objects print themselves.
type remoteDecoder struct{}

// remoteFrame is the only frame of these records; remoteRecords are the schemas by record id.
const remoteFrame = 1

var remoteRecords = [...]string{"RemoteLogSegmentMetadataRecord", "RemoteLogSegmentMetadataUpdateRecord",
	"RemotePartitionDeleteMetadataRecord", "RemoteLogSegmentMetadataSnapshotRecord"}

var errRemoteRecord = errors.New("no remote log metadata")

func (remoteDecoder) decode(r *record.Record) (key, value decoded) {
	m, version, err := parseRemote(r.Value)
	if err != nil {
		return decoded{}, undecodable("Error at offset %d, skipping. %v", r.Offset, err)
	}
	b := append([]byte(`{"type":"`), m.RecordName()...)
	b = append(b, `","version":`...)
	b = strconv.AppendInt(b, int64(version), 10)
	b = append(b, `,"data":`...)
	value = document(append(m.AppendJSON(b, version), '}'))
	value.text = remoteText(m)
	return decoded{}, value
}

// parseRemote reads uvarint frame, record id and version, and the record.
func parseRemote(b []byte) (stored.Message, int16, error) {
	var numbers [3]uint64
	for i := range numbers {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			return nil, 0, fmt.Errorf("%w: the value ends early", errRemoteRecord)
		}
		numbers[i], b = n, b[size:]
	}
	if numbers[0] != remoteFrame || numbers[1] >= uint64(len(remoteRecords)) {
		return nil, 0, fmt.Errorf("%w: frame %d, record id %d", errRemoteRecord, numbers[0], numbers[1])
	}
	m := stored.New(remoteRecords[numbers[1]])
	if numbers[2] > uint64(m.HighestVersion()) {
		return nil, 0, fmt.Errorf("%w: %s version %d, known are 0 to %d", errRemoteRecord, m.RecordName(), numbers[2], m.HighestVersion())
	}
	rest, err := m.Decode(b, int16(numbers[2]))
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%w: %d bytes too many", errRemoteRecord, len(rest))
	}
	return m, int16(numbers[2]), err
}

// remoteText is what toString of Kafka's class for the record returns.
func remoteText(m stored.Message) string {
	switch m := m.(type) {
	case *stored.RemoteLogSegmentMetadataRecord:
		id, epochs := m.RemoteLogSegmentID, make(map[int32]int64)
		for _, e := range m.SegmentLeaderEpochs {
			epochs[e.LeaderEpoch] = e.Offset
		}
		return fmt.Sprintf("RemoteLogSegmentMetadata{remoteLogSegmentId=%s, startOffset=%d, endOffset=%d, brokerId=%d, maxTimestampMs=%d, "+
			"eventTimestampMs=%d, segmentLeaderEpochs=%s, segmentSizeInBytes=%d, customMetadata=%s, state=%s, txnIdxEmpty=%t}",
			segmentID(id.TopicIDPartition.ID, id.TopicIDPartition.Name, id.TopicIDPartition.Partition, id.ID), m.StartOffset, m.EndOffset, m.BrokerID,
			m.MaxTimestampMs, m.EventTimestampMs, javaMap(epochs), m.SegmentSizeInBytes, customMetadata(m.CustomMetadata),
			name(segmentStates, m.RemoteLogSegmentState), m.TxnIndexEmpty)
	case *stored.RemoteLogSegmentMetadataUpdateRecord:
		id := m.RemoteLogSegmentID
		return fmt.Sprintf("RemoteLogSegmentMetadataUpdate{remoteLogSegmentId=%s, customMetadata=%s, state=%s, eventTimestampMs=%d, brokerId=%d}",
			segmentID(id.TopicIDPartition.ID, id.TopicIDPartition.Name, id.TopicIDPartition.Partition, id.ID), customMetadata(m.CustomMetadata),
			name(segmentStates, m.RemoteLogSegmentState), m.EventTimestampMs, m.BrokerID)
	case *stored.RemotePartitionDeleteMetadataRecord:
		tp := m.TopicIDPartition
		return fmt.Sprintf("RemotePartitionDeleteMetadata{topicPartition=%v:%s-%d, state=%s, eventTimestampMs=%d, brokerId=%d}",
			tp.ID, tp.Name, tp.Partition, name(partitionStates, m.RemotePartitionDeleteState), m.EventTimestampMs, m.BrokerID)
	case *stored.RemoteLogSegmentMetadataSnapshotRecord:
		epochs := make(map[int32]int64)
		for _, e := range m.SegmentLeaderEpochs {
			epochs[e.LeaderEpoch] = e.Offset
		}
		return fmt.Sprintf("RemoteLogSegmentMetadataSnapshot{segmentId=%v, startOffset=%d, endOffset=%d, maxTimestampMs=%d, segmentLeaderEpochs=%s, "+
			"segmentSizeInBytes=%d, customMetadata=%s, state=%s, txnIdxEmpty=%t}", m.SegmentID, m.StartOffset, m.EndOffset, m.MaxTimestampMs,
			javaMap(epochs), m.SegmentSizeInBytes, customMetadata(m.CustomMetadata), name(segmentStates, m.RemoteLogSegmentState), m.TxnIndexEmpty)
	default:
		return m.RecordName()
	}
}

// The states by id (RemoteLogSegmentState, RemotePartitionDeleteState).
var (
	segmentStates   = []string{"COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED"}
	partitionStates = []string{"DELETE_PARTITION_MARKED", "DELETE_PARTITION_STARTED", "DELETE_PARTITION_FINISHED"}
)

func name(names []string, id int8) string {
	if id < 0 || int(id) >= len(names) {
		return strconv.Itoa(int(id))
	}
	return names[id]
}

func segmentID(topicID record.UUID, topic string, partition int32, segment record.UUID) string {
	return fmt.Sprintf("RemoteLogSegmentId{topicIdPartition=%v:%s-%d, id=%v}", topicID, topic, partition, segment)
}

func customMetadata(b []byte) string {
	if b == nil {
		return "Optional.empty"
	}
	return fmt.Sprintf("Optional[CustomMetadata{%d bytes}]", len(b))
}

// javaMap prints like a Java TreeMap.
func javaMap(m map[int32]int64) string {
	keys := make([]int32, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = fmt.Sprintf("%d=%d", k, m[k])
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
