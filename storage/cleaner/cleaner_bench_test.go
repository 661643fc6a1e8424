package cleaner

import (
	"fmt"
	"testing"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/vfs"
)

// BenchmarkCompact compacts 100 MB: records of 1 KiB in batches of 64 KiB, ten for each key.
func BenchmarkCompact(b *testing.B) {
	const perBatch, batches = 62, 1600
	value := make([]byte, 1000)
	for i := range value {
		value[i] = byte(i * 7)
	}
	for b.Loop() {
		b.StopTimer()
		w := newWorld(b, vfs.NewOS(), func(c *storage.Config) {
			c.SegmentBytes, c.SegmentIndexBytes, c.IndexIntervalBytes = 32<<20, 10<<20, 4096
		})
		o := w.options()
		o.Dir = b.TempDir() + "/t-0"
		l, err := storage.Open(o)
		if err != nil {
			b.Fatal(err)
		}
		w.log = l
		for i := range batches {
			batch := record.NewBuilder(record.DefaultBuilderOptions())
			for j := range perBatch {
				batch.Append(startMs, fmt.Appendf(nil, "key-%012d", (i*perBatch+j)*7919%(batches*perBatch/10)), value, nil)
			}
			w.append(batch.Build(), storage.Client)
		}
		w.roll()
		b.SetBytes(w.log.SizeInBytes())
		b.StartTimer()
		if !w.cleaner.Round() {
			b.Fatalf("not compacted: %+v", w.status())
		}
		b.StopTimer()
		w.cleaner.Close()
		w.log.Abandon()
		b.StartTimer()
	}
}
