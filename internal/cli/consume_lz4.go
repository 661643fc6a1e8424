package cli

import (
	"bytes"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// oldLZ4 also reads what producers before 0.10 have compressed with LZ4: the checksum of their frames' headers counts the
// magic bytes too (KAFKA-3160). Brokers hand such messages out as they are.
type oldLZ4 struct{ kgo.Decompressor }

// Decompress implements kgo.Decompressor.
func (d oldLZ4) Decompress(src []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	// The header of every frame that such a producer has written, and what its last byte should be.
	const header, right = "\x04\x22\x4d\x18\x60\x40\x1a", 0x82
	if codec == kgo.CodecLz4 && bytes.HasPrefix(src, []byte(header)) {
		src = slices.Clone(src)
		src[len(header)-1] = right
	}
	return d.Decompressor.Decompress(src, codec)
}
