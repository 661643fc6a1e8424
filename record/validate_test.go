package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

const now = goldenTime + 1000

// clientRules is a CreateTime topic with compression.type=producer and Kafka's default bounds.
func clientRules() Validation {
	return Validation{Client: true, NowMs: now, TimestampType: CreateTime, BeforeMaxMs: math.MaxInt64, AfterMaxMs: 3600000,
		KeepCodec: true, TopicPartition: TopicPartition{Topic: "t", Partition: 3}}
}

// produced is a batch as a client sends it: n records with keys, values and a header, 10 ms apart.
func produced(n int, c Codec) Batch {
	o := DefaultBuilderOptions()
	o.Codec, o.Level = c, c.DefaultLevel()
	b := NewBuilder(o)
	for i := range n {
		b.Append(goldenTime+int64(10*i), fmt.Appendf(nil, "key-%d", i), bytes.Repeat([]byte{byte('a' + i%26)}, 100), []RecordHeader{{Key: "h", Value: []byte("v")}})
	}
	return b.Build()
}

// with changes a copy of b and makes its CRC right again.
func with(b Batch, change func(b Batch)) Batch {
	b = bytes.Clone(b)
	change(b)
	b.updateCRC()
	return b
}

func put16(at int, v int16) func(Batch) {
	return func(b Batch) { binary.BigEndian.PutUint16(b[at:], uint16(v)) }
}
func put32(at int, v int32) func(Batch) {
	return func(b Batch) { binary.BigEndian.PutUint32(b[at:], uint32(v)) }
}
func put64(at int, v int64) func(Batch) {
	return func(b Batch) { binary.BigEndian.PutUint64(b[at:], uint64(v)) }
}

// encoded wraps an already encoded record area into a batch of count records.
func encoded(c Codec, count int32, area []byte) Batch {
	out := &sink{b: make([]byte, HeaderSize)}
	w, _ := newCompressor(c, c.DefaultLevel(), out)
	w.Write(area)
	w.Close()
	b := Batch(out.b)
	b.putHeader(Header{Attributes: Attributes(c), LastOffsetDelta: count - 1, Count: count, BaseTimestamp: goldenTime, MaxTimestamp: goldenTime,
		LeaderEpoch: -1, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1})
	return b
}

func TestInspectKeepsWhatIsRight(t *testing.T) {
	for _, c := range allCodecs {
		sent := produced(20, c)
		b := bytes.Clone(sent)
		checked, err := Inspect(b, clientRules())
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		if checked.Rebuilt || checked.Count != 20 || checked.MaxTimestamp != goldenTime+190 || checked.LogAppendTimeMs != -1 || &checked.Batch[0] != &b[0] {
			t.Fatalf("%v: %+v", c, checked)
		}
		got := checked.Assign(1000, 7)
		h := got.Header()
		if h.BaseOffset != 1000 || h.LastOffset() != 1019 || h.LeaderEpoch != 7 || got.CheckCRC() != nil {
			t.Fatalf("%v: %+v", c, h)
		}
		if !bytes.Equal(got[MagicOffset:], sent[MagicOffset:]) {
			t.Fatalf("%v: bytes under the CRC changed", c)
		}
	}
}

