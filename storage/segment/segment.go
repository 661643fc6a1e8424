package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/index"
	"github.com/samsalog/samsa/vfs"
)

// maxRelative is the largest distance of an offset from its segment's base.
const maxRelative = 1<<31 - 1

// MaxSize is the largest possible `.log`: positions are int32.
const MaxSize = 1<<31 - 1

// Options is what a segment is made of.
type Options struct {
	FS      vfs.FS
	Handles *vfs.Handles
	Dir     string
	Base    record.Offset
	// State is a second suffix of all names: CleanedSuffix while compaction writes the segment; see SetState.
	State string
	// IndexBytes bounds each index (segment.index.bytes); IndexInterval is how much log an entry stands for when indexes
	// are made anew.
	IndexBytes, IndexInterval int
	// PreallocateBytes is how long a new `.log` is made at once; 0: it grows.
	PreallocateBytes int64
	// NowMs is the time of creation or opening, from which the age of a segment without timestamps counts.
	NowMs int64
	// Rebuilt is told, outside of every lock, that a reader found the indexes beside path wrong and made them anew; may
	// be nil.
	Rebuilt func(path string, cause error)
}

// Segment is one `.log` with its indexes.
type Segment struct {
	o    Options // Dir and State may change by renaming; the rest does not
	log  *vfs.Handle
	give func() // log.Release

	// size is the number of bytes that hold batches. The file may be longer: preallocation, or a write that failed.
	size atomic.Int64
	// dirty: the log was changed since the last Sync.
	dirty atomic.Bool
	// upper is above all offsets of the segment: the next one's base, or nothing yet.
	upper atomic.Int64
	// The indexes are replaced when one is rebuilt or made writable again.
	offsets atomic.Pointer[index.Offset]
	times   atomic.Pointer[index.Time]
	txns    *index.Txn

	largest struct {
		sync.Mutex
		known bool
		// ts is the largest timestamp in ms, -1 none; off the last offset of the first batch that has it (SEG-3).
		ts  int64
		off record.Offset
	}
	// remake is held by a reader that makes indexes anew. heal guards what the writer must not change meanwhile: the first
	// look at a sealed time index, and swapping in new indexes.
	remake, heal sync.Mutex
	// active: appended to; written by the writer. Only sealed segments are healed.
	active atomic.Bool
	// unchanged: nothing was written since Activate took over the files as an orderly end had left them.
	unchanged atomic.Bool

	// Only the writer uses these.
	sinceIndex int64 // bytes since the last index entry
	createdMs  int64
	// firstTimestamp is the maximum timestamp of the first batch; -1 none, unread before it is asked for.
	firstTimestamp int64
	firstKnown     bool
}

