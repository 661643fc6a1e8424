package storage

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start is when test clocks begin: 2023-11-14.
const startMs = 1700000000000

// world is what a Log lives in: a file system, a clock, and a scheduler that runs when it is told to.
type world struct {
	t       testing.TB
	fs      vfs.FS
	handles *vfs.Handles
	config  Config
	events  []Event
	failed  []error

	mu    sync.Mutex
	now   time.Time
	tasks []task
}

type task struct {
	at time.Time
	f  func()
}

func newWorld(t testing.TB) *world { return worldOn(t, vfs.NewMem()) }

func worldOn(t testing.TB, fsys vfs.FS) *world {
	w := &world{t: t, fs: fsys, handles: vfs.NewHandles(fsys, 64), now: time.UnixMilli(startMs), config: DefaultConfig()}
	w.config.SegmentIndexBytes = 1 << 20
	return w
}

var tp0 = record.TopicPartition{Topic: "t", Partition: 0}

func (w *world) options() Options {
	return Options{
		FS: w.fs, Handles: w.handles, Dir: "/data/t-0", TopicPartition: tp0, Config: w.config,
		Now:       w.clock,
		Delay:     w.delay,
		OnFailure: func(err error) { w.failed = append(w.failed, err) },
		Observe:   func(e Event) { w.events = append(w.events, e) },
	}
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

func (w *world) open(change ...func(*Options)) *Log {
	w.t.Helper()
	o := w.options()
	for _, f := range change {
		f(&o)
	}
	l, err := Open(o)
	if err != nil {
		w.t.Fatalf("open: %v", err)
	}
	return l
}

func clean(o *Options) { o.Clean = true }

func recoverFrom(rp record.Offset) func(*Options) { return func(o *Options) { o.RecoveryPoint = rp } }

func (w *world) close(l *Log) {
	w.t.Helper()
	if err := l.Close(); err != nil {
		w.t.Fatalf("close: %v", err)
	}
	w.tasks = nil
}

// batchOf builds a batch of plain records, one per value, all with the same timestamp.
func batchOf(ts int64, values ...string) []byte {
	b := record.NewBuilder(record.DefaultBuilderOptions())
	for _, v := range values {
		b.Append(ts, nil, []byte(v), nil)
	}
	return b.Build()
}

// stamped builds one batch with a record for each timestamp.
func stamped(codec record.Codec, timestamps ...int64) []byte {
	o := record.DefaultBuilderOptions()
	o.Codec = codec
	b := record.NewBuilder(o)
	for _, ts := range timestamps {
		b.Append(ts, nil, []byte("v"), nil)
	}
	return b.Build()
}

// from is a producer's batch of n records.
type from struct {
	id            record.ProducerID
	epoch         record.ProducerEpoch
	seq           record.Sequence
	transactional bool
	ts            int64
}

func (p from) batch(n int) []byte {
	o := record.DefaultBuilderOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = p.id, p.epoch, p.seq, p.transactional
	b := record.NewBuilder(o)
	for range n {
		b.Append(max(p.ts, startMs), nil, []byte("value"), nil)
	}
	return b.Build()
}

// marker builds an end marker.
func (p from) marker(t record.ControlType, coordinatorEpoch int32) []byte {
	o := record.DefaultBuilderOptions()
	o.ProducerID, o.ProducerEpoch, o.Transactional, o.Control = p.id, p.epoch, true, true
	b := record.NewBuilder(o)
	m := record.EndTxnMarker{Type: t, CoordinatorEpoch: coordinatorEpoch}
	b.Append(max(p.ts, startMs), record.ControlKey(t), m.Value(), nil)
	return b.Build()
}

func (w *world) append(l *Log, batch []byte, o AppendOptions) AppendInfo {
	w.t.Helper()
	info, err := l.Append(batch, o)
	if err != nil {
		w.t.Fatalf("append: %v", err)
	}
	return info
}

// contents reads a whole log and returns what is in it as "offset=value", data records only.
func (w *world) contents(l *Log) []string {
	w.t.Helper()
	var out []string
	for at := l.LogStartOffset(); at < l.LogEndOffset(); {
		info, err := l.Read(at, LogEnd, 1<<20, true)
		if err != nil {
			w.t.Fatalf("read at %d: %v", at, err)
		}
		if info.Region.Length == 0 {
			w.t.Fatalf("nothing at %d, the end is %d", at, l.LogEndOffset())
		}
		buf := make([]byte, info.Region.Length)
		if err := info.Region.ReadInto(buf); err != nil {
			w.t.Fatal(err)
		}
		info.Region.Release()
		sc := record.NewScanner(buf)
		for sc.Next() {
			b := sc.Batch()
			if err := b.CheckCRC(); err != nil {
				w.t.Fatal(err)
			}
			rs := b.Records(0)
			for rs.Next() {
				if r := rs.Record(); r.Offset >= at && !b.Attributes().IsControl() {
					out = append(out, itoa(r.Offset)+"="+string(r.Value))
				}
			}
			if rs.Err() != nil {
				w.t.Fatal(rs.Err())
			}
			at = max(at, b.LastOffset()+1)
		}
		if sc.Err() != nil || len(sc.Rest()) > 0 {
			w.t.Fatalf("region at %d is no sequence of whole batches: %v, %d left", at, sc.Err(), len(sc.Rest()))
		}
	}
	return out
}

func itoa(o record.Offset) string {
	b := []byte{}
	if o == 0 {
		return "0"
	}
	for ; o > 0; o /= 10 {
		b = append(b, byte('0'+o%10))
	}
	slices.Reverse(b)
	return string(b)
}

// files returns the content of every file in the log's directory.
func (w *world) files(dir string) map[string][]byte {
	w.t.Helper()
	return readTree(w.t, w.fs, dir)
}

func readTree(t testing.TB, fsys vfs.FS, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out[e.Name()] = readFile(t, fsys, filepath.Join(dir, e.Name()))
	}
	return out
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
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(data, 0)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// patch overwrites bytes of a file.
func patch(t testing.TB, fsys vfs.FS, name string, pos int64, data []byte) {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(data, pos)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// kafkaLogs holds partition directories that Apache Kafka wrote, by "<set>/<partition>": clean and killed by 4.4.0 (the
// killed ones without the `.log` files that equal the clean ones), legacy by 3.9.1 with magic 0 and 1.
var kafkaLogs = sync.OnceValues(func() (map[string]map[string][]byte, error) {
	f, err := os.Open("testdata/kafka-logs.tar.gz")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	out := map[string]map[string][]byte{}
	for tr := tar.NewReader(z); ; {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeGNUSparse {
			continue
		}
		b, err := io.ReadAll(tr)
		if err != nil {
			return nil, err
		}
		dir, name := path.Split(path.Clean(h.Name))
		dir = strings.TrimSuffix(dir, "/")
		if out[dir] == nil {
			out[dir] = map[string][]byte{}
		}
		out[dir][name] = b
	}
	for dir, files := range out {
		if rest, ok := strings.CutPrefix(dir, "killed/"); ok {
			for name, b := range out["clean/"+rest] {
				if _, has := files[name]; !has && strings.HasSuffix(name, ".log") {
					files[name] = b
				}
			}
		}
	}
	return out, nil
})

func kafkaLog(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	all, err := kafkaLogs()
	if err != nil {
		t.Fatal(err)
	}
	if all[dir] == nil {
		t.Fatalf("no fixture %s of %v", dir, slices.Sorted(maps.Keys(all)))
	}
	return maps.Clone(all[dir])
}

// install writes files as the directory of w's log.
func (w *world) install(files map[string][]byte) {
	w.t.Helper()
	if err := w.fs.MkdirAll("/data/t-0", 0o755); err != nil {
		w.t.Fatal(err)
	}
	for name, b := range files {
		writeFile(w.t, w.fs, "/data/t-0/"+name, b)
	}
}