func TestInspectRefusesBatches(t *testing.T) {
	good := produced(3, None)
	zipped := produced(3, Zstd)
	record := appendRecord(nil, 0, 0, []byte("k"), []byte("v"), nil)
	for _, c := range []struct {
		name  string
		batch Batch
		want  error
	}{
		{"no bytes", nil, ErrCorruptBatch},
		{"cut", good[:len(good)-1], ErrCorruptBatch},
		{"too long", append(bytes.Clone(good), 0), ErrCorruptBatch},
		{"magic 3", with(good, func(b Batch) { b[MagicOffset] = 3 }), ErrCorruptBatch},
		{"magic 1", unhex(t, goldenV1), ErrInvalidRecord},
		{"base offset", with(good, put64(0, 1)), ErrInvalidRecord},
		{"CRC", func() Batch { b := bytes.Clone(good); b[70] ^= 1; return b }(), ErrCorruptBatch},
		{"codec 5", with(good, put16(posAttributes, 5)), ErrDecompress},
		{"codec 7", with(zipped, put16(posAttributes, 7)), ErrDecompress},
		{"count 0", with(good, put32(posCount, 0)), ErrInvalidRecord},
		{"count -1", with(good, put32(posCount, -1)), ErrInvalidRecord},
		{"count above delta", with(good, put32(posCount, 4)), ErrInvalidRecord},
		{"count and delta above records", with(with(good, put32(posCount, 4)), put32(posLastOffsetDelta, 3)), ErrInvalidRecord},
		{"count and delta below records", with(with(good, put32(posCount, 2)), put32(posLastOffsetDelta, 1)), ErrInvalidRecord},
		{"compressed, above records", with(with(zipped, put32(posCount, 4)), put32(posLastOffsetDelta, 3)), ErrInvalidRecord},
		{"compressed, below records", with(with(zipped, put32(posCount, 2)), put32(posLastOffsetDelta, 1)), ErrInvalidRecord},
		{"delta -1", with(good, put32(posLastOffsetDelta, -1)), ErrInvalidRecord},
		{"count and delta 2^31-1", with(with(good, put32(posCount, math.MaxInt32)), put32(posLastOffsetDelta, math.MaxInt32-1)), ErrInvalidRecord},
		{"control", with(good, put16(posAttributes, int16(attrControl))), ErrInvalidRecord},
		{"producer without sequence", with(good, put64(posProducerID, 5)), ErrInvalidRecord},
		{"record longer than the batch", encoded(None, 1, append([]byte{0xfe, 0x7f}, record[1:]...)), ErrInvalidRecord},
		{"negative record length", encoded(None, 1, append([]byte{1}, record[1:]...)), ErrInvalidRecord},
		{"varint without end", encoded(None, 1, bytes.Repeat([]byte{0xff}, 20)), ErrInvalidRecord},
		{"value longer than the record", encoded(None, 1, []byte{14, 0, 0, 0, 2, 'k', 0x7e, 'v'}), ErrInvalidRecord},
		{"a byte too many in the record", encoded(None, 1, []byte{18, 0, 0, 0, 2, 'k', 2, 'v', 0, 0}), ErrInvalidRecord},
		{"negative header count", encoded(None, 1, []byte{16, 0, 0, 0, 2, 'k', 2, 'v', 1}), ErrInvalidRecord},
		{"claims 2^31-1 headers", encoded(None, 1, []byte{24, 0, 0, 0, 2, 'k', 2, 'v', 0xfe, 0xff, 0xff, 0xff, 0x0f}), ErrInvalidRecord},
		{"null header key", encoded(None, 1, []byte{20, 0, 0, 0, 2, 'k', 2, 'v', 2, 1, 1}), ErrInvalidRecord},
		{"compressed record longer than its stream", encoded(Gzip, 1, append([]byte{0xfe, 0x7f}, record[1:]...)), ErrInvalidRecord},
		{"compressed negative length", encoded(LZ4, 1, append([]byte{1}, record[1:]...)), ErrInvalidRecord},
		{"gzip that is none", with(good, put16(posAttributes, int16(Gzip))), ErrDecompress},
		{"snappy that is none", with(good, put16(posAttributes, int16(Snappy))), ErrDecompress},
		{"lz4 that is none", with(good, put16(posAttributes, int16(LZ4))), ErrDecompress},
		{"zstd that is none", with(good, put16(posAttributes, int16(Zstd))), ErrDecompress},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, rebuild := range []bool{false, true} {
				v := clientRules()
				if rebuild {
					v.KeepCodec, v.TargetCodec = false, Snappy
				}
				if _, err := Inspect(bytes.Clone(c.batch), v); !errors.Is(err, c.want) {
					t.Errorf("rebuild %v: %v, want %v", rebuild, err, c.want)
				}
			}
		})
	}
}

func TestInspectLimitsTheBatch(t *testing.T) {
	v := clientRules()
	b := produced(20, Zstd)
	v.MaxBatchBytes = len(b)
	if _, err := Inspect(bytes.Clone(b), v); err != nil {
		t.Errorf("exactly as large as allowed: %v", err)
	}
	v.KeepCodec, v.TargetCodec = false, None
	if _, err := Inspect(bytes.Clone(b), v); !errors.Is(err, ErrBatchTooLarge) {
		t.Errorf("grows when decompressed: %v", err)
	}
	v.MaxBatchBytes--
	if _, err := Inspect(bytes.Clone(b), v); !errors.Is(err, ErrBatchTooLarge) {
		t.Errorf("one byte too large: %v", err)
	}
	// The base offset is looked at first, the checksum last.
	broken := Batch(bytes.Clone(b))
	broken[80] ^= 1
	if _, err := Inspect(broken, v); !errors.Is(err, ErrBatchTooLarge) {
		t.Errorf("too large and corrupt: %v", err)
	}
	broken.SetBaseOffset(9)
	if _, err := Inspect(broken, v); !errors.Is(err, ErrInvalidRecord) {
		t.Errorf("too large, corrupt and with a base offset: %v", err)
	}
}

