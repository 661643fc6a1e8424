package storage

import (
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/epoch"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/storage/segment"
)

// Log is one partition's log.
type Log struct {
	o       Options // Dir, Config and the offsets in it are those it was opened with
	topicID record.UUID
	dir     atomic.Pointer[string]
	config  atomic.Pointer[Config]

	// What readers see. segments is never empty and ordered by base; a change stores a new list.
	segments atomic.Pointer[[]*segment.Segment]
	// end is the log end, hw the high watermark; both only by Append, SetHighWatermark and truncation.
	end, hw atomic.Pointer[mark]
	// unstable is where the earliest undecided transaction begins, nil: there is none.
	unstable atomic.Pointer[mark]
	// unreplicated is how many transactions wait for the high watermark to pass their marker.
	unreplicated atomic.Int64
	logStart     atomic.Int64
	// recoveryPoint rises by flushing and falls by truncation only, under flushing and mu.
	recoveryPoint atomic.Int64
	// synced is up to where the records were fsynced without all else that the recovery point stands for; changed with it.
	synced      atomic.Int64
	lastFlushMs atomic.Int64

	epochs    *epoch.Cache
	snapshots *producer.Snapshots
	cuts      cuts // what truncation tells compaction
	held      atomic.Pointer[HeldSegment]

	// failure is the first failed write or fsync (LOG-4).
	failure  atomic.Pointer[failure]
	failOnce sync.Once
	// pending are events that wait for the end of the call that caused them.
	pending struct {
		sync.Mutex
		some   atomic.Bool
		events []Event
	}

	// flushing is held by whoever fsyncs, so that others find their data synced already; before mu.
	flushing sync.Mutex
	// indexed is how far the last flush of everything went; flushing guards it.
	indexed mark
	commits commits
	mu      struct {
		sync.Mutex
		closed    bool
		producers *producer.State
		// unsaved are snapshots that were taken at rolls and are not written yet.
		unsaved []unsaved
		// jitterMs is subtracted from segment.ms for the active segment.
		jitterMs int64
		// expiredMs is when idle producers were looked for last.
		expiredMs int64
	}
}

// mark is an offset, a batch boundary, with its place in the files.
type mark struct {
	offset record.Offset
	// base is the base of the segment that holds offset, or would; position is where its batch begins there. Both are -1
	// until they are looked up.
	base     record.Offset
	position int64
}

// at is a mark whose place is not known.
func at(o record.Offset) *mark { return &mark{offset: o, base: record.NoOffset, position: -1} }

// endOf is the mark behind the last batch of s.
func endOf(s *segment.Segment, next record.Offset) *mark {
	return &mark{offset: next, base: s.Base(), position: s.Size()}
}

// TopicPartition is the partition.
func (l *Log) TopicPartition() record.TopicPartition { return l.o.TopicPartition }

// TopicID is what partition.metadata says; zero if there is none.
func (l *Log) TopicID() record.UUID { return l.topicID }

// Dir is the directory's current path.
func (l *Log) Dir() string { return *l.dir.Load() }

// Config is what is in force.
func (l *Log) Config() Config { return *l.config.Load() }

// SetConfig puts other settings in force, from the next append or retention on.
func (l *Log) SetConfig(c Config) { l.config.Store(&c) }

func (l *Log) list() []*segment.Segment { return *l.segments.Load() }

func (l *Log) setList(list []*segment.Segment) { l.segments.Store(&list) }

func (l *Log) active() *segment.Segment {
	list := l.list()
	return list[len(list)-1]
}

func (l *Log) nowMs() int64 { return l.o.Now().UnixMilli() }

func (l *Log) path(name string) string { return filepath.Join(l.Dir(), name) }

// segmentOptions is what segments of this log are made of.
func (l *Log) segmentOptions(base record.Offset) segment.Options {
	c := l.config.Load()
	o := segment.Options{FS: l.o.FS, Handles: l.o.Handles, Dir: l.Dir(), Base: base, IndexBytes: c.SegmentIndexBytes,
		IndexInterval: c.IndexIntervalBytes, NowMs: l.nowMs(), Rebuilt: l.rebuilt}
	if c.Preallocate {
		o.PreallocateBytes = int64(c.SegmentBytes)
	}
	return o
}

func (l *Log) rebuilt(path string, cause error) {
	l.event(Event{Kind: IndexRebuilt, File: path, Err: cause})
}

// SizeInBytes is the size of all `.log` files.
func (l *Log) SizeInBytes() int64 {
	sum := int64(0)
	for _, s := range l.list() {
		sum += s.Size()
	}
	return sum
}

// Segments describes the segments, oldest first. The time of change is zero for one that is just being deleted.
func (l *Log) Segments() []SegmentInfo {
	end := l.LogEndOffset()
	list := l.list()
	out := make([]SegmentInfo, len(list))
	for i, s := range list {
		out[i] = SegmentInfo{BaseOffset: s.Base(), NextBaseOffset: end, SizeInBytes: s.Size(), Path: s.Path(), Active: i == len(list)-1}
		if i+1 < len(list) {
			out[i].NextBaseOffset = list[i+1].Base()
		}
		out[i].ModTime, _ = s.ModTime()
	}
	return out
}

// Producers returns the newest state of every producer known, by rising id.
func (l *Log) Producers() []producer.Entry {
	l.mu.Lock()
	entries := l.mu.producers.Entries()
	l.mu.Unlock()
	producer.Sort(entries)
	return entries
}

// StartVerification returns the guard that must come with the append of a transactional batch, once the coordinator has
// confirmed that the partition belongs to the transaction (KIP-890); producer.NoGuard if the transaction is open here
// already. first is the batch's sequence, epochBumps tells that the client speaks transaction version 2.
func (l *Log) StartVerification(id record.ProducerID, first record.Sequence, e record.ProducerEpoch, epochBumps bool) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.producers.StartVerification(id, first, e, epochBumps, l.nowMs())
}

// ExpireProducers forgets idle producers and returns how many; appending does it too, now and then.
func (l *Log) ExpireProducers() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.expiredMs = l.nowMs()
	return l.mu.producers.Expire(l.mu.expiredMs)
}

// expiryCheck is Kafka's producer.id.expiration.check.interval.ms.
const expiryCheck = 10 * time.Minute

func (l *Log) maybeExpireLocked(nowMs int64) {
	if nowMs-l.mu.expiredMs >= expiryCheck.Milliseconds() {
		l.mu.expiredMs = nowMs
		l.mu.producers.Expire(nowMs)
	}
}
