package storage

import (
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/index"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/storage/segment"
)

// ErrCleaningOutdated: the log was truncated, or the segments that were to be replaced are no longer in it.
var ErrCleaningOutdated = errors.New("log changed under compaction")

// cuts remembers truncations for compaction, which works beside them without a lock.
type cuts struct {
	mu sync.Mutex
	// count is how many there were, lowest the smallest offset one went to since TruncatedTo was settled; -1 none.
	count  int64
	lowest record.Offset
	some   bool
}

func (c *cuts) note(o record.Offset) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	if !c.some || o < c.lowest {
		c.some, c.lowest = true, o
	}
}

func (c *cuts) seen() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// TruncatedTo is the smallest offset that the log was truncated to since SettleTruncation; what compaction had done from
// there on counts no more. False: it was not truncated.
func (l *Log) TruncatedTo() (record.Offset, bool) {
	l.cuts.mu.Lock()
	defer l.cuts.mu.Unlock()
	return l.cuts.lowest, l.cuts.some
}

// SettleTruncation says that what TruncatedTo returned was taken into account.
func (l *Log) SettleTruncation(o record.Offset) {
	l.cuts.mu.Lock()
	defer l.cuts.mu.Unlock()
	if l.cuts.lowest >= o {
		l.cuts.some = false
	}
}

// Cleaning is a log as compaction sees it: the segments at one moment, and the doors through which cleaned ones come in.
// It belongs to one goroutine; appends, reads and everything else go on beside it.
type Cleaning struct {
	l *Log
	// Sealed are the segments below the active one, oldest first; ActiveBase is where that begins.
	Sealed     []*segment.Segment
	ActiveBase record.Offset
	Offsets    Offsets
	Config     Config
	cuts       int64
}

// Cleaning returns a view for compaction.
func (l *Log) Cleaning() *Cleaning {
	c := &Cleaning{l: l, Config: l.Config(), cuts: l.cuts.seen()}
	c.Offsets = l.Offsets()
	list := l.list() // after the offsets, so that what is stable lies in it
	c.Sealed, c.ActiveBase = list[:len(list)-1], list[len(list)-1].Base()
	return c
}

// Err tells whether to go on: nil, ErrCleaningOutdated after a truncation, ErrClosed, or the log's failure.
func (c *Cleaning) Err() error {
	if c.l.cuts.seen() != c.cuts {
		return ErrCleaningOutdated
	}
	return c.l.unusable()
}

// Aborted returns the aborted transactions that overlap from … to-1, as the indexes of the segments from the one that
// holds from on tell. It looks at the log as it is now, the active segment included: the marker may be there.
func (c *Cleaning) Aborted(from, to record.Offset) ([]index.AbortedTxn, error) {
	list := c.l.list()
	var all []index.AbortedTxn
	for _, s := range list[max(0, floor(list, from)):] {
		found, complete, err := s.Aborted(from, to)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
		if complete {
			break
		}
	}
	return all, nil
}

// Producers returns the newest state of every producer: what the log remembers of them must survive.
func (c *Cleaning) Producers() []producer.Entry { return c.l.Producers() }

// Create makes an empty segment to write into. It is not part of the log, and a start removes it.
func (c *Cleaning) Create(base record.Offset) (*segment.Segment, error) {
	o := c.l.segmentOptions(base)
	o.State, o.PreallocateBytes = segment.CleanedSuffix, 0
	return segment.Create(o)
}

// Failed takes the log offline because writing a cleaned segment failed, unless there only was no room for it (LOG-9),
// which has harmed nothing.
func (c *Cleaning) Failed(doing string, cause error) error {
	if errors.Is(cause, fs.ErrClosed) {
		return storageError(cause)
	}
	defer c.l.tell()
	return c.l.failUnlessShort(doing, cause)
}