// C-10: records without key in a compacted topic.
func TestInspectWantsKeysInCompactedTopics(t *testing.T) {
	for _, c := range allCodecs {
		o := DefaultBuilderOptions()
		o.Codec = c
		b := NewBuilder(o)
		for i := range 6 {
			key := []byte("k")
			if i%2 == 1 {
				key = nil
			}
			b.Append(goldenTime, key, []byte("v"), nil)
		}
		v := clientRules()
		sent := b.Build()
		if _, err := Inspect(bytes.Clone(sent), v); err != nil {
			t.Fatalf("%v, not compacted: %v", c, err)
		}
		v.Compacted = true
		_, err := Inspect(sent, v)
		var list *RecordsError
		if !errors.As(err, &list) || !errors.Is(err, ErrInvalidRecord) {
			t.Fatalf("%v: %v", c, err)
		}
		const message = "Compacted topic cannot accept message without key in topic partition t-3"
		if want := []RecordError{{1, message}, {3, message}, {5, message}}; !slices.Equal(list.Records, want) {
			t.Errorf("%v: %v", c, list.Records)
		}
		want := "One or more records have been rejected due to 3 record errors in total, and only showing the first three errors at most: [" +
			"RecordError(batchIndex=1, message='" + message + "'), RecordError(batchIndex=3, message='" + message + "'), RecordError(batchIndex=5, message='" + message + "')]"
		if list.Message != want {
			t.Errorf("%v: %s\nwant %s", c, list.Message, want)
		}
	}
	// An empty key is a key.
	b := NewBuilder(DefaultBuilderOptions())
	b.Append(goldenTime, []byte{}, nil, nil)
	v := clientRules()
	v.Compacted = true
	if _, err := Inspect(b.Build(), v); err != nil {
		t.Errorf("empty key: %v", err)
	}
}

// T-03: the window of accepted timestamps.
func TestInspectBoundsTimestamps(t *testing.T) {
	v := clientRules()
	v.BeforeMaxMs, v.AfterMaxMs = 1000, 500
	for _, c := range []struct {
		timestamp int64
		ok        bool
	}{{now, true}, {now - 1000, true}, {now - 1001, false}, {now + 500, true}, {now + 501, false}, {-1, true}, {0, false}, {math.MaxInt64, false}} {
		b := NewBuilder(DefaultBuilderOptions())
		b.Append(c.timestamp, []byte("k"), nil, nil)
		_, err := Inspect(b.Build(), v)
		if c.ok != (err == nil) || err != nil && !errors.Is(err, ErrInvalidTimestamp) {
			t.Errorf("timestamp %d: %v", c.timestamp, err)
		}
	}
	for _, codec := range allCodecs {
		o := DefaultBuilderOptions()
		o.Codec = codec
		b := NewBuilder(o)
		b.Append(now, nil, nil, nil) // no key
		b.Append(now+501, []byte("k"), nil, nil)
		b.Append(now, []byte("k"), nil, nil)
		v.Compacted = true
		_, err := Inspect(b.Build(), v)
		var list *RecordsError
		if !errors.As(err, &list) || !errors.Is(err, ErrInvalidTimestamp) || errors.Is(err, ErrInvalidRecord) {
			t.Fatalf("%v: a bad timestamp should outweigh a missing key: %v", codec, err)
		}
		if len(list.Records) != 2 || list.Records[1].Index != 1 || list.Records[1].Message !=
			fmt.Sprintf("Timestamp %d of message with offset 1 is out of range. The timestamp should be within [%d, %d]", now+501, now-1000, now+500) {
			t.Errorf("%v: %v", codec, list.Records)
		}
		if list.Message != "One or more records have been rejected due to invalid timestamp" {
			t.Error(list.Message)
		}
	}
}

