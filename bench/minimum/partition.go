package minimum

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"sort"
	"sync"
)

// batchHeader is the size of a record batch without records, in bytes.
const batchHeader = 61

// errCorrupt refuses a batch.
var errCorrupt = errors.New("corrupt batch")

// start is where a batch is.
type start struct{ offset, position int64 }

// partition is a file and where its batches begin.
type partition struct {
	file *os.File

	mu struct {
		sync.Mutex
		starts []start
		next   start // offset and position of the next batch
		// grown is closed at the next append.
		grown chan struct{}
	}
}

func newPartition(f *os.File) *partition {
	p := &partition{file: f}
	p.mu.grown = make(chan struct{})
	return p
}

func (p *partition) end() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.next.offset
}

// check returns how many offsets the one batch in b takes.
func check(b []byte, table *crc32.Table) (int64, error) {
	if len(b) < batchHeader || int(binary.BigEndian.Uint32(b[8:]))+12 != len(b) || b[16] != 2 {
		return 0, fmt.Errorf("%w: %d bytes", errCorrupt, len(b))
	}
	if crc32.Checksum(b[21:], table) != binary.BigEndian.Uint32(b[17:]) {
		return 0, fmt.Errorf("%w: checksum", errCorrupt)
	}
	return int64(binary.BigEndian.Uint32(b[23:])) + 1, nil
}

// append writes a checked batch of the given number of offsets and returns its first offset.
func (p *partition) append(b []byte, offsets int64) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.mu.next
	binary.BigEndian.PutUint64(b, uint64(at.offset))
	binary.BigEndian.PutUint32(b[12:], 0)
	if _, err := p.file.WriteAt(b, at.position); err != nil {
		return 0, err
	}
	p.mu.starts = append(p.mu.starts, at)
	p.mu.next = start{at.offset + offsets, at.position + int64(len(b))}
	close(p.mu.grown)
	p.mu.grown = make(chan struct{})
	return at.offset, nil
}

// read returns the range of whole batches from the one with offset on, at most limit bytes unless the first
// alone is larger, the offset after the last batch of the partition, and a channel that is closed at the next append.
func (p *partition) read(offset, limit int64) (from, to, end int64, grown <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	end, grown = p.mu.next.offset, p.mu.grown
	if offset < 0 || offset >= end {
		return 0, 0, end, grown
	}
	starts := p.mu.starts
	first := sort.Search(len(starts), func(i int) bool { return starts[i].offset > offset }) - 1
	from = starts[first].position
	if p.mu.next.position-from <= limit {
		return from, p.mu.next.position, end, grown
	}
	// The batch in which the limit lies is left out, but never the first.
	last := sort.Search(len(starts), func(i int) bool { return starts[i].position > from+limit }) - 1
	if last > first {
		return from, starts[last].position, end, grown
	}
	if first+1 < len(starts) {
		return from, starts[first+1].position, end, grown
	}
	return from, p.mu.next.position, end, grown
}

func (p *partition) remove() {
	_ = os.Remove(p.file.Name())
	_ = p.file.Close() // a fetch that still sends from it fails, and its client asks again
}
