package kept

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// batchBytes is the size of a batch; it holds one record.
	batchBytes = 1 << 20
	// perSegment batches fill a segment of Apache Kafka's default size.
	perSegment = 1024
	// SegmentBytes is the size of a segment.
	SegmentBytes = batchBytes * perSegment
	batchHeader  = 61
)

// Segments replaces the log in the directory of a partition by n full segments whose records are zeros, and returns
// the offset after the last.
func Segments(dir string, n int, now time.Time) (int64, error) {
	if err := clear(dir); err != nil {
		return 0, err
	}
	head := batchHead(now.UnixMilli())
	for i := range n {
		if err := segment(dir, int64(i)*perSegment, head, now); err != nil {
			return 0, fmt.Errorf("kept log: %w", err)
		}
	}
	return int64(n) * perSegment, nil
}

// clear removes the files of the log.
func clear(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("kept log: %w", err)
	}
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case ".log", ".index", ".timeindex", ".txnindex", ".snapshot":
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return fmt.Errorf("kept log: %w", err)
			}
		}
	}
	return nil
}

// batchHead returns the bytes of a batch that are not zeros at its end; its offset is 0. The checksum does not cover
// the offset, so one head serves all batches.
func batchHead(timestampMs int64) []byte {
	var record []byte
	record = append(record, 0, 0, 0)              // attributes, timestamp and offset deltas
	record = binary.AppendVarint(record, -1)      // no key
	value := batchBytes - batchHeader - 3 - 1 - 1 // less what the two lengths take
	lengths := func(value int) ([]byte, []byte) {
		v := binary.AppendVarint(nil, int64(value))
		return binary.AppendVarint(nil, int64(len(record)+len(v)+value+1)), v
	}
	for {
		whole, v := lengths(value)
		over := batchHeader + len(whole) + len(record) + len(v) + value + 1 - batchBytes
		if over == 0 {
			return finish(append(append(whole, record...), v...), timestampMs)
		}
		value -= over
	}
}

// finish puts a header in front of the beginning of the record.
func finish(record []byte, timestampMs int64) []byte {
	b := make([]byte, batchHeader, batchHeader+len(record))
	binary.BigEndian.PutUint32(b[8:], batchBytes-12)
	b[16] = 2
	binary.BigEndian.PutUint64(b[27:], uint64(timestampMs))
	binary.BigEndian.PutUint64(b[35:], uint64(timestampMs))
	for i := 43; i < 57; i++ {
		b[i] = 0xff // no producer: id, epoch and sequence are -1
	}
	binary.BigEndian.PutUint32(b[57:], 1)
	b = append(b, record...)
	whole := make([]byte, batchBytes)
	copy(whole, b)
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(whole[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// segment writes one segment with its indexes.
func segment(dir string, base int64, head []byte, now time.Time) (err error) {
	name := filepath.Join(dir, fmt.Sprintf("%020d", base))
	f, err := os.Create(name + ".log")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var index []byte
	for i := range int64(perSegment) {
		binary.BigEndian.PutUint64(head, uint64(base+i))
		if _, err := f.WriteAt(head, i*batchBytes); err != nil {
			return err
		}
		if i > 0 {
			index = binary.BigEndian.AppendUint32(index, uint32(i))
			index = binary.BigEndian.AppendUint32(index, uint32(i*batchBytes))
		}
	}
	if err := f.Truncate(SegmentBytes); err != nil {
		return err
	}
	times := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, uint64(now.UnixMilli())), 0)
	return errors.Join(os.WriteFile(name+".index", index, 0o644), os.WriteFile(name+".timeindex", times, 0o644))
}

// checkpoint is the file that says up to where each log is on disk.
const checkpoint = "recovery-point-offset-checkpoint"

// SetRecoveryPoint has dir say that a partition is on disk up to offset.
func SetRecoveryPoint(dir, topic string, partition int, offset int64) error {
	name := filepath.Join(dir, checkpoint)
	b, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("recovery point: %w", err)
	}
	text, err := setLine(string(b), fmt.Sprintf("%s %d", topic, partition), offset)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		return fmt.Errorf("recovery point: %w", err)
	}
	return nil
}

// setLine sets the line of one partition in a checkpoint.
func setLine(text, partition string, offset int64) (string, error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if strings.TrimSpace(text) == "" {
		lines = []string{"0", "0"}
	}
	if len(lines) < 2 || lines[0] != "0" {
		return "", fmt.Errorf("%s is of another version: %q", checkpoint, lines[0])
	}
	kept := []string{}
	for _, l := range lines[2:] {
		if !strings.HasPrefix(l, partition+" ") {
			kept = append(kept, l)
		}
	}
	kept = append(kept, fmt.Sprintf("%s %d", partition, offset))
	return fmt.Sprintf("0\n%d\n%s\n", len(kept), strings.Join(kept, "\n")), nil
}
