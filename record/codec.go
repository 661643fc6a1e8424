package record

import (
	"fmt"
	"strconv"
)

// Codec is a compression codec, numbered as in bits 0 to 2 of a batch's attributes.
type Codec int8

// The codecs. Zstd exists in magic 2 only.
const (
	None   Codec = 0
	Gzip   Codec = 1
	Snappy Codec = 2
	LZ4    Codec = 3
	Zstd   Codec = 4
)

// Levels that Kafka uses when nothing is configured. Snappy has no levels.
const (
	DefaultGzipLevel = -1
	DefaultLZ4Level  = 9
	DefaultZstdLevel = 3
)

var codecNames = [...]string{"none", "gzip", "snappy", "lz4", "zstd"}

// String returns Kafka's name of the codec.
func (c Codec) String() string {
	if !c.Valid() {
		return "unknown(" + strconv.Itoa(int(c)) + ")"
	}
	return codecNames[c]
}

// Valid reports whether c is one of the five; attribute bits can also spell 5, 6 and 7.
func (c Codec) Valid() bool { return c >= None && c <= Zstd }

// DefaultLevel is the level that Kafka uses for c when none is configured.
func (c Codec) DefaultLevel() int {
	switch c {
	case Gzip:
		return DefaultGzipLevel
	case LZ4:
		return DefaultLZ4Level
	case Zstd:
		return DefaultZstdLevel
	default:
		return 0
	}
}

// ParseCodec returns the codec of Kafka's name for it.
func ParseCodec(name string) (Codec, error) {
	for c, n := range codecNames {
		if n == name {
			return Codec(c), nil
		}
	}
	return None, fmt.Errorf("%w: %q", ErrUnsupportedCodec, name)
}
