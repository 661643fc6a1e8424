package record

import (
	"bytes"
	"strings"
	"testing"
)

// seeds are golden batches, one batch of every codec, and batches of old formats.
func seeds(f *testing.F) [][]byte {
	var all [][]byte
	for _, s := range []string{goldenTwo, goldenCommit, goldenEmptied, goldenV1, goldenMetadata} {
		all = append(all, unhex(f, s))
	}
	for _, c := range allCodecs {
		all = append(all, produced(3, c))
	}
	for name, log := range segments(f) {
		if strings.HasPrefix(name, "magic") && strings.HasSuffix(name, ".log") {
			s := NewScanner(log)
			s.Next()
			all = append(all, s.Batch())
		}
	}
	return all
}

func FuzzParseHeader(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ParseHeader(b)
		if err != nil {
			return
		}
		if h.SizeInBytes < legacyV0Size || h.Magic < 0 || h.Magic > 2 {
			t.Fatalf("accepted %+v", h)
		}
	})
}

func FuzzScanner(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(append(bytes.Clone(s), s...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := NewScanner(b)
		total := 0
		for s.Next() {
			total += len(s.Batch())
			if h := s.Batch().Header(); h.Magic < 0 || h.SizeInBytes != len(s.Batch()) {
				t.Fatalf("batch of %d bytes has header %+v", len(s.Batch()), h)
			}
		}
		if total+len(s.Rest()) != len(b) {
			t.Fatalf("%d bytes in batches, %d left, of %d", total, len(s.Rest()), len(b))
		}
	})
}

func FuzzRecords(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		b := Batch(raw)
		b.CheckCRC()
		rs := b.Records(1 << 20)
		n := int32(0)
		for rs.Next() {
			if n++; rs.Record().SizeInBytes <= 0 {
				t.Fatalf("%+v", rs.Record())
			}
		}
		if h := b.Header(); rs.Err() == nil && h.Magic == 2 && n != h.Count {
			t.Fatalf("%d records of %d without error", n, h.Count)
		}
	})
}

// FuzzInspect also holds Inspect against Records: what one accepts the other can read, record for record.
func FuzzInspect(f *testing.F) {
	for i, s := range seeds(f) {
		f.Add(s, uint8(i))
	}
	f.Fuzz(func(t *testing.T, raw []byte, options uint8) {
		b := Batch(bytes.Clone(raw))
		if b.isV2() && b.Header().Magic == 2 && b.Header().SizeInBytes == len(b) {
			b.SetBaseOffset(0)
			b.updateCRC() // otherwise nothing would get past the checksum
		}
		v := clientRules()
		v.MaxRecordBytes, v.MaxBatchBytes = 1<<20, 1<<20
		v.Client = options&1 == 0
		v.KeepCodec = options&2 == 0
		v.TargetCodec = Codec(options >> 2 % 5)
		v.Compacted = options&0x20 != 0
		if options&0x40 != 0 {
			v.TimestampType = LogAppendTime
		}
		checked, err := Inspect(b, v)
		if err != nil {
			return
		}
		out := checked.Assign(1000, 3)
		if err := out.CheckCRC(); err != nil {
			t.Fatal(err)
		}
		rs, n := out.Records(0), int32(0)
		for rs.Next() {
			n++
		}
		if rs.Err() != nil || n != checked.Count {
			t.Fatalf("%d records of %d, %v", n, checked.Count, rs.Err())
		}
	})
}

func FuzzDecompress(f *testing.F) {
	for _, c := range allCodecs {
		src, _ := Compress(nil, c, c.DefaultLevel(), []byte("some bytes, some bytes, some bytes"))
		f.Add(int8(c), src)
	}
	f.Fuzz(func(t *testing.T, c int8, src []byte) {
		out, err := Decompress(Codec(c), src, 1<<16)
		if err == nil && len(out) > 1<<16 {
			t.Fatalf("%d bytes", len(out))
		}
	})
}

func FuzzControl(f *testing.F) {
	f.Add(ControlKey(ControlCommit), EndTxnMarker{Type: ControlCommit, CoordinatorEpoch: 3}.Value())
	f.Fuzz(func(t *testing.T, key, value []byte) {
		m, err := ParseEndTxnMarker(key, value)
		if err != nil {
			return
		}
		again, err := ParseEndTxnMarker(ControlKey(m.Type), m.Value())
		if err != nil || again != m {
			t.Fatalf("%+v became %+v, %v", m, again, err)
		}
	})
}
