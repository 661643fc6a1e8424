package inspect

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"github.com/samsalog/samsa/record"
)

// TextDecoder says what DecodeText takes a key or value for. The names are those of the classes that Kafka brings along
// (org.apache.kafka.tools.api).
type TextDecoder int

// The decoders for text. Like Kafka's, those for numbers take the first bytes and ignore the rest.
const (
	// StringDecoder takes bytes for UTF-8.
	StringDecoder TextDecoder = iota
	// IntegerDecoder takes 4 bytes for a number, big-endian.
	IntegerDecoder
	// LongDecoder takes 8.
	LongDecoder
	// DefaultDecoder takes bytes as they are; they are printed in hexadecimal.
	DefaultDecoder
)

// textDecoder reads the records of topics whose contents are not Kafka's own.
type textDecoder struct{ key, value TextDecoder }

func (d textDecoder) decode(r *record.Record) (key, value decoded) {
	return d.key.text(r, r.Key), d.value.text(r, r.Value)
}

// text is a key or value of a record; there is none for null.
func (d TextDecoder) text(r *record.Record, b []byte) decoded {
	switch {
	case b == nil:
		return decoded{}
	case d == StringDecoder:
		return plainText(javaText(b))
	case d == IntegerDecoder && len(b) >= 4:
		return document(strconv.AppendInt(nil, int64(int32(binary.BigEndian.Uint32(b))), 10))
	case d == LongDecoder && len(b) >= 8:
		return document(strconv.AppendInt(nil, int64(binary.BigEndian.Uint64(b)), 10))
	case d == DefaultDecoder:
		return decoded{present: true, text: hex.EncodeToString(b), binary: true}
	}
	return undecodable("Error at offset %d, skipping. %d bytes are too few for the number.", r.Offset, len(b))
}
