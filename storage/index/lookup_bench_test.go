//go:build linux

package index

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// The things to beat: a mapped index with a plain binary search, and with Kafka's warm section (AbstractIndex). Run
//
//	go test -run - -bench . ./storage/index

// mapped is a mapped .index file.
type mapped struct {
	data []byte
	// touched, when not nil, collects the pages that searches read.
	touched map[int]bool
}

func mapIndex(b *testing.B, path string) *mapped {
	b.Helper()
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		b.Fatal(err)
	}
	if err := unix.Madvise(data, unix.MADV_RANDOM); err != nil { // without it each fault reads ahead megabytes
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = unix.Munmap(data) })
	return &mapped{data: data}
}

func (m *mapped) rel(i int) uint32 {
	if m.touched != nil {
		m.touched[i*offsetEntry/blockBytes] = true
	}
	return binary.BigEndian.Uint32(m.data[i*offsetEntry:])
}

// search is a binary search for the last entry ≤ rel among lo … hi-1, of which the one before lo qualifies.
func (m *mapped) search(lo, hi int, rel uint32) int {
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if m.rel(mid) <= rel {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - 1
}

func (m *mapped) binary(rel uint32) int { return m.search(0, len(m.data)/offsetEntry, rel) }

// warm looks at the last 8192 bytes first, as Kafka does.
func (m *mapped) warm(rel uint32) int {
	n := len(m.data) / offsetEntry
	first := max(0, n-1-warmBytes/offsetEntry)
	if m.rel(first) < rel {
		return m.search(first, n, rel)
	}
	if m.rel(0) > rel {
		return -1
	}
	return m.search(0, first+1, rel)
}

// benchFile writes an index of n entries, one for every 4 KiB of log and third offset.
func benchFile(b *testing.B, path string, n int) {
	b.Helper()
	data := make([]byte, n*offsetEntry)
	for i := range n {
		binary.BigEndian.PutUint32(data[i*offsetEntry:], uint32(3*i))
		binary.BigEndian.PutUint32(data[i*offsetEntry+4:], uint32(800*i+1))
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		b.Fatal(err)
	}
}

func openBench(b *testing.B, h *vfs.Handles, path string) *Offset {
	b.Helper()
	x, err := OpenOffset(h, path, 0, 10<<20, false)
	if err != nil {
		b.Fatal(err)
	}
	return x
}

// targets returns random relative offsets, of the whole index or of its last 8 KiB.
func targets(n int, tail bool) (list [4096]uint32) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range list {
		if tail {
			list[i] = uint32(3*n - 1 - r.IntN(3*warmBytes/offsetEntry))
		} else {
			list[i] = uint32(r.IntN(3 * n))
		}
	}
	return list
}

// BenchmarkLookup: nanoseconds of one lookup with the file in the page cache. 262,144 entries are a full segment of
// 1 GiB, 1,310,720 are the limit of 10 MiB.
func BenchmarkLookup(b *testing.B) {
	for _, n := range []int{262_144, 1_310_720} {
		path := filepath.Join(b.TempDir(), "0.index")
		benchFile(b, path, n)
		x, m := openBench(b, vfs.NewHandles(vfs.NewOS(), 8), path), mapIndex(b, path)
		for _, tail := range []bool{true, false} {
			list := targets(n, tail)
			where := map[bool]string{true: "tail", false: "uniform"}[tail]
			for _, search := range []struct {
				name string
				find func(rel uint32) int
			}{
				{"samsa", func(rel uint32) int {
					off, _, err := x.Lookup(record.Offset(rel))
					if err != nil {
						b.Fatal(err)
					}
					return int(off / 3)
				}},
				{"mapped-binary", m.binary},
				{"mapped-warm", m.warm},
			} {
				b.Run(fmt.Sprintf("%d/%s/%s", n, where, search.name), func(b *testing.B) {
					for _, rel := range list { // block keys learned, pages present
						if got := search.find(rel); got != int(rel/3) {
							b.Fatalf("lookup %d: entry %d", rel, got)
						}
					}
					b.ReportAllocs()
					for i := 0; b.Loop(); i++ {
						search.find(list[i%len(list)])
					}
				})
			}
		}
	}
}