func TestInspectSetsLogAppendTime(t *testing.T) {
	for _, c := range allCodecs {
		v := clientRules()
		v.TimestampType, v.AfterMaxMs, v.BeforeMaxMs = LogAppendTime, 0, 0
		sent := produced(5, c)
		checked, err := Inspect(bytes.Clone(sent), v)
		if err != nil || checked.MaxTimestamp != now || checked.LogAppendTimeMs != now || checked.Rebuilt {
			t.Fatalf("%v: %+v, %v", c, checked, err)
		}
		b := checked.Assign(10, 1)
		h := b.Header()
		if h.TimestampType() != LogAppendTime || h.MaxTimestamp != now || h.BaseTimestamp != goldenTime || b.CheckCRC() != nil {
			t.Fatalf("%v: %+v", c, h)
		}
		for _, r := range collect(t, b) {
			if r.Timestamp != now || r.TimestampDelta != int64(10*(r.Offset-10)) {
				t.Fatalf("%v: %+v", c, r)
			}
		}
		// The producer's own flag is refused on such a topic, and cleared on a CreateTime topic.
		flagged := with(sent, put16(posAttributes, int16(c)|int16(attrLogAppendTime)))
		if _, err := Inspect(bytes.Clone(flagged), v); !errors.Is(err, ErrInvalidTimestamp) || !strings.Contains(fmt.Sprint(err.(*RecordsError).Records[0].Message),
			"Invalid timestamp type in message DefaultRecord(offset=0, timestamp=") {
			t.Errorf("%v: flag from a producer: %v", c, err)
		}
		checked, err = Inspect(flagged, clientRules())
		if err != nil || checked.Batch.Attributes().TimestampType() != CreateTime || checked.MaxTimestamp != goldenTime+40 || checked.Batch.CheckCRC() != nil {
			t.Errorf("%v: flag on a CreateTime topic: %+v, %v", c, checked, err)
		}
	}
}

func TestInspectCorrectsTheMaximum(t *testing.T) {
	for _, c := range allCodecs {
		b := with(produced(5, c), put64(posMaxTimestamp, 77))
		checked, err := Inspect(b, clientRules())
		if err != nil || checked.Batch.MaxTimestamp() != goldenTime+40 || checked.Batch.CheckCRC() != nil {
			t.Errorf("%v: %+v, %v", c, checked.Batch.Header(), err)
		}
	}
}

func TestInspectChangesTheCodec(t *testing.T) {
	for _, from := range allCodecs {
		for _, to := range allCodecs {
			v := clientRules()
			v.KeepCodec, v.TargetCodec, v.Level = false, to, to.DefaultLevel()
			sent := with(produced(50, from), func(b Batch) {
				put64(posProducerID, 9)(b)
				put16(posProducerEpoch, 2)(b)
				put32(posBaseSequence, 500)(b)
				put16(posAttributes, int16(from)|int16(attrTransactional))(b)
			})
			want := collect(t, sent)
			checked, err := Inspect(bytes.Clone(sent), v)
			if err != nil || checked.Rebuilt != (from != to) || checked.Count != 50 {
				t.Fatalf("%v to %v: %+v, %v", from, to, checked, err)
			}
			b := checked.Assign(100, 4)
			h := b.Header()
			if h.Codec() != to || h.ProducerID != 9 || h.ProducerEpoch != 2 || h.BaseSequence != 500 || !h.IsTransactional() || h.Count != 50 ||
				h.BaseOffset != 100 || h.LastOffset() != 149 || h.LeaderEpoch != 4 || h.MaxTimestamp != goldenTime+490 || b.CheckCRC() != nil {
				t.Fatalf("%v to %v: %+v", from, to, h)
			}
			for i, r := range collect(t, b) {
				w := want[i]
				if r.Offset != w.Offset+100 || r.Timestamp != w.Timestamp || !bytes.Equal(r.Key, w.Key) || !bytes.Equal(r.Value, w.Value) || len(r.Headers) != 1 {
					t.Fatalf("%v to %v: %+v, want %+v", from, to, r, w)
				}
			}
		}
	}
}

// Offset deltas that do not count up from 0: kept as sent when uncompressed, put right by encoding anew when
// compressed (old clients).
func TestInspectMisnumberedRecords(t *testing.T) {
	var area []byte
	for _, delta := range []int32{5, 5, 0} {
		area = appendRecord(area, 0, delta, []byte("k"), []byte("v"), nil)
	}
	checked, err := Inspect(encoded(None, 3, area), clientRules())
	if err != nil || checked.Rebuilt {
		t.Fatalf("uncompressed: %+v, %v", checked, err)
	}
	if got := collect(t, checked.Assign(10, 0)); got[0].Offset != 15 || got[1].Offset != 15 || got[2].Offset != 10 {
		t.Errorf("uncompressed: %+v", got)
	}
	for _, c := range allCodecs[1:] {
		checked, err := Inspect(encoded(c, 3, area), clientRules())
		if err != nil || !checked.Rebuilt || checked.Batch.Header().Codec() != c {
			t.Fatalf("%v: %+v, %v", c, checked, err)
		}
		for i, r := range collect(t, checked.Assign(10, 0)) {
			if r.Offset != Offset(10+i) {
				t.Errorf("%v: record %d has offset %d", c, i, r.Offset)
			}
		}
	}
}

