package storage

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/index"
	"github.com/samsalog/samsa/storage/producer"
	"pgregory.net/rapid"
)

// modelBatch is one batch as the model remembers it.
type modelBatch struct {
	base, last record.Offset
	timestamps []int64
	id         record.ProducerID
	epoch      record.ProducerEpoch
	first      record.Sequence
	txn        bool
	marker     bool
	aborts     bool
}

// model is what a Log should be: a slice of batches and four numbers.
type model struct {
	*world
	t       *rapid.T
	log     *Log
	batches []modelBatch
	start   record.Offset
	hw      record.Offset
	end     record.Offset
	// next is the sequence with which each producer goes on.
	next map[record.ProducerID]record.Sequence
	// gone are batches that retention removed: producers go on where they were.
	gone []modelBatch
	// holes: offsets were left out.
	holes bool
	// flushed is the log end at the last flush.
	flushed record.Offset
}

func newModel(t *rapid.T, tb testing.TB) *model {
	m := &model{world: newWorld(tb), t: t, next: map[record.ProducerID]record.Sequence{}}
	c := &m.config
	c.SegmentBytes = rapid.IntRange(400, 6000).Draw(t, "segment.bytes")
	c.IndexIntervalBytes = rapid.IntRange(0, 400).Draw(t, "index.interval.bytes")
	c.SegmentIndexBytes = rapid.SampledFrom([]int{24, 100, 4096}).Draw(t, "segment.index.bytes")
	c.Preallocate = rapid.Bool().Draw(t, "preallocate")
	c.SegmentMs = rapid.SampledFrom([]int64{50, 1 << 40}).Draw(t, "segment.ms")
	c.FlushMessages = rapid.SampledFrom([]int64{1, 10, 1 << 60}).Draw(t, "flush.messages")
	c.RetentionMs = -1
	c.FileDeleteDelayMs = 1000
	m.log = m.open(func(o *Options) { o.SkipTxnVerification = true })
	return m
}

// cutTo forgets everything from o on.
func (m *model) cutTo(o record.Offset) {
	m.end = o
	if i := slices.IndexFunc(m.batches, func(b modelBatch) bool { return b.last >= o }); i >= 0 {
		m.end = min(o, m.batches[i].base)
		m.batches = m.batches[:i]
	}
	m.hw, m.start, m.flushed = min(m.hw, m.end), min(m.start, m.end), min(m.flushed, m.end)
	m.learn()
}

// learn derives where each producer goes on from the batches.
func (m *model) learn() {
	clear(m.next)
	for _, b := range append(slices.Clone(m.gone), m.batches...) {
		if b.id >= 0 && !b.marker {
			m.next[b.id] = b.first.Add(int32(len(b.timestamps)))
		}
	}
}

func (m *model) appendPlain(t *rapid.T) {
	codec := rapid.SampledFrom([]record.Codec{record.None, record.LZ4, record.Zstd}).Draw(t, "codec")
	ts := rapid.SliceOfN(rapid.Int64Range(startMs, startMs+200), 1, 12).Draw(t, "timestamps")
	b := stamped(codec, ts...)
	if len(b) > m.config.SegmentBytes {
		return
	}
	m.appended(t, b, AppendOptions{LeaderEpoch: 0}, modelBatch{timestamps: ts, id: -1})
}

func (m *model) appended(t *rapid.T, b []byte, o AppendOptions, x modelBatch) {
	info, err := m.log.Append(b, o)
	if err != nil {
		t.Fatalf("append: %v", err)
	}
	n := record.Offset(len(x.timestamps))
	if info.FirstOffset != m.end || info.LastOffset != m.end+n-1 || info.Duplicate {
		t.Fatalf("append of %d records at %d gave %+v", n, m.end, info)
	}
	x.base, x.last = info.FirstOffset, info.LastOffset
	m.batches = append(m.batches, x)
	m.end += n
	if synced := m.log.SyncedOffset(); synced > m.end || int64(m.end-synced) >= m.config.FlushMessages || synced < m.log.RecoveryPoint() {
		t.Fatalf("fsynced to %d, recovery point %d, log end %d, flush.messages %d", synced, m.log.RecoveryPoint(), m.end, m.config.FlushMessages)
	}
	m.flushed = max(m.flushed, m.log.RecoveryPoint())
}

