package stored

import "fmt"

// AppendKey appends m as the key of a coordinator record: int16 record type, then the fields. Keys have one
// version of their own, 0.
func AppendKey(dst []byte, m Message) []byte {
	return m.AppendTo(appendInt16(dst, m.APIKey()), 0)
}

// AppendValue appends m as the value of a coordinator record: int16 version, then the fields.
func AppendValue(dst []byte, m Message, version int16) []byte {
	return m.AppendTo(appendInt16(dst, version), version)
}

// DecodeKey reads the key of a coordinator record; newKey is NewGroupKey, NewTxnKey or NewShareKey. A type
// that is not known gives an error that is ErrUnknownRecord: Kafka's coordinators skip such records.
func DecodeKey(key []byte, newKey func(int16) Message) (Message, error) {
	r := reader{b: key}
	t := r.int16()
	if r.err != nil {
		return nil, fmt.Errorf("coordinator key: %w", r.err)
	}
	m := newKey(t)
	if m == nil {
		return nil, fmt.Errorf("coordinator key of type %d: %w", t, ErrUnknownRecord)
	}
	_, err := m.Decode(r.b, 0)
	return m, err
}

// DecodeValue reads the value that belongs to a key of type t; newValue is NewGroupValue, NewTxnValue or
// NewShareValue. Trailing bytes are ignored, as Kafka does.
func DecodeValue(value []byte, t int16, newValue func(int16) Message) (m Message, version int16, err error) {
	if m = newValue(t); m == nil {
		return nil, 0, fmt.Errorf("coordinator value of type %d: %w", t, ErrUnknownRecord)
	}
	r := reader{b: value}
	version = r.int16()
	if r.err != nil {
		return nil, 0, fmt.Errorf("%s: %w", m.RecordName(), r.err)
	}
	_, err = m.Decode(r.b, version)
	return m, version, err
}