func TestInspectKeepsOddBits(t *testing.T) {
	sent := with(produced(2, None), put16(posAttributes, 0x7f00|int16(attrDeleteHorizon)))
	checked, err := Inspect(bytes.Clone(sent), clientRules())
	if err != nil || !bytes.Equal(checked.Batch, sent) {
		t.Fatalf("%x, %v", checked.Batch, err)
	}
}

func TestInspectTakesMarkersFromCoordinators(t *testing.T) {
	o := DefaultBuilderOptions()
	o.Control, o.Transactional, o.ProducerID, o.ProducerEpoch = true, true, 5, 0
	b := NewBuilder(o)
	b.Append(now, ControlKey(ControlAbort), EndTxnMarker{}.Value(), nil)
	v := clientRules()
	v.Client, v.KeepCodec, v.TargetCodec = false, false, Zstd
	checked, err := Inspect(b.Build(), v)
	if err != nil || checked.Rebuilt || checked.Batch.Header().Codec() != None || !checked.Batch.Header().IsControl() {
		t.Fatalf("%+v, %v", checked, err)
	}
}

// A record larger than the stream's buffer takes the other way through the parser: same verdicts.
func TestLargeCompressedRecords(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	headers := []RecordHeader{{Key: "h", Value: big}, {Key: "null"}, {Key: "", Value: []byte{}}}
	whole := appendRecord(nil, -5, 0, nil, big, headers)
	small := appendRecord(nil, 7, 1, []byte{}, nil, nil)
	for _, c := range allCodecs[1:] {
		b := encoded(c, 2, append(bytes.Clone(whole), small...))
		checked, err := Inspect(b, clientRules())
		if err != nil || checked.Rebuilt || checked.MaxTimestamp != goldenTime+7 {
			t.Fatalf("%v: %+v, %v", c, checked, err)
		}
		got := collect(t, b)
		if got[0].Key != nil || !bytes.Equal(got[0].Value, big) || len(got[0].Headers) != 3 || got[0].Headers[1].Value != nil ||
			got[0].Headers[2].Value == nil || got[0].Timestamp != goldenTime-5 || got[1].Value != nil || got[1].Key == nil {
			t.Fatalf("%v: %d %+v", c, len(got), got[1])
		}
		v := clientRules()
		v.Compacted = true
		if _, err := Inspect(b, v); !errors.Is(err, ErrInvalidRecord) || len(err.(*RecordsError).Records) != 1 {
			t.Errorf("%v: the first record has no key: %v", c, err)
		}
		longer := appendVarint(nil, int64(len(whole)-3+1)) // one byte of the next record more
		if _, err := Inspect(encoded(c, 2, append(append(longer, whole[3:]...), small...)), clientRules()); !errors.Is(err, ErrInvalidRecord) {
			t.Errorf("%v: length one too long: %v", c, err)
		}
		if _, err := Inspect(encoded(c, 2, whole[:len(whole)-100]), clientRules()); !errors.Is(err, ErrInvalidRecord) {
			t.Errorf("%v: ends inside: %v", c, err)
		}
	}
}

func TestInspectKafkaBatches(t *testing.T) {
	for name, log := range segments(t) {
		if !strings.HasPrefix(name, "codec-") || !strings.HasSuffix(name, ".log") {
			continue
		}
		for _, b := range scan(t, log) {
			want := Batch(bytes.Clone(b))
			b.SetBaseOffset(0)
			checked, err := Inspect(b, clientRules())
			if err != nil || checked.Rebuilt {
				t.Fatalf("%s: %+v, %v", name, checked, err)
			}
			if got := checked.Assign(want.BaseOffset(), want.LeaderEpoch()); !bytes.Equal(got, want) {
				t.Fatalf("%s: batch at %d changed", name, want.BaseOffset())
			}
		}
	}
}

// I-01: the maximum timestamp of a batch is that of its records, compressed or not, and belongs to the first
// record that has it.
func TestMaximumTimestampBelongsToTheFirstRecord(t *testing.T) {
	for _, c := range allCodecs {
		o := DefaultBuilderOptions()
		o.Codec = c
		b := NewBuilder(o)
		for _, ts := range []int64{5, 9, 7, 9} {
			b.Append(ts, nil, []byte("v"), nil)
		}
		checked, err := Inspect(b.Build(), clientRules())
		if err != nil || checked.MaxTimestamp != 9 || checked.Batch.MaxTimestamp() != 9 {
			t.Fatalf("%v: %+v, %v", c, checked, err)
		}
		rs := checked.Assign(40, 0).Records(0)
		for rs.Next() && rs.Record().Timestamp != checked.MaxTimestamp {
		}
		if got := rs.Record().Offset; got != 41 {
			t.Errorf("%v: offset %d", c, got)
		}
		rs.Close()
	}
}
