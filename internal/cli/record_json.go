package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
)

// jsonRecord is a record as consume --json writes it and produce --input json reads it: one object a line.
// A null key or value is null. Bytes that are not UTF-8 stand in base64 in the …Base64 field instead.
type jsonRecord struct {
	Topic       string       `json:"topic,omitempty"`
	Partition   *int32       `json:"partition,omitempty"`
	Offset      *int64       `json:"offset,omitempty"`
	TimestampMs *int64       `json:"timestamp,omitempty"`
	Key         *string      `json:"key"`
	KeyBase64   []byte       `json:"keyBase64,omitempty"`
	Value       *string      `json:"value"`
	ValueBase64 []byte       `json:"valueBase64,omitempty"`
	Headers     []jsonHeader `json:"headers,omitempty"`
}

// jsonHeader is one header of a record; keys may repeat, so headers are a list.
type jsonHeader struct {
	Key         string  `json:"key"`
	Value       *string `json:"value"`
	ValueBase64 []byte  `json:"valueBase64,omitempty"`
}

// textOrBytes puts b where JSON can hold it: text when it is UTF-8, else bytes; both nil for null.
func textOrBytes(b []byte) (*string, []byte) {
	switch {
	case b == nil:
		return nil, nil
	case utf8.Valid(b):
		s := string(b)
		return &s, nil
	default:
		return nil, b
	}
}

func fromTextOrBytes(text *string, b []byte) []byte {
	if text != nil {
		return []byte(*text)
	}
	return b
}

func newJSONRecord(r *kgo.Record) jsonRecord {
	out := jsonRecord{Topic: r.Topic, Partition: &r.Partition, Offset: &r.Offset}
	if !r.Timestamp.IsZero() { // messages of before 0.10 have none
		out.TimestampMs = new(r.Timestamp.UnixMilli())
	}
	out.Key, out.KeyBase64 = textOrBytes(r.Key)
	out.Value, out.ValueBase64 = textOrBytes(r.Value)
	for _, h := range r.Headers {
		header := jsonHeader{Key: h.Key}
		header.Value, header.ValueBase64 = textOrBytes(h.Value)
		out.Headers = append(out.Headers, header)
	}
	return out
}

// parseJSONRecord reads one line that consume --json could have written. Topic and offset are ignored:
// they say where the record was, not where it goes.
func parseJSONRecord(line []byte) (*kgo.Record, error) {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	var in jsonRecord
	if err := dec.Decode(&in); err != nil {
		return nil, fmt.Errorf("not a JSON record: %w", err)
	}
	r := &kgo.Record{Partition: -1, Key: fromTextOrBytes(in.Key, in.KeyBase64), Value: fromTextOrBytes(in.Value, in.ValueBase64)}
	if in.Partition != nil {
		r.Partition = *in.Partition
	}
	if in.TimestampMs != nil {
		r.Timestamp = time.UnixMilli(*in.TimestampMs)
	}
	for _, h := range in.Headers {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Key, Value: fromTextOrBytes(h.Value, h.ValueBase64)})
	}
	return r, nil
}
