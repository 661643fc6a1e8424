package record

import (
	"bytes"
	"encoding/hex"
	"testing"
)

// The golden batches were read back by Apache Kafka's own dump tool.
const (
	goldenTwo      = "0000000000000005000000460000000302205886370000000000010000018bcfe568000000018bcfe56807ffffffffffffffffffffffffffff0000000212000000026b0476310014000e0201010202680278"
	goldenCommit   = "000000000000002a00000042000000070274471a4e0030000000000000018bcfe568000000018bcfe5680000000000000003e80002ffffffff000000012000000008000000010c00000000000900"
	goldenEmptied  = "00000000000000640000003100000004023fa988ee000000000009ffffffffffffffff0000018bcfe56800000000000000004d00010000001400000000"
	goldenV1       = "00000000000000030000001882677b2801000000018bcfe5680000000001610000000162"
	goldenMetadata = "000000000000000d0000003c0000000102e3c3604a000000000000000001a229aca9fa000001a229aca9faffffffffffffffffffffffffffff000000011400000001080114000000"

	goldenTime = 1700000000000
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func collect(t testing.TB, b Batch) []Record {
	t.Helper()
	var all []Record
	rs := b.Records(0)
	defer rs.Close()
	for rs.Next() {
		all = append(all, keep(rs.Record()))
	}
	if err := rs.Err(); err != nil {
		t.Fatalf("records: %v", err)
	}
	return all
}

// keep copies what a Record only lends.
func keep(r Record) Record {
	r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
	headers := r.Headers
	r.Headers = nil
	for _, h := range headers {
		r.Headers = append(r.Headers, RecordHeader{Key: h.Key, Value: bytes.Clone(h.Value)})
	}
	if r.Legacy != nil {
		fields := *r.Legacy
		r.Legacy = &fields
	}
	return r
}

func TestBuilderWritesGoldenBatch(t *testing.T) {
	o := DefaultBuilderOptions()
	o.BaseOffset, o.LeaderEpoch = 5, 3
	b := NewBuilder(o)
	b.Append(goldenTime, []byte("k"), []byte("v1"), nil)
	b.Append(goldenTime+7, nil, nil, []RecordHeader{{Key: "h", Value: []byte("x")}})
	if got, want := b.Build(), unhex(t, goldenTwo); !bytes.Equal(got, want) {
		t.Fatalf("got  %x\nwant %x", got, want)
	}
}

func TestBuilderWritesGoldenMarker(t *testing.T) {
	o := DefaultBuilderOptions()
	o.BaseOffset, o.LeaderEpoch, o.ProducerID, o.ProducerEpoch = 42, 7, 1000, 2
	o.Transactional, o.Control = true, true
	b := NewBuilder(o)
	b.Append(goldenTime, ControlKey(ControlCommit), EndTxnMarker{Type: ControlCommit, CoordinatorEpoch: 9}.Value(), nil)
	got := b.Build()
	if want := unhex(t, goldenCommit); !bytes.Equal(got, want) {
		t.Fatalf("got  %x\nwant %x", got, want)
	}
	r := collect(t, got)[0]
	marker, err := ParseEndTxnMarker(r.Key, r.Value)
	if err != nil || marker != (EndTxnMarker{Type: ControlCommit, CoordinatorEpoch: 9}) {
		t.Fatalf("marker %+v, %v", marker, err)
	}
	if r.Sequence != NoSequence || r.Offset != 42 {
		t.Fatalf("record %+v", r)
	}
}

func TestNewEmptyBatchIsGolden(t *testing.T) {
	h := Header{BaseOffset: 100, LeaderEpoch: 4, LastOffsetDelta: 9, BaseTimestamp: goldenTime, MaxTimestamp: goldenTime,
		ProducerID: 77, ProducerEpoch: 1, BaseSequence: 20, Count: 10, Attributes: Attributes(Zstd) | attrDeleteHorizon}
	if got, want := NewEmptyBatch(h), unhex(t, goldenEmptied); !bytes.Equal(got, want) {
		t.Fatalf("got  %x\nwant %x", got, want)
	}
	if left := collect(t, unhex(t, goldenEmptied)); len(left) != 0 {
		t.Fatalf("%d records", len(left))
	}
}

func TestParseHeaderReadsGolden(t *testing.T) {
	h, err := ParseHeader(unhex(t, goldenEmptied))
	want := Header{BaseOffset: 100, SizeInBytes: 61, LeaderEpoch: 4, Magic: 2, CRC: 0x3fa988ee, LastOffsetDelta: 9, BaseTimestamp: -1,
		MaxTimestamp: goldenTime, ProducerID: 77, ProducerEpoch: 1, BaseSequence: 20}
	if err != nil || h != want {
		t.Fatalf("got  %+v, %v\nwant %+v", h, err, want)
	}
	if h.LastOffset() != 109 || h.NextOffset() != 110 || h.LastSequence() != 29 || !h.HasProducerID() || h.IsControl() || h.IsTransactional() {
		t.Fatalf("derived values of %+v", h)
	}
}

func TestReadsGoldenRecords(t *testing.T) {
	got := collect(t, unhex(t, goldenTwo))
	if len(got) != 2 {
		t.Fatalf("%d records", len(got))
	}
	if r := got[0]; r.Offset != 5 || r.Timestamp != goldenTime || string(r.Key) != "k" || string(r.Value) != "v1" || r.SizeInBytes != 10 {
		t.Errorf("first %+v", r)
	}
	r := got[1]
	if r.Offset != 6 || r.Timestamp != goldenTime+7 || r.Key != nil || r.Value != nil || len(r.Headers) != 1 || r.Headers[0].Key != "h" ||
		string(r.Headers[0].Value) != "x" || r.Sequence != NoSequence {
		t.Errorf("second %+v", r)
	}
	for _, s := range []string{goldenTwo, goldenCommit, goldenEmptied, goldenV1, goldenMetadata} {
		if err := Batch(unhex(t, s)).CheckCRC(); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	noop := collect(t, unhex(t, goldenMetadata))
	if len(noop) != 1 || noop[0].Offset != 13 || hex.EncodeToString(noop[0].Value) != "01140000" {
		t.Errorf("metadata no-op %+v", noop)
	}
}

func TestReadsGoldenV1Message(t *testing.T) {
	b := Batch(unhex(t, goldenV1))
	h := b.Header()
	if h.Magic != 1 || h.BaseOffset != 3 || h.LastOffset() != 3 || h.Count != 1 || h.ProducerID != NoProducerID || h.LeaderEpoch != NoLeaderEpoch {
		t.Fatalf("header %+v", h)
	}
	got := collect(t, b)
	if len(got) != 1 || got[0].Offset != 3 || got[0].Timestamp != goldenTime || string(got[0].Key) != "a" || string(got[0].Value) != "b" ||
		!got[0].Legacy.CRCValid || got[0].Legacy.TimestampType != CreateTime || got[0].SizeInBytes != len(b) {
		t.Fatalf("records %+v", got)
	}
}
