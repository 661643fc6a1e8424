package record

import (
	"encoding/binary"
	"fmt"
	"strconv"
)

// ControlType tells control records apart; it stands in their key.
type ControlType int16

// The control records. The first two end transactions, the others belong to the metadata log.
const (
	ControlAbort          ControlType = 0
	ControlCommit         ControlType = 1
	ControlLeaderChange   ControlType = 2
	ControlSnapshotHeader ControlType = 3
	ControlSnapshotFooter ControlType = 4
	ControlKRaftVersion   ControlType = 5
	ControlKRaftVoters    ControlType = 6
)

var controlNames = [...]string{"ABORT", "COMMIT", "LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER", "KRAFT_VERSION", "KRAFT_VOTERS"}

// String returns Kafka's name of the type.
func (t ControlType) String() string {
	if t < 0 || int(t) >= len(controlNames) {
		return "UNKNOWN(" + strconv.Itoa(int(t)) + ")"
	}
	return controlNames[t]
}

// Known reports whether t is one of the types above. Readers skip the others.
func (t ControlType) Known() bool { return t >= 0 && int(t) < len(controlNames) }

// ParseControlKey reads a control record's key: version and type, two int16. Longer keys of newer versions are
// read as far as they are known.
func ParseControlKey(key []byte) (ControlType, error) {
	if len(key) < 4 {
		return 0, fmt.Errorf("%w: key of %d bytes, 4 are needed", ErrUnknownControlRecord, len(key))
	}
	if version := int16(binary.BigEndian.Uint16(key)); version < 0 {
		return 0, fmt.Errorf("%w: key version %d", ErrUnknownControlRecord, version)
	}
	return ControlType(binary.BigEndian.Uint16(key[2:])), nil
}

// ControlKey returns the key of a control record of type t: version 0 and the type.
func ControlKey(t ControlType) []byte { return binary.BigEndian.AppendUint16([]byte{0, 0}, uint16(t)) }

// EndTxnMarker is the control record that ends a transaction on a partition (EndTransactionMarker).
type EndTxnMarker struct {
	// Type is ControlAbort or ControlCommit.
	Type             ControlType
	CoordinatorEpoch int32
}

// endTxnMarkerSize is the size of a version 0 value; newer versions may be longer.
const endTxnMarkerSize = 6

// ParseEndTxnMarker reads an end marker from a control record.
func ParseEndTxnMarker(key, value []byte) (EndTxnMarker, error) {
	t, err := ParseControlKey(key)
	if err != nil {
		return EndTxnMarker{}, err
	}
	if t != ControlAbort && t != ControlCommit {
		return EndTxnMarker{}, fmt.Errorf("%w: %v ends no transaction", ErrUnknownControlRecord, t)
	}
	if len(value) < endTxnMarkerSize {
		return EndTxnMarker{}, fmt.Errorf("%w: end marker of %d bytes, %d are needed", ErrUnknownControlRecord, len(value), endTxnMarkerSize)
	}
	if version := int16(binary.BigEndian.Uint16(value)); version < 0 {
		return EndTxnMarker{}, fmt.Errorf("%w: end marker version %d", ErrUnknownControlRecord, version)
	}
	return EndTxnMarker{Type: t, CoordinatorEpoch: int32(binary.BigEndian.Uint32(value[2:]))}, nil
}

// Value returns the marker's record value, version 0.
func (m EndTxnMarker) Value() []byte {
	return binary.BigEndian.AppendUint32([]byte{0, 0}, uint32(m.CoordinatorEpoch))
}