// appendIdempotent sends a producer's next batch, or one of its last five again.
func (m *model) appendIdempotent(t *rapid.T) {
	id := record.ProducerID(rapid.IntRange(1, 4).Draw(t, "pid"))
	n := rapid.IntRange(1, 5).Draw(t, "n")
	txn := id > 2
	p := from{id: id, seq: m.next[id], transactional: txn}
	ts := slices.Repeat([]int64{startMs}, n)
	x := modelBatch{timestamps: ts, id: id, first: p.seq, txn: txn}
	m.appended(t, p.batch(n), AppendOptions{LeaderEpoch: 0}, x)
	m.next[id] = p.seq.Add(int32(n))
}

// repeat sends batches of one producer again: the last five are duplicates, earlier ones are refused.
func (m *model) repeat(t *rapid.T) {
	id := record.ProducerID(rapid.IntRange(1, 4).Draw(t, "pid"))
	age := 0
	for i := len(m.batches) - 1; i >= 0; i-- {
		b := m.batches[i]
		if b.id != id || b.marker || b.last < m.log.list()[0].Base() {
			continue
		}
		p := from{id: id, seq: b.first, transactional: b.txn}
		info, err := m.log.Append(p.batch(len(b.timestamps)), AppendOptions{LeaderEpoch: 0})
		if age++; age <= 5 {
			if err != nil || !info.Duplicate || info.FirstOffset != b.base || info.LastOffset != b.last {
				t.Fatalf("batch %d from the end of producer %d again, at %d..%d, sequence %d: %+v, %v", age, id, b.base, b.last, b.first, info, err)
			}
		} else if !errors.Is(err, producer.ErrOutOfOrderSequence) {
			t.Fatalf("batch %d from the end again: %+v, %v", age, info, err)
		} else {
			return
		}
	}
}

func (m *model) endTxn(t *rapid.T) {
	id := record.ProducerID(rapid.IntRange(3, 4).Draw(t, "pid"))
	kind := rapid.SampledFrom([]record.ControlType{record.ControlAbort, record.ControlCommit}).Draw(t, "marker")
	m.appended(t, from{id: id}.marker(kind, 1), AppendOptions{Origin: Coordinator, LeaderEpoch: 0},
		modelBatch{timestamps: []int64{startMs}, id: id, marker: true, aborts: kind == record.ControlAbort})
}

// replicate appends a batch with a gap before it.
func (m *model) replicate(t *rapid.T) {
	gap := record.Offset(rapid.IntRange(0, 9).Draw(t, "gap"))
	b := record.Batch(batchOf(startMs, "a", "b"))
	b.SetBaseOffset(m.end + gap)
	b.SetLeaderEpoch(0)
	if _, err := m.log.Append(b, AppendOptions{Origin: Replication, LeaderEpoch: record.NoLeaderEpoch}); err != nil {
		t.Fatal(err)
	}
	m.batches = append(m.batches, modelBatch{base: m.end + gap, last: m.end + gap + 1, timestamps: []int64{startMs, startMs}, id: -1})
	m.holes = m.holes || gap > 0
	m.end += gap + 2
	m.flushed = max(m.flushed, m.log.RecoveryPoint())
}

func (m *model) raise(t *rapid.T) {
	o := record.Offset(rapid.Int64Range(0, int64(m.end)+2).Draw(t, "hw"))
	if m.hw = max(m.hw, min(o, m.end)); m.log.SetHighWatermark(o) != m.hw {
		t.Fatalf("high watermark %d after raising to %d, want %d", m.log.HighWatermark(), o, m.hw)
	}
}

func (m *model) roll(t *rapid.T) {
	if err := m.log.Roll(); err != nil {
		t.Fatal(err)
	}
}

