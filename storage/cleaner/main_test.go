package cleaner

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/index"
	"github.com/samsalog/samsa/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startMs is when test clocks begin: 2023-11-14.
const startMs = 1700000000000

var tp0 = record.TopicPartition{Topic: "t", Partition: 0}

const dir0 = "/data/t-0"

// world is a log with a cleaner, on a clock and a scheduler that do what they are told.
type world struct {
	t        testing.TB
	fs       vfs.FS
	handles  *vfs.Handles
	config   storage.Config
	settings Settings
	log      *storage.Log
	cleaner  *Cleaner
	saved    map[record.TopicPartition]record.Offset
	events   []Event
	failed   []error
	seq      map[record.ProducerID]record.Sequence

	mu    sync.Mutex
	now   time.Time
	tasks []task
}

type task struct {
	at time.Time
	f  func()
}

// newWorld has a compacted log with small segments, which is always dirty enough.
func newWorld(t testing.TB, fsys vfs.FS, change ...func(*storage.Config)) *world {
	w := &world{t: t, fs: fsys, handles: vfs.NewHandles(fsys, 64), now: time.UnixMilli(startMs), settings: DefaultSettings(),
		saved: map[record.TopicPartition]record.Offset{}, seq: map[record.ProducerID]record.Sequence{}}
	w.config = storage.DefaultConfig()
	w.config.CleanupCompact, w.config.CleanupDelete = true, false
	w.config.SegmentBytes, w.config.SegmentIndexBytes, w.config.IndexIntervalBytes = 1<<20, 1<<16, 100
	w.config.MinCleanableDirtyRatio, w.config.FileDeleteDelayMs = 0, 1000
	for _, f := range change {
		f(&w.config)
	}
	w.cleaner = New(Options{
		Settings: func() Settings { w.mu.Lock(); defer w.mu.Unlock(); return w.settings },
		Logs:     func() []*storage.Log { return []*storage.Log{w.log} },
		Alive:    func(l *storage.Log) bool { return l == w.log },
		FirstDirty: func(l *storage.Log) (record.Offset, bool) {
			w.mu.Lock()
			defer w.mu.Unlock()
			o, ok := w.saved[l.TopicPartition()]
			return o, ok
		},
		SaveFirstDirty: func(l *storage.Log, o record.Offset) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.saved[l.TopicPartition()] = o
			return nil
		},
		Now: w.clock,
		Observe: func(e Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e)
		},
	})
	return w
}

// start is newWorld with an open log in memory.
func start(t testing.TB, change ...func(*storage.Config)) *world {
	t.Helper()
	w := newWorld(t, vfs.NewMem(), change...)
	w.open()
	t.Cleanup(func() { w.cleaner.Close(); w.log.Abandon() })
	return w
}

func (w *world) options() storage.Options {
	return storage.Options{
		FS: w.fs, Handles: w.handles, Dir: dir0, TopicPartition: tp0, Config: w.config, Now: w.clock, Delay: w.delay,
		SkipTxnVerification: true, OnFailure: func(err error) { w.failed = append(w.failed, err) },
	}
}

func (w *world) open(change ...func(*storage.Options)) {
	w.t.Helper()
	o := w.options()
	for _, f := range change {
		f(&o)
	}
	var err error
	if w.log, err = storage.Open(o); err != nil {
		w.t.Fatal(err)
	}
	w.log.SetHighWatermark(w.log.LogEndOffset())
}

// reopen closes the log in order and opens it again.
func (w *world) reopen() {
	w.t.Helper()
	if err := w.log.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.tasks = nil
	w.open(func(o *storage.Options) { o.Clean = true })
}

func (w *world) setConfig(change func(*storage.Config)) {
	change(&w.config)
	w.log.SetConfig(w.config)
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) delay(d time.Duration, f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tasks = append(w.tasks, task{w.now.Add(d), f})
}

// pass lets time go by and runs what has become due.
func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	w.now = w.now.Add(d)
	var due []task
	w.tasks = slices.DeleteFunc(w.tasks, func(t task) bool {
		if t.at.After(w.now) {
			return false
		}
		due = append(due, t)
		return true
	})
	w.mu.Unlock()
	for _, t := range due {
		t.f()
	}
}

