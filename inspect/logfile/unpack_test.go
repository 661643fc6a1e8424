package logfile

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/record"
)

// compressed is a batch of some records in any codec; one in eight is broken inside, behind a right checksum, or has more or fewer
// records than it says.
func compressed(r *rand.Rand, offset int64) record.Batch {
	o := record.DefaultBuilderOptions()
	o.BaseOffset, o.LeaderEpoch, o.Codec = record.Offset(offset), 0, record.Codec(r.IntN(int(record.Zstd)+1))
	o.Level = o.Codec.DefaultLevel()
	build := record.NewBuilder(o)
	raw := make([]byte, 1+r.IntN(20<<10))
	for range 1 + r.IntN(4) {
		for i := range raw {
			raw[i] = byte(r.Uint32())
		}
		build.Append(offset, []byte("key"), []byte(hex.EncodeToString(raw[:1+r.IntN(len(raw))])), nil)
	}
	if r.IntN(40) == 0 { // expands to more than is unpacked ahead
		build.Append(offset, nil, make([]byte, unpackMost+1), nil)
	}
	b := record.Batch(build.Build())
	switch r.IntN(16) {
	case 0:
		b[record.HeaderSize+r.IntN(len(b)-record.HeaderSize)] ^= 1 << r.IntN(8)
	case 1:
		count := b[record.HeaderSize-4 : record.HeaderSize]
		binary.BigEndian.PutUint32(count, binary.BigEndian.Uint32(count)+uint32(r.IntN(4))-1)
	}
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// records is what a walk finds in the batches, for comparison.
func records(r *Reader, maxRecord int) (seen []string) {
	defer r.Close()
	for r.Next() {
		rs := r.Records(maxRecord)
		for rs.Next() {
			x := rs.Record()
			seen = append(seen, fmt.Sprintf("batch at %d: offset %d, %d bytes, %s %08x", r.Start(), x.Offset, x.SizeInBytes, x.Key, crc32.ChecksumIEEE(x.Value)))
		}
		seen = append(seen, fmt.Sprintf("batch at %d: %v", r.Start(), rs.Err()))
		rs.Close()
	}
	return append(seen, fmt.Sprintf("end at %d: %v", r.Position(), r.Err()))
}

// Records of what was unpacked ahead are those of what is unpacked as it is read, up to the same place and with the same error.
func TestUnpackedEqualsStreamed(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range longtest.Pick(4, 200) {
		var log []byte
		for n := int64(0); len(log) < pipelineFrom+3*pieceSize; n += 8 {
			log = append(log, compressed(r, n)...)
		}
		f := open(t, log)
		processors(t, 1+r.IntN(4))
		maxRecord := r.IntN(2) * 20 << 10
		want := records(NewReader(f, 0, f.SizeInBytes), maxRecord)
		ahead := NewReader(f, 0, f.SizeInBytes)
		ahead.Depth = Records
		got := records(ahead, maxRecord)
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("line %d of %d:\n%s, want\n%s", i, len(want), got[i], want[i])
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d lines, want %d", len(got), len(want))
		}
	}
}

// LGF-2: what batches expand to is kept in memory of a bounded size, which is made once, and is there for those that fit.
func TestUnpackIsBounded(t *testing.T) {
	for what, batch := range map[string]func(r *rand.Rand, n int64) record.Batch{
		"of all kinds": compressed,
		"of zeros":     func(_ *rand.Rand, n int64) record.Batch { return zeros(n) },
	} {
		r := rand.New(rand.NewPCG(8, 8))
		x := newPiece()
		for n := range int64(600) {
			b := batch(r, n)
			x.batches = append(x.batches, checked{head: b.Header(), bytes: b, valid: true})
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		x.unpack()
		runtime.ReadMemStats(&after)
		unpacked := 0
		for _, b := range x.batches {
			if b.unpacked != nil {
				unpacked++
			}
		}
		// The decoders have memory of their own, in a pool that may forget some.
		if allocated := after.TotalAlloc - before.TotalAlloc; cap(x.memory) != unpackMost || unpacked < 50 || allocated > 32*unpackMost {
			t.Errorf("batches %s: %d unpacked, in %d bytes; %d were allocated", what, unpacked, cap(x.memory), allocated)
		}
	}
}

// zeros is a small batch that expands to 64 KiB.
func zeros(offset int64) record.Batch {
	o := record.DefaultBuilderOptions()
	o.BaseOffset, o.LeaderEpoch, o.Codec, o.Level = record.Offset(offset), 0, record.Zstd, record.Zstd.DefaultLevel()
	b := record.NewBuilder(o)
	b.Append(offset, nil, make([]byte, 64<<10), nil)
	return b.Build()
}
