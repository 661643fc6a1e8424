package checkpoint

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// PartitionMetadataFile is the name of the file that says which topic a partition directory belongs to.
const PartitionMetadataFile = "partition.metadata"

// ReadPartitionMetadata returns the topic id in the partition.metadata file at path. A missing file is
// fs.ErrNotExist. Versions above 0 are read alike, an all-zero id is refused.
func ReadPartitionMetadata(fsys vfs.FS, path string) (record.UUID, error) {
	data, err := readAll(fsys, path)
	if err != nil {
		return record.UUID{}, err
	}
	id, err := parsePartitionMetadata(string(data))
	if err != nil {
		return record.UUID{}, fmt.Errorf("%s: %w", path, err)
	}
	return id, nil
}

func parsePartitionMetadata(text string) (record.UUID, error) {
	var values []string
	for number, line := range lines(text) {
		if number > 2 {
			break
		}
		key, value, ok := splitColon(line)
		if want := [...]string{"version", "topic_id"}[number-1]; !ok || key != want {
			return record.UUID{}, fmt.Errorf("%w: line %d: %.40q, should be %s: …", ErrFormat, number, line, want)
		}
		values = append(values, value)
	}
	if len(values) < 2 {
		return record.UUID{}, fmt.Errorf("%w: %d lines, should be 2", ErrFormat, len(values))
	}
	if v, err := strconv.ParseInt(values[0], 10, 32); err != nil || v < 0 {
		return record.UUID{}, fmt.Errorf("%w: version %.40q", ErrFormat, values[0])
	}
	id, err := record.ParseUUID(values[1])
	if err != nil {
		return record.UUID{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if id.IsZero() {
		return record.UUID{}, fmt.Errorf("%w: the topic id is zero", ErrFormat)
	}
	return id, nil
}

// splitColon splits a line at a colon that blanks follow.
func splitColon(line string) (key, value string, ok bool) {
	key, rest, ok := strings.Cut(line, ":")
	value = strings.TrimLeft(rest, " \t\v\f")
	return key, value, ok && value != rest && value != ""
}

// WritePartitionMetadata replaces the partition.metadata file at path. It has no newline at its end.
func WritePartitionMetadata(fsys vfs.FS, path string, topicID record.UUID) error {
	return WriteAtomic(fsys, path, PartitionMetadata(topicID))
}

// CreatePartitionMetadata is WritePartitionMetadata in a new directory, which the caller syncs when it has put the other
// files into it.
func CreatePartitionMetadata(fsys vfs.FS, path string, topicID record.UUID) error {
	if err := writeSynced(fsys, path+Suffix, PartitionMetadata(topicID)); err != nil {
		return err
	}
	return fsys.Rename(path+Suffix, path)
}

// PartitionMetadata is the content of a partition.metadata file.
func PartitionMetadata(topicID record.UUID) []byte {
	return fmt.Appendf(nil, "version: 0\ntopic_id: %s", topicID)
}
