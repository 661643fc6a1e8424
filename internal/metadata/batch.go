package metadata

import (
	"fmt"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// maxBatchBytes bounds a batch of the metadata log: Kafka's fetchers of it take no larger one
// (KafkaRaftClient.MAX_BATCH_SIZE_BYTES).
const maxBatchBytes = 8 << 20

// newBatch begins a batch as Kafka's raft layer writes it: uncompressed, CreateTime, all records at one time.
func newBatch(base record.Offset, epoch record.LeaderEpoch, control bool) *record.Builder {
	o := record.DefaultBuilderOptions()
	o.BaseOffset, o.LeaderEpoch, o.Control = base, epoch, control
	return record.NewBuilder(o)
}

// controlRecord is one record of a control batch.
type controlRecord struct {
	kind  record.ControlType
	value stored.Message
}

func controlBatch(base record.Offset, epoch record.LeaderEpoch, nowMs int64, records ...controlRecord) record.Batch {
	b := newBatch(base, epoch, true)
	for _, r := range records {
		b.Append(nowMs, record.ControlKey(r.kind), r.value.AppendTo(nil, 0), nil)
	}
	return b.Build()
}

// dataBatch encodes records at the versions that belong to metadataVersion, and returns what a reader of the
// batch will see: the versions in use may not have every field. A FEATURE_LEVEL record of metadata.version
// among them counts from itself on.
func dataBatch(base record.Offset, epoch record.LeaderEpoch, nowMs int64, metadataVersion int16, records []stored.Message) (record.Batch, []stored.Message, error) {
	b := newBatch(base, epoch, false)
	seen := make([]stored.Message, 0, len(records))
	for _, m := range records {
		value := stored.AppendFrame(nil, m, recordVersion(m, metadataVersion))
		b.Append(nowMs, nil, value, nil)
		if b.Size() > maxBatchBytes {
			return nil, nil, fmt.Errorf("%w: %d records take more than %d bytes", ErrTooLarge, len(records), maxBatchBytes)
		}
		back, _, err := stored.DecodeFrame(value)
		if err != nil {
			return nil, nil, fmt.Errorf("encoding: %w", err)
		}
		seen = append(seen, back)
		if level, ok := m.(*stored.FeatureLevelRecord); ok && level.Name == MetadataVersionFeature {
			metadataVersion = level.FeatureLevel
		}
	}
	return b.Build(), seen, nil
}

// decodeData reads the records of a data batch. Types and versions that are not known give ErrTooNew.
func decodeData(b record.Batch) ([]stored.Message, error) {
	rs := b.Records(maxBatchBytes)
	defer rs.Close()
	var out []stored.Message
	for rs.Next() {
		r := rs.Record()
		m, _, err := stored.DecodeFrame(r.Value)
		if err != nil {
			return nil, tooNew(fmt.Errorf("offset %d: %w", r.Offset, err))
		}
		out = append(out, m)
	}
	return out, rs.Err()
}

// decodeControl reads the records of a control batch; kinds that are not known here are left out, as Kafka does.
func decodeControl(b record.Batch) ([]controlRecord, error) {
	rs := b.Records(maxBatchBytes)
	defer rs.Close()
	var out []controlRecord
	for rs.Next() {
		r := rs.Record()
		kind, err := record.ParseControlKey(r.Key)
		if err != nil {
			return nil, fmt.Errorf("offset %d: %w", r.Offset, err)
		}
		var m stored.Message
		switch kind {
		case record.ControlLeaderChange:
			m = new(stored.LeaderChangeMessage)
		case record.ControlSnapshotHeader:
			m = new(stored.SnapshotHeaderRecord)
		case record.ControlSnapshotFooter:
			m = new(stored.SnapshotFooterRecord)
		case record.ControlKRaftVersion:
			m = new(stored.KRaftVersionRecord)
		case record.ControlKRaftVoters:
			m = new(stored.VotersRecord)
		default:
			continue
		}
		if _, err := m.Decode(r.Value, controlVersion(kind, r.Value)); err != nil {
			return nil, fmt.Errorf("offset %d: %w", r.Offset, err)
		}
		out = append(out, controlRecord{kind, m})
	}
	return out, rs.Err()
}

// controlVersion is the schema version of a control record's value: its first field. LEADER_CHANGE has two;
// of the others a newer one is read as the newest known.
func controlVersion(kind record.ControlType, value []byte) int16 {
	if kind == record.ControlLeaderChange && len(value) >= 2 && (value[0] != 0 || value[1] != 0) {
		return 1
	}
	return 0
}
