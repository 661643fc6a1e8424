package group

import (
	"encoding/binary"
	"errors"
)

// errSubscription means that bytes are not a subscription of the consumer protocol.
var errSubscription = errors.New("not a subscription of the consumer protocol")

// subscribedTopics reads the topic names of a ConsumerProtocolSubscription. Only the fields that every version
// begins with are looked at: int16 version, then an array (int32 count) of strings (int16 length).
func subscribedTopics(b []byte) ([]string, error) {
	if len(b) < 6 {
		return nil, errSubscription
	}
	n := int32(binary.BigEndian.Uint32(b[2:]))
	b = b[6:]
	// Each name takes two bytes at least, which bounds what is allocated.
	if n < 0 || int(n) > len(b)/2 {
		return nil, errSubscription
	}
	topics := make([]string, 0, n)
	for range n {
		if len(b) < 2 {
			return nil, errSubscription
		}
		size := int(int16(binary.BigEndian.Uint16(b)))
		b = b[2:]
		if size < 0 || size > len(b) {
			return nil, errSubscription
		}
		topics = append(topics, string(b[:size]))
		b = b[size:]
	}
	return topics, nil
}
