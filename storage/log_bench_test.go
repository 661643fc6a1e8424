package storage

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

var benchSizes = []int{1 << 10, 16 << 10, 1 << 20}

// benchBatch is one batch of about size bytes with records of 1 KiB, or of 128 bytes if the batch is small.
func benchBatch(size int) []byte {
	b := record.NewBuilder(record.DefaultBuilderOptions())
	value := make([]byte, min(1000, size/8))
	for b.Size()+len(value) < size {
		b.Append(startMs, nil, value, nil)
	}
	return b.Build()
}

func benchLog(b *testing.B) *Log {
	fsys := vfs.NewOS()
	l, err := Open(Options{FS: fsys, Handles: vfs.NewHandles(fsys, 100), Dir: filepath.Join(b.TempDir(), "t-0"), TopicPartition: tp0,
		Config: func() Config { c := DefaultConfig(); c.TimestampBeforeMaxMs = 1 << 60; return c }()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(l.Abandon)
	return l
}

// BenchmarkAppend appends one batch; "pwrite" writes the same bytes to a file, "crc" also checks them first: the least that
// an append can cost. The file is truncated now and then so that its pages stay in the cache.
func BenchmarkAppend(b *testing.B) {
	for _, size := range benchSizes {
		batch := benchBatch(size)
		b.Run(fmt.Sprintf("log/%d", size), func(b *testing.B) {
			l := benchLog(b)
			b.SetBytes(int64(len(batch)))
			b.ReportAllocs()
			for b.Loop() {
				record.Batch(batch).SetBaseOffset(0)
				if _, err := l.Append(batch, AppendOptions{LeaderEpoch: 0}); err != nil {
					b.Fatal(err)
				}
				if l.active().Size() > 256<<20 {
					b.StopTimer()
					if err := l.TruncateTo(0); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
			}
		})
		for _, check := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/%d", map[bool]string{false: "pwrite", true: "pwrite+crc"}[check], size), func(b *testing.B) {
				f, err := os.Create(filepath.Join(b.TempDir(), "f"))
				if err != nil {
					b.Fatal(err)
				}
				defer f.Close()
				b.SetBytes(int64(len(batch)))
				for pos := int64(0); b.Loop(); pos += int64(len(batch)) {
					if check && record.Batch(batch).CheckCRC() != nil {
						b.Fatal("crc")
					}
					if _, err := f.WriteAt(batch, pos); err != nil {
						b.Fatal(err)
					}
					if pos > 256<<20 {
						b.StopTimer()
						pos = 0
						_ = f.Truncate(0)
						b.StartTimer()
					}
				}
			})
		}
	}
}

// BenchmarkRead reads one batch somewhere in 64 MiB: as a region that is released unread, and with its bytes; "pread" reads
// the same bytes from a known position.
func BenchmarkRead(b *testing.B) {
	for _, size := range benchSizes {
		batch := benchBatch(size)
		per := record.Batch(batch).Count()
		l := benchLog(b)
		for l.SizeInBytes() < 64<<20 {
			record.Batch(batch).SetBaseOffset(0)
			if _, err := l.Append(batch, AppendOptions{LeaderEpoch: 0}); err != nil {
				b.Fatal(err)
			}
		}
		l.SetHighWatermark(l.LogEndOffset())
		buf := make([]byte, len(batch))
		n := l.LogEndOffset() / record.Offset(per)
		for _, full := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/%d", map[bool]string{false: "region", true: "log"}[full], size), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(batch)))
				for i := record.Offset(0); b.Loop(); i += 7919 {
					info, err := l.Read(i%n*record.Offset(per), HighWatermark, len(batch), true)
					if err != nil || info.Region.Length != len(batch) {
						b.Fatal(info.Region.Length, err)
					}
					if full {
						if err := info.Region.ReadInto(buf); err != nil {
							b.Fatal(err)
						}
					}
					info.Region.Release()
				}
			})
		}
		b.Run(fmt.Sprintf("pread/%d", size), func(b *testing.B) {
			f, err := os.Open(l.active().Path())
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			b.SetBytes(int64(len(batch)))
			for i := int64(0); b.Loop(); i += 7919 {
				if _, err := f.ReadAt(buf, i%int64(n)*int64(len(batch))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
