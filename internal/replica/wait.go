package replica

import (
	"container/list"
	"sync"
	"sync/atomic"

	"github.com/samsalog/samsa/storage"
)

// Wait is a fetch that waits for data on all partitions of its request at once. It is done when the bytes
// that became readable since NewWait reach the number asked for, or when a partition changed in a way that
// the reader must see at once (leadership, deletion).
type Wait struct {
	iso  storage.Isolation
	need atomic.Int64
	once sync.Once
	done chan struct{}
	in   []membership
}

type membership struct {
	list *watchList
	elem *list.Element
}

// NewWait returns a Wait that is done after need more bytes.
func NewWait(iso storage.Isolation, need int64) *Wait {
	w := &Wait{iso: iso, done: make(chan struct{})}
	w.need.Store(need)
	return w
}

// Done is closed when it is worth reading again.
func (w *Wait) Done() <-chan struct{} { return w.done }

// Watch adds p to the partitions that may finish the wait. The caller compares the partition's offsets
// with those of its last read afterwards: what came in between woke nobody.
func (w *Wait) Watch(p *Partition) {
	w.in = append(w.in, membership{&p.watch, p.watch.add(w)})
}

// Stop takes the wait out of all watch lists (REP-3). Call it when the fetch goes on, for whatever reason.
func (w *Wait) Stop() {
	for _, m := range w.in {
		m.list.remove(m.elem)
	}
	w.in = nil
}

// Wake ends the wait for a reason of the reader's own. It may be called more than once and from anywhere.
func (w *Wait) Wake() { w.finish() }

func (w *Wait) finish() { w.once.Do(func() { close(w.done) }) }

// watchList holds the waits of one partition.
type watchList struct {
	// n mirrors the length so that an append with no readers waiting takes no lock.
	n  atomic.Int32
	mu struct {
		sync.Mutex
		waits list.List
	}
}

func (l *watchList) add(w *Wait) *list.Element {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n.Add(1)
	return l.mu.waits.PushBack(w)
}

func (l *watchList) remove(e *list.Element) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.waits.Remove(e)
	l.n.Add(-1)
}

// advanced tells waits that bytes more are readable up to the high watermark and, if stable moved, that
// read_committed readers may see more too. How many bytes a moved last stable offset uncovers is not
// known, so their readers look for themselves.
func (l *watchList) advanced(bytes int64, stableMoved bool) {
	if l.n.Load() == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := l.mu.waits.Front(); e != nil; e = e.Next() {
		w := e.Value.(*Wait)
		switch {
		case w.iso == storage.TxnCommitted && stableMoved, w.iso != storage.TxnCommitted && w.need.Add(-bytes) <= 0:
			w.finish()
		}
	}
}

// changed finishes all waits.
func (l *watchList) changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := l.mu.waits.Front(); e != nil; e = e.Next() {
		e.Value.(*Wait).finish()
	}
}
