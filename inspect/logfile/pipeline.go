package logfile

import (
	"runtime"
	"sync"

	"github.com/samsalog/samsa/vfs"
)

// pipeline reads a large file in pieces and checks them on several processors. Where the batches of a piece begin is known
// when the piece before has been walked, which takes no time; reading and checksums, which do, go side by side. Each piece is
// read and checked by one goroutine, so that the checksum finds it in that processor's cache.
//
// The goroutine that takes the batches is one of those that read: when the piece that it needs is not ready, it does another
// one rather than sleep. So a machine with other work loses little to waiting for a goroutine that does not run, and nothing
// to waking it.
type pipeline struct {
	f   vfs.File
	end int64
	// depth: if nobody wants the bytes of a batch that has been checked, each goroutine reads into memory of its own, which stays
	// in its processor's cache.
	depth Depth
	// own is the memory of the goroutine that takes the batches.
	own []byte
	// current is the piece whose batches are being taken, at the next of them; nil: none yet.
	current *piece
	at      int
	helpers sync.WaitGroup
	// room wakes a helper that waits for a free piece; closed, it ends them.
	room chan struct{}

	mu struct {
		sync.Mutex
		// queue is the pieces that were begun, in the order of the file; idle those that are free, made those that exist.
		queue, idle []*piece
		made        int
		// next is where the following piece begins, from tells it where its first batch does.
		next   int64
		from   <-chan int64
		closed bool
	}
}

const (
	// mostHelpers is how many goroutines read besides the one that takes the batches.
	mostHelpers = 3
	// piecesEach is how many pieces there are per goroutine: what the others can go on with while the system lets one of them wait.
	piecesEach = 3
)

func newPipeline(f vfs.File, pos, end int64, depth Depth) *pipeline {
	from := make(chan int64, 1)
	from <- pos
	p := &pipeline{f: f, end: end, depth: depth, room: make(chan struct{}, mostHelpers)}
	p.own = p.memory()
	p.mu.next, p.mu.from = pos, from
	for range helpers() {
		p.helpers.Go(p.help)
	}
	return p
}

func helpers() int { return min(mostHelpers, runtime.GOMAXPROCS(0)-1) }

// help does pieces until there are none left.
func (p *pipeline) help() {
	own := p.memory()
	for open := true; open; {
		x, left := p.begin()
		switch {
		case !left:
			return
		case x != nil:
			p.do(x, own)
		default:
			_, open = <-p.room
		}
	}
}

// begin takes the next piece of the file upon the caller, who runs it. Nil: no piece is free, or none is left.
func (p *pipeline) begin() (x *piece, left bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := &p.mu
	if m.closed || m.next >= p.end {
		return nil, false
	}
	switch n := len(m.idle); {
	case n > 0: // the one that was used last, of which most is in a cache
		x, m.idle = m.idle[n-1], m.idle[:n-1]
	case m.made < piecesEach*(1+helpers()):
		x = newPiece()
		m.made++
	default:
		return nil, true
	}
	x.begin, x.from = m.next, m.from
	x.batches, x.stop = x.batches[:0], false
	m.next, m.from = m.next+pieceSize, x.onward
	m.queue = append(m.queue, x)
	return x, true
}

// memory is what a goroutine reads into; nil: into that of the piece.
func (p *pipeline) memory() []byte {
	if p.depth != Headers {
		return nil
	}
	return make([]byte, pieceSize+overhang)
}

// do reads and checks a piece.
func (p *pipeline) do(x *piece, own []byte) {
	switch {
	case p.depth == Headers:
		x.buf = own
	case x.buf == nil:
		x.buf = make([]byte, pieceSize+overhang)
	}
	x.run(p.f, p.end, p.depth)
}

// take returns the next batch; nil when the Reader has to look by itself.
func (p *pipeline) take() *checked {
	for {
		if p.current != nil {
			if p.at < len(p.current.batches) {
				p.at++
				return &p.current.batches[p.at-1]
			}
			if p.current.stop {
				return nil
			}
		}
		if !p.advance() {
			return nil
		}
	}
}

// advance goes to the next piece; false at the end.
func (p *pipeline) advance() bool {
	x := p.first()
	for x == nil || !x.ready() {
		if more, _ := p.begin(); more != nil {
			p.do(more, p.own)
			x = p.first()
			continue
		}
		if x = p.first(); x != nil { // a helper may have begun it meanwhile
			soon(x.done)
		}
		break
	}
	p.recycle()
	if x == nil {
		return false
	}
	p.mu.Lock()
	p.mu.queue = p.mu.queue[1:]
	p.mu.Unlock()
	p.current, p.at = x, 0
	return true
}

// first is the piece whose batches come next, if it was begun.
func (p *pipeline) first() *piece {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.mu.queue) == 0 {
		return nil
	}
	return p.mu.queue[0]
}

// recycle makes the current piece free, once the next one has been told where its batches begin. A helper that ran out of them goes
// on when half of all are: it is woken seldom.
func (p *pipeline) recycle() {
	if p.current == nil {
		return
	}
	p.mu.Lock()
	p.mu.idle = append(p.mu.idle, p.current)
	wake := len(p.mu.idle) >= p.mu.made/2
	p.mu.Unlock()
	p.current = nil
	if wake {
		select {
		case p.room <- struct{}{}:
		default:
		}
	}
}

// close waits for the goroutines.
func (p *pipeline) close() {
	p.mu.Lock()
	p.mu.closed = true
	p.mu.Unlock()
	close(p.room)
	p.helpers.Wait()
}
