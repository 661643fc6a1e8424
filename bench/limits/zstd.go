package limits

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Where a batch of Kafka's magic 2 has its length, which does not count what stands up to behind it, and its records.
const (
	batchLength  = 8
	batchRest    = 12
	batchFlags   = 22
	batchRecords = 61
)

// zstdFlags of the three lowest say that the records are compressed with zstd.
const zstdFlags = 4

// Zstd unpacks the records of all batches of a segment that are compressed with zstd, one after the other, and returns how long the decoder took.
func Zstd(segment string) (time.Duration, error) {
	b, err := os.ReadFile(segment)
	if err != nil {
		return 0, fmt.Errorf("limits: %w", err)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return 0, fmt.Errorf("limits: %w", err)
	}
	defer decoder.Close()
	began := time.Now()
	for at := 0; len(b) >= batchRecords; at++ {
		size := int(binary.BigEndian.Uint32(b[batchLength:])) + batchRest
		if size < batchRecords || size > len(b) {
			return 0, fmt.Errorf("limits: batch %d of %s has %d bytes of %d", at, segment, size, len(b))
		}
		batch := b[:size]
		if b = b[size:]; batch[batchFlags]&7 != zstdFlags {
			continue // a client leaves those alone that become no smaller
		}
		if err = decoder.Reset(bytes.NewReader(batch[batchRecords:])); err == nil {
			_, err = io.Copy(io.Discard, decoder)
		}
		if err != nil {
			return 0, fmt.Errorf("limits: batch %d of %s: %w", at, segment, err)
		}
	}
	return time.Since(began), nil
}
