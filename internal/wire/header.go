package wire

import (
	"encoding/binary"
	"errors"
	"strings"
)

// header is a request header: version 1, or 2 when the body is flexible (then a tagged section follows the client id,
// which stays a plain nullable string even there).
type header struct {
	key, version  int16
	correlationID int32
	clientID      string
}

// fixedHeaderBytes is what every request has: key, version, correlation id.
const fixedHeaderBytes = 8

// maxClientIDLog is how much of a client id a log line repeats.
const maxClientIDLog = 200

var (
	errShortHeader = errors.New("frame shorter than a request header")
	errClientID    = errors.New("client id longer than the frame")
)

// parseFixed reads the first eight bytes of a frame.
func parseFixed(frame []byte) (header, error) {
	if len(frame) < fixedHeaderBytes {
		return header{}, errShortHeader
	}
	return header{
		key:           int16(binary.BigEndian.Uint16(frame)),
		version:       int16(binary.BigEndian.Uint16(frame[2:])),
		correlationID: int32(binary.BigEndian.Uint32(frame[4:])),
	}, nil
}

// parseRest reads what follows the fixed part and returns the body. known is the client id of the last request of
// the connection: it is used again when it is the same, so that it is not copied for each request. A negative length
// is null, and null is "" (as Apache Kafka has it).
func (h *header) parseRest(frame []byte, flexible bool, known string) (body []byte, err error) {
	rest := frame[fixedHeaderBytes:]
	if len(rest) < 2 {
		return nil, errShortHeader
	}
	n := int(int16(binary.BigEndian.Uint16(rest)))
	rest = rest[2:]
	if n > len(rest) {
		return nil, errClientID
	}
	if n > 0 {
		if string(rest[:n]) == known {
			h.clientID = known
		} else {
			h.clientID = strings.ToValidUTF8(string(rest[:n]), "\uFFFD")
		}
		rest = rest[n:]
	}
	if !flexible {
		return rest, nil
	}
	w := walker{src: rest}
	w.tags()
	return w.src, w.err
}
