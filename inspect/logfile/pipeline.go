package logfile

import (
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// pipeline reads a large file in pieces and checks them, two at a time. Where the batches of a piece begin is known
// when the piece before has been walked, which takes no time; reading and checksums, which do, go side by side. Each
// piece is read and checked by one goroutine, so that the checksum finds it in that processor's cache.
type pipeline struct {
	f     vfs.File
	end   int64
	queue []*piece
	idle  []*piece
	// next is where the following piece begins, from tells it where its first batch does.
	next int64
	from <-chan int64
	at   int // of the batch in queue[0] that take returns next
}

// piece is the batches that begin in a range of the file.
type piece struct {
	buf     []byte
	batches []checked
	done    chan struct{}
	// stop: what follows the last of batches is no batch that fits; the Reader looks at it by itself.
	stop bool
}

type checked struct {
	head  record.Header
	start int64
	bytes record.Batch
	valid bool
}

const (
	// pieceSize is large enough for the disk and small enough for a processor's cache: what has been copied there is checked
	// while it is still there.
	pieceSize = 512 << 10
	// overhang is room for the batch that begins in one piece and ends in the next; a longer one is read by itself.
	overhang = 128 << 10
	// pieces: one is being consumed while two are read.
	pieces = 3
	// pipelineFrom: it is not worth goroutines to read less.
	pipelineFrom = 4 * pieceSize
)

func newPipeline(f vfs.File, pos, end int64) *pipeline {
	from := make(chan int64, 1)
	from <- pos
	p := &pipeline{f: f, end: end, next: pos, from: from}
	for range pieces {
		p.start(&piece{buf: make([]byte, pieceSize+overhang)})
	}
	return p
}

// start lets a goroutine have the next piece of the file.
func (p *pipeline) start(x *piece) {
	if p.next >= p.end {
		return
	}
	x.batches, x.done, x.stop = x.batches[:0], make(chan struct{}), false
	begin, from, onward := p.next, p.from, make(chan int64, 1)
	p.next, p.from = begin+pieceSize, onward
	p.queue = append(p.queue, x)
	go x.run(p.f, begin, p.end, from, onward)
}

// noMore is told instead of a position when the walk has ended.
const noMore = -1

func (x *piece) run(f vfs.File, begin, end int64, from <-chan int64, onward chan<- int64) {
	defer close(x.done)
	n, _ := f.ReadAt(x.buf[:min(pieceSize, end-begin)], begin) // what is missing is met again, with its error, by the Reader
	first := <-from
	if first == noMore {
		x.stop = true
		onward <- noMore
		return
	}
	pos := first
	for pos < begin+pieceSize && pos < end {
		at := int(pos - begin)
		n = x.fill(f, begin, end, n, at+record.HeaderSize)
		size, ok := x.header(at, n)
		if !ok {
			x.stop = true
			break
		}
		last := len(x.batches) - 1
		if n = x.fill(f, begin, end, n, at+size); at+size > n {
			x.stop, x.batches = true, x.batches[:last]
			break
		}
		x.batches[last].start, x.batches[last].bytes = pos, x.buf[at:at+size:at+size]
		pos += int64(size)
	}
	if x.stop {
		onward <- noMore
	} else {
		onward <- pos
	}
	for i := range x.batches {
		b := &x.batches[i]
		if b.head.Magic > NewestMagic {
			b.bytes[record.MagicOffset] = NewestMagic // in memory; no CRC covers it
		}
		b.valid = b.bytes.CheckCRC() == nil
	}
}

// fill reads on so that the piece has its first want bytes, if there are so many and there is room, and returns how many it has.
func (x *piece) fill(f vfs.File, begin, end int64, have, want int) int {
	want = int(min(int64(want), int64(len(x.buf)), end-begin))
	if want <= have || have < pieceSize {
		return have
	}
	n, _ := f.ReadAt(x.buf[have:want], begin+int64(have))
	return have + n
}

// header reads the header of the batch at byte at of the n bytes of the piece into a new element of batches; ok: there is one.
func (x *piece) header(at, n int) (size int, ok bool) {
	if n-at <= minimumTail {
		return 0, false
	}
	h, err := parseHeader(x.buf[at:min(n, at+record.HeaderSize)])
	if err != nil {
		return 0, false
	}
	x.batches = append(x.batches, checked{head: h})
	return h.SizeInBytes, true
}

// take returns the next batch; nil when the Reader has to look by itself.
func (p *pipeline) take() *checked {
	for len(p.queue) > 0 {
		x := p.queue[0]
		<-x.done
		if p.at < len(x.batches) {
			p.at++
			return &x.batches[p.at-1]
		}
		if x.stop {
			return nil
		}
		p.queue, p.at = p.queue[1:], 0
		p.start(x)
	}
	return nil
}

// close waits for the goroutines.
func (p *pipeline) close() {
	for _, x := range p.queue {
		<-x.done
	}
}