// kv is one record to be sent, "key=value"; "key" alone is a tombstone, "=value" has no key.
func kv(s string) (key, value []byte) {
	k, v, ok := strings.Cut(s, "=")
	if ok {
		value = []byte(v)
	}
	if k != "" {
		key = []byte(k)
	}
	return key, value
}

// from is what the batches of a test have in common.
type from struct {
	id            record.ProducerID
	epoch         record.ProducerEpoch
	transactional bool
	codec         record.Codec
}

var plain = from{id: record.NoProducerID, epoch: record.NoProducerEpoch}

func (w *world) batch(f from, records ...string) record.Batch {
	o := record.DefaultBuilderOptions()
	o.Codec, o.ProducerID, o.ProducerEpoch, o.Transactional = f.codec, f.id, f.epoch, f.transactional
	if f.id >= 0 {
		o.BaseSequence = w.seq[f.id]
		w.seq[f.id] = o.BaseSequence.Add(int32(len(records)))
	}
	b := record.NewBuilder(o)
	for _, r := range records {
		key, value := kv(r)
		b.Append(w.clock().UnixMilli(), key, value, []record.RecordHeader{{Key: "h", Value: []byte{1}}})
	}
	return b.Build()
}

// send appends one batch and commits it.
func (w *world) send(f from, records ...string) storage.AppendInfo {
	w.t.Helper()
	return w.append(w.batch(f, records...), storage.Client)
}

func (w *world) append(b record.Batch, origin storage.Origin) storage.AppendInfo {
	w.t.Helper()
	o := storage.AppendOptions{Origin: origin, LeaderEpoch: 0}
	if origin == storage.Replication {
		o.LeaderEpoch = -1
	}
	info, err := w.log.Append(b, o)
	if err != nil {
		w.t.Fatalf("append: %v", err)
	}
	w.log.SetHighWatermark(w.log.LogEndOffset())
	return info
}

// put appends plain records, one batch each, and returns the last offset.
func (w *world) put(records ...string) record.Offset {
	w.t.Helper()
	last := record.NoOffset
	for _, r := range records {
		last = w.send(plain, r).LastOffset
	}
	return last
}

// end ends a transaction and returns the marker's offset.
func (w *world) end(f from, t record.ControlType) record.Offset {
	w.t.Helper()
	o := record.DefaultBuilderOptions()
	o.ProducerID, o.ProducerEpoch, o.Transactional, o.Control = f.id, f.epoch, true, true
	b := record.NewBuilder(o)
	b.Append(w.clock().UnixMilli(), record.ControlKey(t), record.EndTxnMarker{Type: t, CoordinatorEpoch: 1}.Value(), nil)
	return w.append(b.Build(), storage.Coordinator).LastOffset
}

func (w *world) roll() {
	w.t.Helper()
	if err := w.log.Roll(); err != nil {
		w.t.Fatal(err)
	}
}

// clean compacts as long as there is something to compact.
func (w *world) clean() {
	w.t.Helper()
	for range 100 {
		if !w.cleaner.Round() {
			w.mustBeWell()
			return
		}
	}
	w.t.Fatal("compaction does not come to an end")
}

func (w *world) mustBeWell() {
	w.t.Helper()
	for _, e := range w.events {
		if e.Err != nil {
			w.t.Fatalf("%+v", e)
		}
	}
	if err := w.log.Err(); err != nil {
		w.t.Fatal(err)
	}
}

// sealAndClean rolls first, so that everything can be compacted.
func (w *world) sealAndClean() {
	w.t.Helper()
	w.roll()
	w.clean()
}

