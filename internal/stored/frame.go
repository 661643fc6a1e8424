package stored

import (
	"encoding/binary"
	"fmt"
)

// frameVersion is the only frame of metadata record values (AbstractApiMessageSerde).
const frameVersion = 1

// AppendFrame appends m as the value of a metadata log record:
//
//	uvarint 1 (frame) | uvarint record id | uvarint version | body
func AppendFrame(dst []byte, m Message, version int16) []byte {
	dst = binary.AppendUvarint(dst, frameVersion)
	dst = binary.AppendUvarint(dst, uint64(m.APIKey()))
	dst = binary.AppendUvarint(dst, uint64(version))
	return m.AppendTo(dst, version)
}

// DecodeFrame reads the value of a metadata log record. A record id or version that is not known gives an
// error that is ErrUnknownRecord or ErrVersion; leftover bytes are an error.
func DecodeFrame(value []byte) (m Message, version int16, err error) {
	r := reader{b: value}
	frame := r.uvarint()
	if r.err == nil && frame != frameVersion {
		r.fail(ErrMalformed, "frame %d, known is %d", frame, frameVersion)
	}
	apiKey, v := r.uvarint(), r.uvarint()
	if r.err != nil {
		return nil, 0, fmt.Errorf("metadata record: %w", r.err)
	}
	if apiKey > 0x7fff || NewMetadataRecord(int16(apiKey)) == nil {
		return nil, 0, fmt.Errorf("metadata record %d: %w", apiKey, ErrUnknownRecord)
	}
	m = NewMetadataRecord(int16(apiKey))
	if v > uint32(m.HighestVersion()) {
		return nil, 0, fmt.Errorf("%s version %d: %w: known are 0 to %d", m.RecordName(), v, ErrVersion, m.HighestVersion())
	}
	rest, err := m.Decode(r.b, int16(v))
	if err != nil {
		return nil, 0, err
	}
	if len(rest) != 0 {
		return nil, 0, fmt.Errorf("%s version %d: %w: %d bytes too many", m.RecordName(), v, ErrMalformed, len(rest))
	}
	return m, int16(v), nil
}
