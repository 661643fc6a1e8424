package checkpoint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// Names of the offset checkpoints in a log directory.
const (
	RecoveryPointFile  = "recovery-point-offset-checkpoint"
	LogStartFile       = "log-start-offset-checkpoint"
	HighWatermarkFile  = "replication-offset-checkpoint"
	CleanerOffsetsFile = "cleaner-offset-checkpoint"
)

// ReadOffsets reads an offset checkpoint: "<topic> <partition> <offset>" for each partition. If a partition occurs
// twice the last line counts. A missing file is fs.ErrNotExist, an empty one has no entries.
func ReadOffsets(fsys vfs.FS, path string) (map[record.TopicPartition]record.Offset, error) {
	entries, err := ReadFrame(fsys, path, 3)
	if err != nil {
		return nil, err
	}
	offsets := make(map[record.TopicPartition]record.Offset, len(entries))
	for i, e := range entries {
		partition, err := strconv.ParseInt(e[1], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: line %d: partition %.40q", path, ErrFormat, i+3, e[1])
		}
		offset, err := strconv.ParseInt(e[2], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: line %d: offset %.40q", path, ErrFormat, i+3, e[2])
		}
		offsets[record.TopicPartition{Topic: e[0], Partition: int32(partition)}] = record.Offset(offset)
	}
	return offsets, nil
}

// WriteOffsets replaces an offset checkpoint. Kafka's order is that of a hash map; here it is topic and partition, so
// that equal offsets give equal files.
func WriteOffsets(fsys vfs.FS, path string, offsets map[record.TopicPartition]record.Offset) error {
	tps := slices.SortedFunc(maps.Keys(offsets), func(a, b record.TopicPartition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	data := appendFrame(nil, len(tps))
	for _, tp := range tps {
		data = append(append(data, tp.Topic...), ' ')
		data = append(strconv.AppendInt(data, int64(tp.Partition), 10), ' ')
		data = append(strconv.AppendInt(data, int64(offsets[tp]), 10), '\n')
	}
	return WriteAtomic(fsys, path, data)
}