// Create makes an empty active segment, replacing files that stand there.
func Create(o Options) (*Segment, error) {
	s := newSegment(o, true)
	if err := o.FS.Remove(s.path(TxnIndexSuffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	log, err := o.Handles.Open(s.path(LogSuffix), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	s.setLog(log)
	if err := s.fill(); err != nil {
		if drop := s.Discard(); drop != nil {
			return nil, fmt.Errorf("removing an unfinished segment (%v): %w", err, drop)
		}
		return nil, err
	}
	s.largest.known, s.largest.ts, s.largest.off = true, record.NoTimestamp, o.Base
	return s, nil
}

// fill makes the empty indexes of a new segment.
func (s *Segment) fill() error {
	if s.o.PreallocateBytes > 0 {
		if err := s.withFile(func(f vfs.File) error { return f.Truncate(s.o.PreallocateBytes) }); err != nil {
			return err
		}
	}
	return s.createIndexes()
}

func (s *Segment) createIndexes() error {
	offsets, err := index.CreateOffset(s.o.Handles, s.path(OffsetIndexSuffix), s.o.Base, s.o.IndexBytes)
	if err != nil {
		return err
	}
	s.offsets.Store(offsets)
	times, err := index.CreateTime(s.o.Handles, s.path(TimeIndexSuffix), s.o.Base, s.o.IndexBytes)
	if err != nil {
		return err
	}
	s.times.Store(times)
	return nil
}

// Open takes over existing files, of which the log is size bytes long. Nothing is opened or read (SEG-5).
func Open(o Options, size int64) (*Segment, error) {
	if size > MaxSize {
		return nil, fmt.Errorf("%s is %d bytes long, a segment has at most %d", FileName(o.Base, LogSuffix), size, MaxSize)
	}
	s := newSegment(o, false)
	s.setLog(o.Handles.Lazy(s.path(LogSuffix), os.O_RDWR))
	s.size.Store(size)
	if err := s.openIndexes(false); err != nil {
		return nil, err
	}
	return s, nil
}

func newSegment(o Options, active bool) *Segment {
	s := &Segment{o: o, createdMs: o.NowMs, firstTimestamp: record.NoTimestamp}
	s.active.Store(active)
	s.upper.Store(math.MaxInt64)
	s.txns, _ = index.OpenTxn(o.Handles, s.path(TxnIndexSuffix), o.Base) // cannot fail: nothing is opened
	return s
}

func (s *Segment) setLog(h *vfs.Handle) { s.log, s.give = h, h.Release }

func (s *Segment) openIndexes(active bool) error {
	offsets, err := index.OpenOffset(s.o.Handles, s.path(OffsetIndexSuffix), s.o.Base, s.o.IndexBytes, active)
	if err != nil {
		return err
	}
	times, err := index.OpenTime(s.o.Handles, s.path(TimeIndexSuffix), s.o.Base, s.o.IndexBytes, active)
	if err != nil {
		return err
	}
	s.swapIndexes(offsets, times)
	return nil
}

// swapIndexes replaces the indexes; readers that still hold an old one find it closed and ask again.
func (s *Segment) swapIndexes(offsets *index.Offset, times *index.Time) {
	if old := s.offsets.Swap(offsets); old != nil {
		_ = old.Close() // nothing unsaved matters: its content is being replaced or was sealed
	}
	if old := s.times.Swap(times); old != nil {
		_ = old.Close()
	}
}

func (s *Segment) path(suffix string) string {
	return filepath.Join(s.o.Dir, FileName(s.o.Base, suffix)+s.o.State)
}

// Base is the base offset, the smallest that the segment may hold.
func (s *Segment) Base() record.Offset { return s.o.Base }

// Size is the number of bytes of whole batches.
func (s *Segment) Size() int64 { return s.size.Load() }

// Path is the current path of the `.log`.
func (s *Segment) Path() string { return s.log.Name() }

// Unchanged reports whether the segment is as an orderly end has left it, so that it is durable with its indexes and its
// name, and ending it once more changes nothing.
func (s *Segment) Unchanged() bool { return s.unchanged.Load() }

// Fits reports whether an offset is within reach of the base (LOG-7).
func (s *Segment) Fits(o record.Offset) bool { return o >= s.o.Base && o-s.o.Base <= maxRelative }

// SetUpper tells that a segment with base o follows; math.MaxInt64: none does any more.
func (s *Segment) SetUpper(o record.Offset) { s.upper.Store(int64(o)) }

// holds reports whether a batch can be in this segment. Old logs may have one that is further from the base than an
// index entry can say (KAFKA-6264), if another segment follows.
func (s *Segment) holds(h *record.Header) bool {
	last, upper := h.LastOffset(), s.upper.Load()
	if upper == math.MaxInt64 {
		upper = int64(s.o.Base) + maxRelative + 1
	}
	return h.BaseOffset >= s.o.Base && last >= h.BaseOffset && int64(last) < upper
}

// ModTime is when the `.log` was changed last.
func (s *Segment) ModTime() (time.Time, error) {
	info, err := s.o.FS.Stat(s.Path())
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// withFile runs f with the open `.log`.
func (s *Segment) withFile(f func(vfs.File) error) error {
	file, err := s.log.Acquire()
	if err != nil {
		return err
	}
	defer s.log.Release()
	return f(file)
}

// Region returns length bytes from pos as something that can be sent.
func (s *Segment) Region(pos int64, length int) (vfs.Region, error) {
	file, err := s.log.Acquire()
	if err != nil {
		return vfs.Region{}, err
	}
	return vfs.NewRegion(file, pos, length, s.give), nil
}

// Sync makes the log and its indexes durable. It may run beside appends: what was appended before the call is covered.
func (s *Segment) Sync() error {
	if err := s.SyncLog(); err != nil {
		return err
	}
	return errors.Join(s.offsets.Load().Sync(), s.times.Load().Sync(), s.txns.Sync())
}

// SyncLog makes the log durable, its indexes not.
func (s *Segment) SyncLog() error {
	if !s.dirty.Swap(false) {
		return nil
	}
	err := s.withFile(vfs.File.Sync)
	if err != nil {
		s.dirty.Store(true)
	}
	return err
}

// Close gives all files up without writing. Regions stay readable until they are released.
func (s *Segment) Close() error {
	err := errors.Join(s.log.Close(), s.txns.Close())
	if x := s.offsets.Load(); x != nil {
		err = errors.Join(err, x.Close())
	}
	if x := s.times.Load(); x != nil {
		err = errors.Join(err, x.Close())
	}
	return err
}

// suffixes in the order in which files are renamed on deletion: a crash in between leaves indexes without log, which
// loading removes.
var suffixes = [...]string{LogSuffix, OffsetIndexSuffix, TimeIndexSuffix, TxnIndexSuffix}

// MarkDeleted renames the segment's files to `.deleted` and returns their paths. Readers go on.
func (s *Segment) MarkDeleted() ([]string, error) {
	s.heal.Lock()
	defer s.heal.Unlock()
	var paths []string
	for _, suffix := range suffixes {
		to := s.path(suffix) + DeletedSuffix
		err := s.o.FS.Rename(s.path(suffix), to)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return paths, err
		}
		paths = append(paths, to)
		s.renamed(suffix, to)
	}
	return paths, nil
}

func (s *Segment) renamed(suffix, path string) {
	switch suffix {
	case LogSuffix:
		s.log.Renamed(path)
	case OffsetIndexSuffix:
		s.offsets.Load().Renamed(path)
	case TimeIndexSuffix:
		s.times.Load().Renamed(path)
	case TxnIndexSuffix:
		s.txns.Renamed(path)
	}
}

// MovedTo tells that the directory is now called dir.
func (s *Segment) MovedTo(dir string) {
	s.heal.Lock()
	defer s.heal.Unlock()
	s.o.Dir = dir
	for _, suffix := range suffixes {
		s.renamed(suffix, s.path(suffix))
	}
}
