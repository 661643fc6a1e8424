package stored

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/samsalog/samsa/record"
)

// Errors of Decode. They arrive wrapped with the name and version of the record.
var (
	// ErrShort says that the bytes end before the structure does.
	ErrShort = errors.New("bytes end early")
	// ErrMalformed says that a length, count, tag or varint cannot be right.
	ErrMalformed = errors.New("malformed")
	// ErrVersion says that the version is outside what is known of the record.
	ErrVersion = errors.New("unsupported version")
	// ErrUnknownRecord says that the record's number is not known.
	ErrUnknownRecord = errors.New("unknown record type")
)

// reader takes values off the front of b. After the first error all reads return zero values.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(err error, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{err}, args...)...)
	}
	r.b = nil
}

// finish is what Decode returns for the structure name at version.
func (r *reader) finish(name string, version int16) ([]byte, error) {
	if r.err != nil {
		return nil, fmt.Errorf("%s version %d: %w", name, version, r.err)
	}
	return r.b, nil
}

// take returns the next n bytes, which alias the input, or nil at an error.
func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.fail(ErrShort, "%d bytes wanted, %d left", n, len(r.b))
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) int8() int8 {
	if b := r.take(1); b != nil {
		return int8(b[0])
	}
	return 0
}

func (r *reader) bool() bool { return r.int8() != 0 }

func (r *reader) uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *reader) int16() int16     { return int16(r.uint16()) }
func (r *reader) int32() int32     { return int32(r.uint32()) }
func (r *reader) int64() int64     { return int64(r.uint64()) }
func (r *reader) float64() float64 { return math.Float64frombits(r.uint64()) }

func (r *reader) uuid() (u record.UUID) {
	copy(u[:], r.take(len(u)))
	return u
}

// uvarint reads an unsigned varint of at most 5 bytes (ByteUtils.readUnsignedVarint).
func (r *reader) uvarint() uint32 {
	v, n := binary.Uvarint(r.b)
	switch {
	case n == 0:
		r.fail(ErrShort, "varint cut off")
		return 0
	case n < 0 || n > 5 || v > math.MaxUint32:
		r.fail(ErrMalformed, "varint longer than 32 bits")
		return 0
	}
	r.b = r.b[n:]
	return uint32(v)
}

// length reads the length of a string (width 2) or bytes (width 4), or the count of an array (width 4);
// -1 is null. A flexible one is a varint of length + 1. STORED-1: the result is at most len(r.b)/size.
func (r *reader) length(flexible bool, width, size int) int {
	var n int64
	switch {
	case flexible:
		n = int64(r.uvarint()) - 1
	case width == 2:
		n = int64(r.int16())
	default:
		n = int64(r.int32())
	}
	if r.err != nil {
		return 0
	}
	if n < -1 {
		r.fail(ErrMalformed, "length %d", n)
		return 0
	}
	if n > 0 && n > int64(len(r.b)/size) {
		r.fail(ErrShort, "%d elements of at least %d bytes claimed, %d bytes left", n, size, len(r.b))
		return 0
	}
	return int(n)
}

func (r *reader) string(flexible bool) string {
	n := r.length(flexible, 2, 1)
	if n < 0 {
		r.fail(ErrMalformed, "null where a string must stand")
		return ""
	}
	return string(r.take(n))
}

func (r *reader) nullableString(flexible bool) *string {
	n := r.length(flexible, 2, 1)
	if n < 0 || r.err != nil {
		return nil
	}
	s := string(r.take(n))
	return &s
}

func (r *reader) bytes(flexible, nullable bool) []byte {
	n := r.length(flexible, 4, 1)
	if n < 0 {
		if !nullable {
			r.fail(ErrMalformed, "null where bytes must stand")
		}
		return nil
	}
	return append(make([]byte, 0, n), r.take(n)...) // STORED-3
}

// readArray reads an array whose elements take at least size bytes each.
func readArray[T any](r *reader, flexible, nullable bool, size int, element func(*reader) T) []T {
	n := r.length(flexible, 4, size)
	if n < 0 {
		if !nullable {
			r.fail(ErrMalformed, "null where an array must stand")
		}
		return nil
	}
	out := make([]T, 0, n)
	for range n {
		out = append(out, element(r))
		if r.err != nil {
			return nil
		}
	}
	return out
}

// rawTag is a tagged field that the schema does not know; it is kept for encoding again.
type rawTag struct {
	tag   uint32
	value []byte
}

// tags reads the tagged fields that end a flexible structure. known reads the value of a tag that the schema
// has and returns true; other fields are returned raw.
func (r *reader) tags(known func(tag uint32, value *reader) bool) (unknown []rawTag) {
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		tag, size := r.uvarint(), r.uvarint()
		if r.err == nil && int64(size) > int64(len(r.b)) {
			r.fail(ErrShort, "tagged field %d claims %d bytes, %d left", tag, size, len(r.b))
		}
		if r.err != nil {
			return nil
		}
		value := reader{b: r.take(int(size))}
		if known == nil || !known(tag, &value) {
			unknown = append(unknown, rawTag{tag, slices.Clone(value.b)})
			continue
		}
		switch {
		case value.err != nil:
			r.fail(value.err, "in tagged field %d", tag)
		case len(value.b) != 0:
			r.fail(ErrMalformed, "%d bytes too many in tagged field %d", len(value.b), tag)
		}
	}
	return unknown
}