// Replace puts fresh, sealed and synced segments of Create, in the place of old ones, which must follow each other in the
// log (LocalLog.replaceSegments). A crash at any moment leaves either all old segments or all fresh ones:
//
//  1. The fresh ones are renamed to .swap, from the highest base down, and the directory synced. A start that finds a
//     .cleaned among them discards them, otherwise it goes on here.
//  2. Readers see the fresh ones; the old ones are renamed to .deleted, oldest first, and unlinked later.
//  3. The fresh ones get their final names, from the lowest base up, and the directory is synced.
//
// After an error other than a failure of the disk the log is as it was and the fresh segments are gone.
func (c *Cleaning) Replace(fresh, old []*segment.Segment) error {
	l := c.l
	defer l.tell()
	l.flushing.Lock()
	defer l.flushing.Unlock()
	if err := c.stillThere(old); err != nil {
		return errors.Join(err, discard(fresh))
	}
	for _, s := range slices.Backward(fresh) {
		if err := s.SetState(segment.SwapSuffix); err != nil {
			return l.failUnlessShort("swapping in a compacted segment", errors.Join(err, discard(fresh)))
		}
	}
	if err := l.o.FS.SyncDir(l.Dir()); err != nil {
		return l.fail("fsync of the directory", err)
	}
	if err := c.swap(fresh, old); err != nil {
		if errors.Is(err, ErrCleaningOutdated) {
			err = errors.Join(err, discard(fresh))
		}
		return err
	}
	if err := l.o.FS.SyncDir(l.Dir()); err != nil {
		return l.fail("fsync of the directory", err)
	}
	return nil
}

func discard(list []*segment.Segment) error {
	var err error
	for _, s := range list {
		err = errors.Join(err, s.Discard())
	}
	return err
}

func (c *Cleaning) stillThere(old []*segment.Segment) error {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	_, err := c.placeLocked(old)
	return err
}

// placeLocked returns where the old segments are in the list. They are sealed: the active one follows them.
func (c *Cleaning) placeLocked(old []*segment.Segment) (int, error) {
	if err := c.l.usableLocked(); err != nil {
		return 0, err
	}
	list := c.l.list()
	i := slices.Index(list, old[0])
	if i < 0 || i+len(old) >= len(list) || !slices.Equal(list[i:i+len(old)], old) || c.l.cuts.seen() != c.cuts {
		return 0, ErrCleaningOutdated
	}
	return i, nil
}

// swap does what readers must not see half of. Only renames happen under the lock.
func (c *Cleaning) swap(fresh, old []*segment.Segment) error {
	l := c.l
	l.mu.Lock()
	defer l.mu.Unlock()
	i, err := c.placeLocked(old)
	if err != nil {
		return err
	}
	list := l.list()
	for j, s := range fresh {
		s.SetUpper(list[i+len(old)].Base())
		if j > 0 {
			fresh[j-1].SetUpper(s.Base())
		}
	}
	l.setList(slices.Concat(list[:i], fresh, list[i+len(old):]))
	l.forgetPlacesLocked(old[0].Base(), list[i+len(old)].Base())
	kept := map[record.Offset]bool{}
	for _, s := range fresh {
		kept[s.Base()] = true
	}
	if err := l.retireLocked(old, func(base record.Offset) bool { return kept[base] }); err != nil {
		return err
	}
	for _, s := range fresh {
		if err := s.SetState(""); err != nil {
			return l.fail("swapping in a compacted segment", err)
		}
	}
	return nil
}

// forgetPlacesLocked makes marks that point into segments with bases from … to-1 be looked up again.
func (l *Log) forgetPlacesLocked(from, to record.Offset) {
	if m := l.hw.Load(); m != nil && m.base >= from && m.base < to {
		l.hw.CompareAndSwap(m, at(m.offset))
	}
	if m := l.unstable.Load(); m != nil && m.base >= from && m.base < to {
		l.unstable.CompareAndSwap(m, at(m.offset))
	}
}

// retireLocked renames the files of segments that are no longer in the list, and the producer snapshots at their bases
// unless one is to be kept, and has them unlinked after file.delete.delay.ms.
func (l *Log) retireLocked(drop []*segment.Segment, keepSnapshot func(base record.Offset) bool) error {
	var paths []string
	for _, s := range drop {
		renamed, err := s.MarkDeleted()
		paths = append(paths, renamed...)
		if err == nil && !keepSnapshot(s.Base()) {
			var snapshot string
			if snapshot, err = l.snapshots.MarkDeleted(s.Base()); snapshot != "" {
				paths = append(paths, snapshot)
			}
		}
		if err != nil {
			return l.fail("deleting a segment", err)
		}
	}
	gone := slices.Clone(drop)
	l.o.Delay(time.Duration(l.config.Load().FileDeleteDelayMs)*time.Millisecond, func() { l.unlink(gone, paths) })
	return nil
}