// BenchmarkPagesTouched: how many pages of the file 200 lookups in its last page need, and the first cold lookup.
func BenchmarkPagesTouched(b *testing.B) {
	for _, pages := range []int{13, 256, 2560} {
		n := pages * blockBytes / offsetEntry
		path := filepath.Join(b.TempDir(), "0.index")
		benchFile(b, path, n)
		m := mapIndex(b, path)
		for name, find := range map[string]func(uint32) int{"mapped-binary": m.binary, "mapped-warm": m.warm} {
			b.Run(fmt.Sprintf("%d/%s", pages, name), func(b *testing.B) {
				for b.Loop() {
					m.touched = map[int]bool{}
					for i := range 200 {
						find(uint32(3 * (n - 1 - i)))
					}
				}
				b.ReportMetric(float64(len(m.touched)), "pages")
				m.touched = nil
			})
		}
		b.Run(fmt.Sprintf("%d/samsa", pages), func(b *testing.B) {
			var reads atomic.Int64
			h := vfs.NewHandles(vfs.NewFault(vfs.NewOS(), func(op vfs.Op) error {
				if op.Kind == vfs.OpRead {
					reads.Add(1)
				}
				return nil
			}), 8)
			total := 0.0
			for b.Loop() {
				x := openBench(b, h, path)
				before := reads.Load()
				for i := range 200 {
					if _, _, err := x.Lookup(record.Offset(3 * (n - 1 - i))); err != nil {
						b.Fatal(err)
					}
				}
				total = float64(reads.Load()-before) * warmBytes / blockBytes
				_ = x.Close()
			}
			b.ReportMetric(total, "pages")
		})
	}
}

// BenchmarkStalls: how late an unrelated goroutine wakes from a sleep of 1 ms while as many readers as there are
// processors do cold lookups back to back. Cold means that the file was dropped from the page cache before.
func BenchmarkStalls(b *testing.B) {
	const files, n = 32, 262_144
	dir := b.TempDir()
	h := vfs.NewHandles(vfs.NewOS(), 2*files)
	var paths []string
	var maps []*mapped
	for i := range files {
		path := filepath.Join(dir, fmt.Sprintf("%d.index", i))
		benchFile(b, path, n)
		paths = append(paths, path)
		maps = append(maps, mapIndex(b, path))
	}
	b.Run("none", func(b *testing.B) { stalls(b, func(*rand.Rand) {}, 0) })
	b.Run("samsa", func(b *testing.B) {
		stalls(b, func(r *rand.Rand) {
			i := r.IntN(files)
			drop(b, paths[i])
			x := openBench(b, h, paths[i]) // fresh: no block key is known, each probe is a read
			if _, _, err := x.Lookup(record.Offset(r.IntN(3 * n))); err != nil {
				b.Error(err)
			}
			_ = x.Close()
		}, runtime.GOMAXPROCS(0))
	})
	b.Run("mapped-warm", func(b *testing.B) {
		stalls(b, func(r *rand.Rand) {
			i := r.IntN(files)
			if err := unix.Madvise(maps[i].data, unix.MADV_DONTNEED); err != nil {
				b.Error(err)
			}
			drop(b, paths[i])
			maps[i].warm(uint32(r.IntN(3 * n)))
		}, runtime.GOMAXPROCS(0))
	})
}

// drop takes a file out of the page cache.
func drop(b *testing.B, path string) {
	f, err := os.Open(path)
	if err != nil {
		b.Error(err)
		return
	}
	defer f.Close()
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		b.Error(err)
	}
}

// stalls runs readers and reports how late the sleeper was.
func stalls(b *testing.B, read func(r *rand.Rand), readers int) {
	var stop atomic.Bool
	var lookups atomic.Int64
	var running sync.WaitGroup
	for g := range readers {
		running.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 3))
			for !stop.Load() {
				read(r)
				lookups.Add(1)
			}
		})
	}
	var late []time.Duration
	began := time.Now()
	for b.Loop() {
		at := time.Now()
		time.Sleep(time.Millisecond)
		late = append(late, time.Since(at)-time.Millisecond)
	}
	took := time.Since(began)
	stop.Store(true)
	running.Wait()
	slices.Sort(late)
	b.ReportMetric(float64(late[len(late)/2].Microseconds()), "late-p50-us")
	b.ReportMetric(float64(late[len(late)*99/100].Microseconds()), "late-p99-us")
	b.ReportMetric(float64(lookups.Load())/took.Seconds(), "lookups/s")
}

// BenchmarkAppend: an entry into both indexes, as an append of the log does once in 4 KiB.
func BenchmarkAppend(b *testing.B) {
	h := vfs.NewHandles(vfs.NewOS(), 8)
	dir := b.TempDir()
	x, err := CreateOffset(h, filepath.Join(dir, "0.index"), 0, 1<<30)
	if err != nil {
		b.Fatal(err)
	}
	y, err := CreateTime(h, filepath.Join(dir, "0.timeindex"), 0, 1<<30)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 1; b.Loop(); i++ {
		if err := x.Append(record.Offset(i), Position(i)); err != nil {
			b.Fatal(err)
		}
		if err := y.Append(int64(i), record.Offset(i), false); err != nil {
			b.Fatal(err)
		}
	}
}