// batches reads a log from its start to what iso allows, a batch at a time, and checks every CRC.
func (w *world) batches(iso storage.Isolation) (list []record.Batch, aborted map[record.Offset]bool) {
	w.t.Helper()
	aborted = map[record.Offset]bool{}
	for at := w.log.LogStartOffset(); ; {
		info, err := w.log.Read(at, iso, 1<<20, true)
		if err != nil {
			w.t.Fatalf("read at %d: %v", at, err)
		}
		if info.Region.Length == 0 {
			return list, aborted
		}
		buf := make([]byte, info.Region.Length)
		if err := info.Region.ReadInto(buf); err != nil {
			w.t.Fatal(err)
		}
		info.Region.Release()
		open := map[record.ProducerID]bool{}
		coming := slices.Clone(info.Aborted)
		sc := record.NewScanner(buf)
		for sc.Next() {
			b := sc.Batch()
			if err := b.CheckCRC(); err != nil {
				w.t.Fatal(err)
			}
			h := b.Header()
			// As a consumer does it: an aborted transaction lasts from its first offset to its marker.
			coming = slices.DeleteFunc(coming, func(a index.AbortedTxn) bool {
				if a.FirstOffset > h.LastOffset() {
					return false
				}
				open[a.ProducerID] = true
				return true
			})
			switch {
			case h.IsControl() && h.Count > 0:
				if controlType(w.t, b) == record.ControlAbort {
					delete(open, h.ProducerID)
				}
			case h.IsTransactional() && open[h.ProducerID]:
				aborted[h.BaseOffset] = true
			}
			list = append(list, b)
			at = max(at, h.NextOffset())
		}
		if sc.Err() != nil || len(sc.Rest()) > 0 {
			w.t.Fatalf("region at %d: %v, %d bytes left", at, sc.Err(), len(sc.Rest()))
		}
	}
}

func controlType(t testing.TB, b record.Batch) record.ControlType {
	t.Helper()
	rs := b.Records(0)
	defer rs.Close()
	if !rs.Next() {
		t.Fatalf("no control record: %v", rs.Err())
	}
	ct, err := record.ParseControlKey(rs.Record().Key)
	if err != nil {
		t.Fatal(err)
	}
	return ct
}

// contents lists the data records that a consumer with iso gets, as "offset:key=value"; of a tombstone "offset:key".
func (w *world) contents(iso storage.Isolation) []string {
	w.t.Helper()
	var out []string
	list, aborted := w.batches(iso)
	for _, b := range list {
		if b.Attributes().IsControl() || aborted[b.BaseOffset()] {
			continue
		}
		rs := b.Records(0)
		for rs.Next() {
			if r := rs.Record(); r.Offset >= w.log.LogStartOffset() {
				out = append(out, show(&r))
			}
		}
		if rs.Err() != nil {
			w.t.Fatal(rs.Err())
		}
	}
	return out
}

func show(r *record.Record) string {
	if r.Value == nil {
		return fmt.Sprintf("%d:%s", r.Offset, r.Key)
	}
	return fmt.Sprintf("%d:%s=%s", r.Offset, r.Key, r.Value)
}

// want compares what a reader of committed records gets.
func (w *world) want(records ...string) {
	w.t.Helper()
	if got := w.contents(storage.TxnCommitted); !slices.Equal(got, records) {
		w.t.Fatalf("the log holds\n%q, want\n%q", got, records)
	}
}

// latest is what a reader that keeps the last value of every key ends up with.
func (w *world) latest() map[string]string {
	m := map[string]string{}
	for _, r := range w.contents(storage.TxnCommitted) {
		_, r, _ = strings.Cut(r, ":")
		k, v, ok := strings.Cut(r, "=")
		if ok {
			m[k] = v
		} else {
			delete(m, k)
		}
	}
	return m
}

func wantEqual(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// names lists the files of the log.
func (w *world) names() []string {
	w.t.Helper()
	entries, err := w.fs.ReadDir(w.log.Dir())
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (w *world) status() Status {
	w.t.Helper()
	w.cleaner.prune() // logs that were closed
	list := w.cleaner.Status()
	if len(list) != 1 {
		w.t.Fatalf("status of %d logs", len(list))
	}
	return list[0]
}

func readFile(t testing.TB, fsys vfs.FS, name string) []byte {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		t.Fatal(err)
	}
	return b
}

func writeFile(t testing.TB, fsys vfs.FS, name string, data []byte) {
	t.Helper()
	if err := fsys.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(data, 0)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}
