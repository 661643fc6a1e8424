package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

func TestScannerStopsWhereKafkaDoes(t *testing.T) {
	one := unhex(t, goldenTwo)
	v1 := unhex(t, goldenV1)
	edit := func(b []byte, at int, v ...byte) []byte {
		b = bytes.Clone(b)
		copy(b[at:], v)
		return b
	}
	for _, c := range []struct {
		name    string
		b       []byte
		batches int
		rest    int
		corrupt string
	}{
		{"nothing", nil, 0, 0, ""},
		{"two formats", append(bytes.Clone(v1), one...), 2, 0, ""},
		{"11 bytes behind", append(bytes.Clone(one), make([]byte, 11)...), 1, 11, ""},
		{"12 zeros behind", append(bytes.Clone(one), make([]byte, 12)...), 1, 12, "length field is 0"},
		{"cut", append(bytes.Clone(one), one[:len(one)-1]...), 1, len(one) - 1, ""},
		{"cut before the magic", append(bytes.Clone(one), one[:16]...), 1, 16, ""},
		{"cut inside the header", append(bytes.Clone(one), one[:40]...), 1, 40, ""},
		{"length 13", edit(one, 8, 0, 0, 0, 13), 0, len(one), "length field is 13"},
		{"length 14 with magic 2", edit(one, 8, 0, 0, 0, 14), 0, len(one), "magic 2 batch of 26 bytes"},
		{"length 21 with magic 1", edit(v1, 8, 0, 0, 0, 21), 0, len(v1), "magic 1 message of 33 bytes"},
		{"negative length", edit(one, 8, 0xff), 0, len(one), "length field is -"},
		{"length 2^31-1", edit(one, 8, 0x7f, 0xff, 0xff, 0xff), 0, len(one), "length field is 2147483647"},
		{"magic 3", edit(one, 16, 3), 0, len(one), "magic is 3"},
		{"magic -1", edit(one, 16, 0xff), 0, len(one), "magic is -1"},
	} {
		s := NewScanner(c.b)
		n, at := 0, 0
		for s.Next() {
			if s.Position() != at {
				t.Errorf("%s: batch %d at %d, want %d", c.name, n, s.Position(), at)
			}
			at += len(s.Batch())
			n++
		}
		if n != c.batches || len(s.Rest()) != c.rest || s.Next() {
			t.Errorf("%s: %d batches, %d bytes left", c.name, n, len(s.Rest()))
		}
		if (s.Err() == nil) != (c.corrupt == "") || s.Err() != nil && (!errors.Is(s.Err(), ErrCorruptBatch) || !strings.Contains(s.Err().Error(), c.corrupt)) {
			t.Errorf("%s: %v, want %q", c.name, s.Err(), c.corrupt)
		}
	}
}

func TestParseHeaderNeedsEnough(t *testing.T) {
	for name, b := range map[string][]byte{"magic 2": unhex(t, goldenTwo)[:HeaderSize], "magic 1": unhex(t, goldenV1)[:legacyV1Size]} {
		for n := range b {
			if _, err := ParseHeader(b[:n]); err != ErrShort {
				t.Errorf("%s, %d bytes: %v", name, n, err)
			}
		}
		if h, err := ParseHeader(b); err != nil || h.SizeInBytes < len(b) {
			t.Errorf("%s: %+v, %v", name, h, err)
		}
	}
}

func TestHeaderOfEveryFormat(t *testing.T) {
	o := DefaultBuilderOptions()
	o.BaseOffset, o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.DeleteHorizonMs, o.Transactional = 7, 3, 1, 1<<31-2, 99, true
	b := NewBuilder(o)
	b.Append(50, nil, nil, nil)
	b.Append(60, nil, nil, nil)
	b.Append(55, nil, nil, nil)
	if b.Count() != 3 || b.Size() != HeaderSize+3*7 {
		t.Errorf("%d records, %d bytes", b.Count(), b.Size())
	}
	batch := b.Build()
	h := batch.Header()
	if horizon, ok := h.DeleteHorizon(); !ok || horizon != 99 || h.LastSequence() != 0 || !h.IsTransactional() || h.MaxTimestamp != 60 {
		t.Errorf("%+v", h)
	}
	if batch.ProducerID() != 3 || batch.Count() != 3 || batch.LeaderEpoch() != -1 || batch.BaseOffset() != 7 || batch.LastOffset() != 9 || batch.ComputeCRC() != h.CRC {
		t.Errorf("%+v", h)
	}
	for i, r := range collect(t, batch) {
		if want := []int64{50, 60, 55}[i]; r.Timestamp != want || r.Sequence != Sequence(1<<31-2).Add(int32(i)) {
			t.Errorf("%+v, want timestamp %d", r, want)
		}
	}
	none := Batch("no batch").Header()
	if none.Magic != -1 || none.BaseOffset != NoOffset || none.HasProducerID() || Batch(nil).ComputeCRC() != 0 || Batch(nil).CheckCRC() == nil {
		t.Errorf("%+v", none)
	}
	for _, set := range []func(Batch){func(b Batch) { b.SetLeaderEpoch(4) }, func(b Batch) { b.SetMaxTimestamp(LogAppendTime, 5) }} {
		old := Batch(unhex(t, goldenV1))
		if set(old); old.CheckCRC() != nil || old.MaxTimestamp() != goldenTime {
			t.Error("a message of magic 1 was changed")
		}
	}
}

func TestSetMaxTimestampClearsUnknownBits(t *testing.T) {
	b := with(produced(2, Gzip), put16(posAttributes, 0x7f00|int16(Gzip)|int16(attrTransactional)))
	b.SetMaxTimestamp(LogAppendTime, 77)
	if a := binary.BigEndian.Uint16(b[posAttributes:]); a != uint16(attrLogAppendTime|attrTransactional)|uint16(Gzip) || b.MaxTimestamp() != 77 || b.CheckCRC() != nil {
		t.Errorf("attributes %#x, %v", a, b.CheckCRC())
	}
}

func TestErrorsSayWhere(t *testing.T) {
	err := error(&CorruptError{File: "/d/t-0/x.log", Position: 61, Offset: 5, Reason: "CRC"})
	if !errors.Is(err, ErrCorruptBatch) || err.Error() != "/d/t-0/x.log: corrupt at byte 61 (offset 5): CRC" {
		t.Error(err)
	}
	if s := (&CorruptError{Position: -1, Offset: -1, Reason: "CRC"}).Error(); s != "corrupt: CRC" {
		t.Error(s)
	}
	if s := (&RecordsError{Message: "m", Err: ErrInvalidRecord}).Error(); s != "m" {
		t.Error(s)
	}
	for typ, want := range map[TimestampType]string{NoTimestampType: "NoTimestampType", CreateTime: "CreateTime", LogAppendTime: "LogAppendTime"} {
		if typ.String() != want {
			t.Error(typ)
		}
	}
}
