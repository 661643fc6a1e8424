package kept

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestSegmentsHoldValidBatches reads batches with franz-go's decoder, which checks the checksum.
func TestSegmentsHoldValidBatches(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"00000000000000000000.log", "leader-epoch-checkpoint"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	end, err := Segments(dir, 2, time.UnixMilli(1_700_000_000_000))
	if err != nil || end != 2*perSegment {
		t.Fatal(end, err)
	}
	f, err := os.Open(filepath.Join(dir, "00000000000000001024.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != SegmentBytes {
		t.Fatalf("%v, %v", info, err)
	}
	for _, i := range []int64{0, 1, perSegment - 1} {
		b := make([]byte, batchBytes)
		if _, err := f.ReadAt(b, i*batchBytes); err != nil {
			t.Fatal(err)
		}
		p := kmsg.NewFetchResponseTopicPartition()
		p.RecordBatches, p.HighWatermark = b, end
		got, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Offset: perSegment + i}, &p, kgo.DefaultDecompressor(), nil)
		if got.Err != nil || len(got.Records) != 1 || got.Records[0].Offset != perSegment+i || next != perSegment+i+1 || got.Records[0].Key != nil {
			t.Fatalf("batch %d: %+v", i, got)
		}
	}
	index, err := os.ReadFile(filepath.Join(dir, "00000000000000001024.index"))
	if err != nil || len(index) != 8*(perSegment-1) || binary.BigEndian.Uint32(index[8:]) != 2 || binary.BigEndian.Uint32(index[12:]) != 2*batchBytes {
		t.Errorf("index of %d bytes, %v", len(index), err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "leader-epoch-checkpoint")); err != nil || string(b) != "old" {
		t.Errorf("epochs: %q, %v", b, err)
	}
}

func TestSetRecoveryPoint(t *testing.T) {
	dir := t.TempDir()
	read := func() string {
		b, err := os.ReadFile(filepath.Join(dir, checkpoint))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, step := range []struct {
		topic  string
		number int
		offset int64
		want   string
	}{
		{"a", 0, 5, "0\n1\na 0 5\n"},
		{"b", 1, 7, "0\n2\na 0 5\nb 1 7\n"},
		{"a", 0, 0, "0\n2\nb 1 7\na 0 0\n"},
		{"a", 1, 1, "0\n3\nb 1 7\na 0 0\na 1 1\n"},
	} {
		if err := SetRecoveryPoint(dir, step.topic, step.number, step.offset); err != nil || read() != step.want {
			t.Errorf("%q, %v, wanted %q", read(), err, step.want)
		}
	}
	if _, err := setLine("1\n0\n", "a 0", 1); err == nil {
		t.Error("another version was accepted")
	}
}
