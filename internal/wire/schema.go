package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kmsg"
)

//go:generate go run ./gen -out schema_table.go

// maxArrayElements is the largest array that is read, as in Apache Kafka 4.4 (V-06).
const maxArrayElements = 1_000_000

// maxVarintBytes is the length of the longest unsigned varint of 32 bits.
const maxVarintBytes = 5

// kind is how a field is encoded.
type kind uint8

const (
	fixedKind  kind = iota // size bytes
	stringKind             // int16 length, or varint length+1 when flexible
	bytesKind              // int32 length, or varint length+1 when flexible
	arrayKind              // int32 count, or varint count+1 when flexible; then elements of sub
	structKind             // a structure of sub
	optionKind             // int8, negative for null; then a structure of sub
)

// never is a version that does not come.
const never = math.MaxInt16

// field is one field of a request's schema.
type field struct {
	kind kind
	// min and max are the versions that have the field.
	min, max int16
	// nullFrom is the first version in which null is allowed.
	nullFrom int16
	// size is the length of a fixedKind field in bytes.
	size int
	// plain marks arrays of values instead of structures: sub is one field, without tagged fields behind it.
	plain bool
	sub   []field
}

// schema is what kmsg does not tell at run time about one request: which nulls are allowed and from which version
// encodings are flexible.
type schema struct {
	key      int16
	flexible int16
	fields   []field
}

// schemas are those of all requests by key.
type schemas map[int16]*schema

func loadSchemas() schemas {
	out := schemas{}
	for _, s := range schemaTable() {
		out[s.key] = &s
	}
	return out
}

// flexible reports whether a request, and so its response, has the encodings and tagged fields of KIP-482.
func (ss schemas) flexible(key, version int16) bool {
	s := ss[key]
	return s != nil && version >= s.flexible
}

var (
	errShort   = errors.New("body ends early")
	errNull    = errors.New("null where the protocol has none")
	errArray   = errors.New("array claims more elements than are allowed or than the frame can hold")
	errVarint  = errors.New("varint too long")
	errNoCodec = errors.New("no such request")
)

// decode checks a request's body and decodes it. kmsg alone is too forgiving: it takes null for an empty array, and
// arrays as long as the frame. Bytes behind the body are ignored, as Apache Kafka does.
func (ss schemas) decode(h header, body []byte) (kmsg.Request, error) {
	return ss.decodeInto(kmsg.RequestForKey(h.key), h, body)
}

// decodeInto is decode into a request that may have been used before; nil is one that does not exist.
func (ss schemas) decodeInto(req kmsg.Request, h header, body []byte) (kmsg.Request, error) {
	s := ss[h.key]
	if s == nil || req == nil || h.version > req.MaxVersion() {
		return nil, errNoCodec
	}
	w := walker{src: body, version: h.version, flexible: h.version >= s.flexible}
	w.structure(s.fields)
	if w.err != nil {
		return nil, fmt.Errorf("%w (byte %d of the body)", w.err, len(body)-len(w.src))
	}
	req.SetVersion(h.version)
	if err := req.ReadFrom(body[:len(body)-len(w.src)]); err != nil {
		return nil, err
	}
	if w.badText {
		replaceBadText(req)
	}
	return req, nil
}

// walker goes over an encoded body without keeping anything. The first error stops it.
type walker struct {
	src      []byte
	version  int16
	flexible bool
	badText  bool // some string is not UTF-8
	err      error
}

func (w *walker) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// skip passes over n bytes and returns them.
func (w *walker) skip(n int) []byte {
	if w.err != nil {
		return nil
	}
	if n > len(w.src) {
		w.fail(errShort)
		return nil
	}
	b := w.src[:n]
	w.src = w.src[n:]
	return b
}

// uvarint reads an unsigned varint. The bits above the 32nd are dropped, as Apache Kafka does; a sixth byte is an
// error.
func (w *walker) uvarint() uint32 {
	if w.err != nil {
		return 0
	}
	var v uint32
	for i, b := range w.src {
		if i == maxVarintBytes {
			w.fail(errVarint)
			return 0
		}
		v |= uint32(b&0x7f) << (7 * i)
		if b < 0x80 {
			w.src = w.src[i+1:]
			return v
		}
	}
	w.fail(errShort)
	return 0
}

func (w *walker) structure(fields []field) {
	for i := range fields {
		f := &fields[i]
		if w.err != nil {
			return
		}
		if w.version >= f.min && w.version <= f.max {
			w.field(f)
		}
	}
	if w.flexible {
		w.tags()
	}
}

func (w *walker) field(f *field) {
	switch f.kind {
	case fixedKind:
		w.skip(f.size)
	case stringKind:
		if b := w.skip(w.length(f, 2)); !utf8.Valid(b) {
			w.badText = true
		}
	case bytesKind:
		w.skip(w.length(f, 4))
	case arrayKind:
		w.array(f)
	case structKind:
		w.structure(f.sub)
	case optionKind:
		if b := w.skip(1); len(b) == 1 && int8(b[0]) >= 0 {
			w.structure(f.sub)
		} else if w.version < f.nullFrom {
			w.fail(errNull)
		}
	}
}

// length reads a length that is size bytes long where encodings are not flexible, and checks null. It returns 0 for
// null. In the old encodings every negative length is null.
func (w *walker) length(f *field, size int) int {
	n := 0
	switch {
	case w.flexible:
		n = int(w.uvarint()) - 1
	default:
		b := w.skip(size)
		switch {
		case w.err != nil:
		case size == 2:
			n = int(int16(binary.BigEndian.Uint16(b)))
		default:
			n = int(int32(binary.BigEndian.Uint32(b)))
		}
	}
	if n < 0 && w.version < f.nullFrom {
		w.fail(errNull)
	}
	return max(n, 0)
}

func (w *walker) array(f *field) {
	n := w.length(f, 4)
	if w.err == nil && (n > len(w.src) || n > maxArrayElements) {
		w.fail(errArray)
	}
	for range n {
		switch {
		case w.err != nil:
			return
		case f.plain:
			w.field(&f.sub[0])
		default:
			w.structure(f.sub)
		}
	}
}

// tags passes over a tagged section.
func (w *walker) tags() {
	n := w.uvarint()
	if w.err == nil && (int(n) > len(w.src) || n > maxArrayElements) {
		w.fail(errArray)
	}
	for range n {
		w.uvarint()
		size := w.uvarint()
		if uint64(size) > uint64(len(w.src)) {
			w.fail(errShort)
		}
		if w.err != nil {
			return
		}
		w.skip(int(size))
	}
}