func (m *model) flush(t *rapid.T) {
	if err := m.log.Flush(m.end); err != nil || m.log.RecoveryPoint() != m.end {
		t.Fatalf("flush: %v, recovery point %d of %d", err, m.log.RecoveryPoint(), m.end)
	}
	m.flushed = m.end
}

func (m *model) time(*rapid.T) {
	m.pass(500 * time.Millisecond)
	m.flushed = max(m.flushed, m.log.RecoveryPoint())
}

func (m *model) truncate(t *rapid.T) {
	o := record.Offset(rapid.Int64Range(0, int64(m.end)+1).Draw(t, "to"))
	first := m.log.list()[0].Base()
	if err := m.log.TruncateTo(o); err != nil {
		t.Fatal(err)
	}
	if o < m.end {
		if o < first { // nothing is left of the log
			m.gone, m.batches = nil, nil
		}
		m.cutTo(o)
	}
}

func (m *model) restart(t *rapid.T) {
	if rapid.IntRange(0, 5).Draw(t, "really") > 0 {
		return
	}
	o := m.end + record.Offset(rapid.IntRange(0, 5).Draw(t, "ahead"))
	if err := m.log.TruncateFullyAndStartAt(o); err != nil {
		t.Fatal(err)
	}
	m.gone, m.batches, m.start, m.hw, m.end, m.flushed = nil, nil, o, o, o, o
	m.learn()
}

func (m *model) deleteRecords(t *rapid.T) {
	o := record.Offset(rapid.Int64Range(0, int64(m.hw)).Draw(t, "start"))
	if err := m.log.DeleteRecords(o); err != nil {
		t.Fatal(err)
	}
	m.start = max(m.start, o)
	m.flushed = max(m.flushed, m.start)
	if _, err := m.log.DeleteOldSegments(); err != nil {
		t.Fatal(err)
	}
	first := m.log.list()[0].Base()
	for len(m.batches) > 0 && m.batches[0].last < first {
		m.gone, m.batches = append(m.gone, m.batches[0]), m.batches[1:]
	}
	if bases := m.log.Segments(); len(bases) > 1 && bases[1].BaseOffset <= m.start {
		t.Fatalf("log starts at %d, segments %+v", m.start, bases)
	}
}

// reopen closes or kills, and opens again. Killing leaves the files as they are, since the host lives on; the recovery point
// may be any that was true once.
func (m *model) reopen(t *rapid.T) {
	o := m.options()
	o.LogStartOffset, o.SkipTxnVerification = m.start, true
	stored := m.log.active().Base() // the end as far as files tell
	if n := len(m.batches); n > 0 {
		stored = max(stored, m.batches[n-1].last+1)
	}
	if o.Clean = rapid.Bool().Draw(t, "clean"); o.Clean {
		m.close(m.log)
		o.RecoveryPoint = m.end
	} else {
		// A hole between segments above the recovery point would be taken for lost records, rightly.
		if m.holes {
			m.flush(t)
		}
		m.log.Abandon()
		m.tasks = nil
		o.RecoveryPoint = record.Offset(rapid.Int64Range(0, int64(m.flushed)).Draw(t, "recovery point"))
		if m.flushed > 0 && (m.holes || rapid.Bool().Draw(t, "exact")) {
			o.RecoveryPoint = m.flushed
		}
	}
	var err error
	m.events = nil
	if m.log, err = Open(o); err != nil {
		t.Fatalf("open: %v", err)
	}
	for _, e := range m.events {
		padding := e.Kind == TailCut && m.config.Preallocate
		behind := e.Kind == SegmentsDropped && stored < m.start
		if e.Kind != Recovering && e.Kind != LeftoverRemoved && !padding && !behind {
			t.Fatalf("nothing was damaged, but: %v", e)
		}
	}
	m.hw = m.start
	if m.end < m.start {
		t.Fatal("the model is wrong")
	}
	if stored < m.start { // the log ended before its start, so it began anew
		m.gone, m.batches = nil, nil
	}
	last := max(m.start, stored)
	m.end = m.log.LogEndOffset() // a gap at the end is not stored
	if m.end < last {
		t.Fatalf("log end %d after reopening, the last record was %d", m.end, last-1)
	}
	m.flushed = m.log.RecoveryPoint()
	if !o.Clean && m.flushed > max(o.RecoveryPoint, m.start) {
		t.Fatalf("recovery raised the recovery point from %d to %d (LOG-5)", o.RecoveryPoint, m.flushed)
	}
	m.log.SetHighWatermark(m.end)
	m.hw = m.end
}

