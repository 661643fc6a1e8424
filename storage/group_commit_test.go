package storage

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// TestGroupCommit: with flush.messages=1 each of n producers waits for an fsync, but all that append while one is under way
// share the next: n appends cost two fsyncs of the log. None is acknowledged before its records are durable.
func TestGroupCommit(t *testing.T) {
	const n = 64
	mem := disk(t)
	begun, release := make(chan struct{}), make(chan struct{})
	var armed atomic.Bool
	var syncs atomic.Int64
	w := worldOn(t, vfs.NewFault(mem, func(op vfs.Op) error {
		if !armed.Load() || op.Kind != vfs.OpSync || !strings.HasSuffix(op.Path, ".log") {
			return nil
		}
		if syncs.Add(1) == 1 { // the first takes as long as it takes for everybody else to arrive
			close(begun)
			<-release
		}
		return nil
	}))
	w.config.FlushMessages = 1
	l := w.open()
	defer l.Abandon()
	w.append(l, batchOf(startMs, "first"), AppendOptions{}) // the file's name is durable from here on
	armed.Store(true)

	var producers sync.WaitGroup
	produce := func(i int) {
		info, err := l.Append(batchOf(startMs, fmt.Sprint(i)), AppendOptions{})
		if err != nil {
			t.Error(err)
		}
		if synced := l.SyncedOffset(); synced <= info.LastOffset {
			t.Errorf("offset %d was acknowledged, durable are those below %d", info.LastOffset, synced)
		}
	}
	producers.Go(func() { produce(0) })
	<-begun
	for i := 1; i < n; i++ {
		producers.Go(func() { produce(i) })
	}
	for l.LogEndOffset() < n+1 { // appending needs no fsync and no lock that one is waited for with
		runtime.Gosched()
	}
	if synced := l.SyncedOffset(); synced != 1 {
		t.Errorf("offsets below %d are called durable while the fsync is under way", synced)
	}
	close(release)
	producers.Wait()
	if got := syncs.Load(); got != 2 {
		t.Errorf("%d producers cost %d fsyncs", n, got)
	}
	image := mem.Crash()
	w.fs, w.handles = image, vfs.NewHandles(image, 64)
	after := w.open()
	defer after.Abandon()
	if got := len(w.contents(after)); got != n+1 {
		t.Errorf("%d records survived a power failure, %d were acknowledged", got, n+1)
	}
}

// syncCounter counts fsyncs.
type syncCounter struct {
	vfs.FS
	files *atomic.Int64
}

type syncCounterFile struct {
	vfs.File
	files *atomic.Int64
}

func (c syncCounter) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := c.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return syncCounterFile{f, c.files}, nil
}

func (f syncCounterFile) Sync() error {
	f.files.Add(1)
	return f.File.Sync()
}

// BenchmarkGroupCommit appends batches of 1 KiB with flush.messages=1 from 1 to 64 producers and tells how many fsyncs each
// append costs.
func BenchmarkGroupCommit(b *testing.B) {
	for _, writers := range []int{1, 4, 16, 64} {
		b.Run(fmt.Sprint(writers, " producers"), func(b *testing.B) {
			var files atomic.Int64
			w := worldOn(b, syncCounter{vfs.NewOS(), &files})
			w.config.FlushMessages = 1
			dir := b.TempDir()
			l := w.open(func(o *Options) { o.Dir = filepath.Join(dir, "t-0") })
			defer l.Abandon()
			value := strings.Repeat("x", 1000)
			var next atomic.Int64
			files.Store(0)
			b.ResetTimer()
			var producers sync.WaitGroup
			for range writers {
				producers.Go(func() {
					batch := batchOf(startMs, value)
					for next.Add(1) <= int64(b.N) {
						record.Batch(batch).SetBaseOffset(0)
						if _, err := l.Append(batch, AppendOptions{}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			producers.Wait()
			b.ReportMetric(float64(files.Load())/float64(b.N), "fsyncs/append")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
		})
	}
}
