package logfile

import (
	"errors"
	"io"
	"runtime"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// piece is the batches that begin in a range of the file.
type piece struct {
	buf []byte
	// begin is where the range begins, from tells where the first batch in it does, onward is told where the first one behind
	// it does.
	begin  int64
	from   <-chan int64
	onward chan int64

	batches []checked
	// memory holds what is unpacked.
	memory []byte
	// done is told once that run has ended.
	done chan struct{}
	// stop: what follows the last of batches is no batch that fits; the Reader looks at it by itself.
	stop bool
}

type checked struct {
	head  record.Header
	start int64
	bytes record.Batch
	valid bool
	// unpacked is what the records of a compressed batch expand to; nil if nobody has looked yet.
	unpacked []byte
}

const (
	// pieceSize is large enough for the disk and small enough for a processor's cache: what has been copied there is checked
	// while it is still there.
	pieceSize = 512 << 10
	// overhang is room for the batch that begins in one piece and ends in the next; a longer one is read by itself.
	overhang = 128 << 10
	// pipelineFrom: it is not worth goroutines to read less.
	pipelineFrom = 4 * pieceSize
	// unpackMost is how much the compressed batches of a piece may expand to; the rest is unpacked as it is read.
	unpackMost = 8 * pieceSize
)

// noMore is told instead of a position when the walk has ended.
const noMore = -1

// run reads the piece of f, which is read up to byte end, and checks it.
func (x *piece) run(f vfs.File, end int64, depth Depth) {
	defer func() { x.done <- struct{}{} }()
	n, _ := f.ReadAt(x.buf[:min(pieceSize, end-x.begin)], x.begin) // what is missing is met again, with its error, by the Reader
	first := soon(x.from)
	if first == noMore {
		x.stop = true
		x.onward <- noMore
		return
	}
	x.onward <- x.walk(f, end, first, n)
	for i := range x.batches {
		b := &x.batches[i]
		if b.head.Magic > NewestMagic {
			b.bytes[record.MagicOffset] = NewestMagic // in memory; no CRC covers it
		}
		b.valid = b.bytes.MatchesCRC(&b.head)
	}
	if depth == Records {
		x.unpack()
	}
}

// unpack unpacks compressed batches, as many as there is memory for. One that is broken is left to who reads it up to there.
func (x *piece) unpack() {
	x.memory = x.memory[:0]
	for i := range x.batches {
		b, from := &x.batches[i], len(x.memory)
		if !b.valid || b.head.Codec() == record.None {
			continue
		}
		if x.memory == nil {
			x.memory = make([]byte, 0, unpackMost) // of which the system supplies what is used
		}
		var err error
		if x.memory, err = b.bytes.Unpack(x.memory); err == nil {
			b.unpacked = x.memory[from:len(x.memory):len(x.memory)]
		} else if errors.Is(err, io.ErrShortBuffer) {
			return
		}
	}
}

// walk goes from header to header, from byte pos of the file on, and returns where the first batch behind the piece begins. n
// bytes of the piece were read.
func (x *piece) walk(f vfs.File, end, pos int64, n int) int64 {
	for pos < x.begin+pieceSize && pos < end {
		at := int(pos - x.begin)
		n = x.fill(f, end, n, at+record.HeaderSize)
		size, ok := x.header(at, n)
		if !ok {
			x.stop = true
			return noMore
		}
		last := len(x.batches) - 1
		if n = x.fill(f, end, n, at+size); at+size > n {
			x.stop, x.batches = true, x.batches[:last]
			return noMore
		}
		x.batches[last].start, x.batches[last].bytes = pos, x.buf[at:at+size:at+size]
		pos += int64(size)
	}
	return pos
}

// fill reads on so that the piece has its first want bytes, if there are so many and there is room, and returns how many it has.
func (x *piece) fill(f vfs.File, end int64, have, want int) int {
	want = int(min(int64(want), int64(len(x.buf)), end-x.begin))
	if want <= have || have < pieceSize {
		return have
	}
	n, _ := f.ReadAt(x.buf[have:want], x.begin+int64(have))
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

func newPiece() *piece { return &piece{onward: make(chan int64, 1), done: make(chan struct{}, 1)} }

// ready reports, once, whether run has ended.
func (x *piece) ready() bool {
	select {
	case <-x.done:
		return true
	default:
		return false
	}
}

// soon receives what another goroutine is about to send. To sleep and be woken takes about as long as that, so it looks for a while first.
func soon[T any](c <-chan T) T {
	for range looks {
		select {
		case v := <-c:
			return v
		default:
			runtime.Gosched()
		}
	}
	return <-c
}

// looks is about a tenth of a millisecond, in which half a megabyte is copied.
const looks = 1000