func (m *model) read(t *rapid.T) {
	start := record.Offset(rapid.Int64Range(-1, int64(m.end)+1).Draw(t, "start"))
	iso := Isolation(rapid.IntRange(0, 2).Draw(t, "iso"))
	maxBytes := rapid.SampledFrom([]int{0, 1, 100, 500, 1 << 20}).Draw(t, "max")
	minOne := rapid.Bool().Draw(t, "minOne")
	info, err := m.log.Read(start, iso, maxBytes, minOne)
	if start < m.start || start > m.end {
		if !errors.Is(err, ErrOffsetOutOfRange) {
			t.Fatalf("read at %d of %d..%d: %v", start, m.start, m.end, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("read at %d: %v", start, err)
	}
	bound := []record.Offset{m.end, m.hw, m.stable()}[iso]
	i := slices.IndexFunc(m.batches, func(b modelBatch) bool { return b.last >= start })
	want := i >= 0 && start < bound && m.batches[i].base < bound
	got, size := m.regionBatches(t, &info)
	if !want {
		if size != 0 {
			t.Fatalf("read at %d below %d gave %d bytes", start, bound, size)
		}
		return
	}
	if size == 0 {
		if minOne && !(m.batches[i].last >= bound) {
			t.Fatalf("read at %d below %d gave nothing", start, bound)
		}
		return
	}
	if len(got) > 1 && size > maxBytes {
		t.Fatalf("%d bytes of %d batches, at most %d were asked for", size, len(got), maxBytes)
	}
	for k, h := range got {
		b := m.batches[i+k]
		if h.BaseOffset != b.base || h.LastOffset() != b.last || h.LastOffset() >= bound {
			t.Fatalf("read at %d below %d: batch %d is %d..%d, want %d..%d", start, bound, k, h.BaseOffset, h.LastOffset(), b.base, b.last)
		}
	}
	if iso == TxnCommitted {
		m.checkAborted(t, start, got[len(got)-1].LastOffset(), &info)
	}
}

// regionBatches parses a region and releases it.
func (m *model) regionBatches(t *rapid.T, info *ReadInfo) ([]record.Header, int) {
	size := info.Region.Length
	buf := make([]byte, size)
	if err := info.Region.ReadInto(buf); err != nil {
		t.Fatal(err)
	}
	info.Region.Release()
	var out []record.Header
	sc := record.NewScanner(buf)
	for sc.Next() {
		out = append(out, sc.Batch().Header())
	}
	if sc.Err() != nil || len(sc.Rest()) > 0 {
		t.Fatalf("%d bytes are no sequence of batches: %v, %d left", size, sc.Err(), len(sc.Rest()))
	}
	return out, size
}

// stable is the last stable offset: where the first undecided transaction begins, decided meaning that the marker is
// committed.
func (m *model) stable() record.Offset {
	open := map[record.ProducerID]record.Offset{}
	stable := m.hw
	for _, b := range append(slices.Clone(m.gone), m.batches...) {
		switch {
		case b.marker:
			if first, ok := open[b.id]; ok && b.base >= m.hw && b.base >= m.start {
				stable = min(stable, first)
			}
			delete(open, b.id)
		case b.txn:
			if _, ok := open[b.id]; !ok {
				open[b.id] = b.base
			}
		}
	}
	for _, first := range open {
		stable = min(stable, first)
	}
	return max(stable, m.start)
}

// checkAborted expects the aborted transactions that overlap start … last; more are allowed.
func (m *model) checkAborted(t *rapid.T, start, last record.Offset, info *ReadInfo) {
	if info.Aborted == nil {
		t.Fatal("the list of aborted transactions is nil")
	}
	open := map[record.ProducerID]record.Offset{}
	for _, b := range append(slices.Clone(m.gone), m.batches...) {
		switch {
		case b.marker:
			first, ok := open[b.id]
			delete(open, b.id)
			if !ok || !b.aborts || b.base < start || first > last {
				continue
			}
			if !slices.ContainsFunc(info.Aborted, func(a index.AbortedTxn) bool {
				return a.ProducerID == b.id && a.FirstOffset == first && a.LastOffset == b.base
			}) {
				t.Fatalf("read of %d..%d does not tell of the transaction of %d from %d aborted at %d: %+v", start, last, b.id, first, b.base, info.Aborted)
			}
		case b.txn:
			if _, ok := open[b.id]; !ok {
				open[b.id] = b.base
			}
		}
	}
}

func (m *model) timestamps(t *rapid.T) {
	ts := rapid.Int64Range(startMs-1, startMs+201).Draw(t, "ts")
	want, largest := TimestampOffset{Offset: -1}, TimestampOffset{Timestamp: -1, Offset: -1}
	first := m.log.list()[0].Base()
	for _, b := range m.batches {
		for i, x := range b.timestamps {
			o := b.base + record.Offset(i)
			if x >= ts && o >= m.start && want.Offset < 0 {
				want = TimestampOffset{Timestamp: x, Offset: o}
			}
			if x > largest.Timestamp && b.last >= first {
				largest = TimestampOffset{Timestamp: x, Offset: o}
			}
		}
	}
	got, ok, err := m.log.OffsetForTimestamp(ts)
	if err != nil || ok != (want.Offset >= 0) || ok && (got.Offset != want.Offset || got.Timestamp != want.Timestamp) {
		t.Fatalf("offset for timestamp %d: %+v, %v, %v, want %+v", ts, got, ok, err, want)
	}
	got, ok, err = m.log.MaxTimestampOffset()
	if err != nil || ok != (largest.Offset >= 0) || ok && (got.Offset != largest.Offset || got.Timestamp != largest.Timestamp) {
		t.Fatalf("offset of the largest timestamp: %+v, %v, %v, want %+v", got, ok, err, largest)
	}
}

// check compares what can be seen at any time.
func (m *model) check(t *rapid.T) {
	if m.log.Err() != nil || len(m.failed) > 0 {
		t.Fatalf("the log has failed: %v", m.log.Err())
	}
	got := m.log.Offsets()
	want := Offsets{LogStartOffset: m.start, LastStableOffset: max(m.start, min(m.hw, m.stable())), HighWatermark: max(m.hw, m.start), LogEndOffset: m.end}
	if got != want {
		t.Fatalf("offsets %+v, want %+v", got, want)
	}
	var bases []string
	for i, s := range m.log.list() {
		bases = append(bases, fmt.Sprint(s.Base()))
		if i > 0 && s.Base() <= m.log.list()[i-1].Base() {
			t.Fatalf("segments %v (LOG-3)", bases)
		}
	}
}

func TestModel(t *testing.T) {
	longtest.Check(t, 400, 20000, func(rt *rapid.T) {
		m := newModel(rt, t)
		defer m.log.Abandon()
		rt.Repeat(map[string]func(*rapid.T){
			"append": m.appendPlain, "idempotent": m.appendIdempotent, "again": m.repeat, "marker": m.endTxn, "replicate": m.replicate,
			"high watermark": m.raise, "roll": m.roll, "flush": m.flush, "time": m.time, "truncate": m.truncate, "restart": m.restart,
			"delete records": m.deleteRecords, "reopen": m.reopen, "read": m.read, "timestamps": m.timestamps, "": m.check,
		})
	})
}
