package wire

import (
	"sync"
	"sync/atomic"
)

// around is room for what surrounds the records of a request or reply.
const around = 8 << 10

// classes are the sizes of pooled buffers in bytes. The smallest is what an idle connection keeps; the others hold a
// small request, several batches of 16 KiB, and batches of 64 KiB, 256 KiB, 1 MiB and 4 MiB. One that is just large
// enough stays in the processor's cache: what has arrived is still there when it is checked and written.
var classes = [...]int{1 << 10, 16 << 10, 64<<10 + around, 256<<10 + around, 1<<20 + around, 4<<20 + around}

// buffer is a byte slice that belongs to a pool.
type buffer struct {
	b     []byte // whole length, one of classes; longer when class is -1
	class int    // index into classes; -1: not pooled
}

// buffers pools byte slices by size class. The zero value is ready.
type buffers struct {
	pools [len(classes)]sync.Pool
	// lent is how many bytes are out.
	lent atomic.Int64
}

// get returns a buffer of at least n bytes, of any content.
func (p *buffers) get(n int) *buffer {
	for i, size := range classes {
		if n > size {
			continue
		}
		p.lent.Add(int64(size))
		if b, ok := p.pools[i].Get().(*buffer); ok {
			return b
		}
		return &buffer{b: make([]byte, size), class: i}
	}
	return &buffer{b: make([]byte, n), class: -1}
}

// put takes a buffer back; nothing may refer to its bytes any more. nil is ignored.
func (p *buffers) put(b *buffer) {
	if b != nil && b.class >= 0 {
		p.lent.Add(-int64(len(b.b)))
		p.pools[b.class].Put(b)
	}
}
