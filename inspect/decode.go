package inspect

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// decoded is a key or value as text.
type decoded struct {
	present bool
	text    string
	// json is the text again if it is a JSON document.
	json json.RawMessage
	// failed: the text says why the bytes could not be decoded.
	failed bool
	// binary: the text is not what the bytes say, only a way to print them.
	binary bool
}

func plainText(s string) decoded { return decoded{present: true, text: s} }

func undecodable(format string, args ...any) decoded {
	return decoded{present: true, text: fmt.Sprintf(format, args...), failed: true}
}

func document(b []byte) decoded { return decoded{present: true, text: string(b), json: b} }

// decoder turns keys and values into text.
type decoder interface {
	decode(r *record.Record) (key, value decoded)
}

func newDecoder(o *DumpOptions) decoder {
	switch o.Decoder {
	case DecodeOffsets:
		return coordinatorDecoder{stored.NewGroupKey, stored.NewGroupValue, groupValueJSON}
	case DecodeTransactions:
		return coordinatorDecoder{stored.NewTxnKey, stored.NewTxnValue, transactionValueJSON}
	case DecodeShareState:
		return coordinatorDecoder{stored.NewShareKey, stored.NewShareValue, valueJSON}
	case DecodeMetadata:
		return metadataDecoder{}
	case DecodeRemoteLog:
		return remoteDecoder{}
	default:
		return textDecoder{o.KeyAs, o.ValueAs}
	}
}

// metadataDecoder reads the records of the metadata log. They have no keys.
type metadataDecoder struct{}

func (metadataDecoder) decode(r *record.Record) (key, value decoded) {
	m, version, err := stored.DecodeFrame(r.Value)
	if err != nil {
		return decoded{}, undecodable("Error at %d, skipping. %v", r.Offset, err)
	}
	b := append([]byte(`{"type":"`), stored.DumpName(m)...)
	b = append(b, `","version":`...)
	b = strconv.AppendInt(b, int64(version), 10)
	b = append(b, `,"data":`...)
	return decoded{}, document(append(m.AppendJSON(b, version), '}'))
}

// coordinatorDecoder reads the records of the coordinators' topics.
type coordinatorDecoder struct {
	newKey, newValue func(int16) stored.Message
	value            func(m stored.Message, version int16) []byte
}

func (d coordinatorDecoder) decode(r *record.Record) (key, value decoded) {
	if r.Key == nil {
		return undecodable("Error at offset %d, skipping. The record has no key.", r.Offset), decoded{}
	}
	k, err := stored.DecodeKey(r.Key, d.newKey)
	if err != nil {
		if errors.Is(err, stored.ErrUnknownRecord) && len(r.Key) >= 2 {
			return undecodable("Unknown record type %d at offset %d, skipping.", int16(r.Key[0])<<8|int16(r.Key[1]), r.Offset), decoded{}
		}
		return undecodable("Error at offset %d, skipping. %v", r.Offset, err), decoded{}
	}
	b := append([]byte(`{"type":"`), strconv.Itoa(int(k.APIKey()))...)
	b = append(b, `","data":`...)
	key = document(append(k.AppendJSON(b, 0), '}'))
	if r.Value == nil {
		return key, plainText("<DELETE>")
	}
	v, version, err := stored.DecodeValue(r.Value, k.APIKey(), d.newValue)
	if err != nil {
		return undecodable("Error at offset %d, skipping. %v", r.Offset, err), decoded{}
	}
	b = append([]byte(`{"version":"`), strconv.Itoa(int(version))...)
	b = append(b, `","data":`...)
	return key, document(append(append(b, d.value(v, version)...), '}'))
}

func valueJSON(m stored.Message, version int16) []byte { return m.AppendJSON(nil, version) }
