package record

import (
	"errors"
	"testing"
)

// Z-06: what a small batch expands to is not held in memory, and single records can be bounded.
func TestInspectStreamsBombs(t *testing.T) {
	const records, size = 8, 16 << 20
	for _, c := range []Codec{Gzip, LZ4, Zstd, Snappy} {
		o := DefaultBuilderOptions()
		o.Codec, o.Level = c, c.DefaultLevel()
		builder := NewBuilder(o)
		for range records {
			builder.Append(goldenTime, []byte("k"), make([]byte, size), nil)
		}
		bomb := builder.Build()
		var err error
		var checked Checked
		if used := allocated(func() { checked, err = Inspect(bomb, clientRules()) }); used > 24<<20 {
			t.Errorf("%v: %d bytes allocated for a batch of %d", c, used, len(bomb))
		}
		if err != nil || checked.Count != records {
			t.Errorf("%v: %+v, %v", c, checked, err)
		}
		v := clientRules()
		v.MaxRecordBytes = size
		if _, err := Inspect(bomb, v); !errors.Is(err, ErrInvalidRecord) {
			t.Errorf("%v: record above the limit: %v", c, err)
		}
		v.MaxRecordBytes = size + 32
		if _, err := Inspect(bomb, v); err != nil {
			t.Errorf("%v: record within the limit: %v", c, err)
		}
		v.MaxRecordBytes, v.KeepCodec, v.TargetCodec, v.MaxBatchBytes = 0, false, None, 1<<20+len(bomb)
		if used := allocated(func() { _, err = Inspect(bomb, v) }); used > 24<<20 || !errors.Is(err, ErrBatchTooLarge) {
			t.Errorf("%v: decompressing for storage: %d bytes allocated, %v", c, used, err)
		}
	}
}

// A claimed record length allocates nothing by itself.
func TestRecordsDoesNotTrustLengths(t *testing.T) {
	area := append(appendVarint(nil, 1<<31-20), make([]byte, 100)...)
	for _, c := range allCodecs {
		b := encoded(c, 1, area)
		var err error
		if used := allocated(func() {
			rs := b.Records(0)
			for rs.Next() {
			}
			err = rs.Err()
		}); used > 12<<20 || !errors.Is(err, ErrInvalidRecord) {
			t.Errorf("%v: %d bytes allocated, %v", c, used, err)
		}
	}
}

func TestInspectAllocatesNothingPerRecord(t *testing.T) {
	small, large := produced(1, None), produced(1000, None)
	v := clientRules()
	for _, b := range []Batch{small, large} {
		if n := testing.AllocsPerRun(20, func() {
			if _, err := Inspect(b, v); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%v allocations for %d records", n, b.Count())
		}
	}
}
