package stored

import (
	"encoding/binary"
	"math"

	"github.com/samsalog/samsa/record"
)

func appendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func appendInt8(dst []byte, v int8) []byte     { return append(dst, byte(v)) }
func appendInt16(dst []byte, v int16) []byte   { return binary.BigEndian.AppendUint16(dst, uint16(v)) }
func appendUint16(dst []byte, v uint16) []byte { return binary.BigEndian.AppendUint16(dst, v) }
func appendInt32(dst []byte, v int32) []byte   { return binary.BigEndian.AppendUint32(dst, uint32(v)) }
func appendUint32(dst []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(dst, v) }
func appendInt64(dst []byte, v int64) []byte   { return binary.BigEndian.AppendUint64(dst, uint64(v)) }
func appendFloat64(dst []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(v))
}
func appendUUID(dst []byte, v record.UUID) []byte { return append(dst, v[:]...) }

// appendLength writes the length or count n, -1 for null; width is that of the non-flexible form.
func appendLength(dst []byte, n int, flexible bool, width int) []byte {
	switch {
	case flexible:
		return binary.AppendUvarint(dst, uint64(n+1))
	case width == 2:
		return appendInt16(dst, int16(n))
	default:
		return appendInt32(dst, int32(n))
	}
}

func appendString(dst []byte, s string, flexible bool) []byte {
	return append(appendLength(dst, len(s), flexible, 2), s...)
}

func appendNullableString(dst []byte, s *string, flexible bool) []byte {
	if s == nil {
		return appendLength(dst, -1, flexible, 2)
	}
	return appendString(dst, *s, flexible)
}

func appendBytes(dst, b []byte, flexible, nullable bool) []byte {
	if b == nil && nullable {
		return appendLength(dst, -1, flexible, 4)
	}
	return append(appendLength(dst, len(b), flexible, 4), b...)
}

func appendArray[T any](dst []byte, list []T, flexible, nullable bool, element func([]byte, T) []byte) []byte {
	if list == nil && nullable {
		return appendLength(dst, -1, flexible, 4)
	}
	dst = appendLength(dst, len(list), flexible, 4)
	for _, e := range list {
		dst = element(dst, e)
	}
	return dst
}

// endTag puts the length of the tagged value dst[start:] in front of it.
func endTag(dst []byte, start int) []byte {
	size := len(dst) - start
	var head [binary.MaxVarintLen32]byte
	n := binary.PutUvarint(head[:], uint64(size))
	dst = append(dst, head[:n]...)
	copy(dst[start+n:], dst[start:start+size])
	copy(dst[start:], head[:n])
	return dst
}

// appendRawTags writes the tagged fields that the schema does not know. Their numbers are above the known ones.
func appendRawTags(dst []byte, tags []rawTag) []byte {
	for _, t := range tags {
		dst = binary.AppendUvarint(dst, uint64(t.tag))
		dst = binary.AppendUvarint(dst, uint64(len(t.value)))
		dst = append(dst, t.value...)
	}
	return dst
}
