package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/producer"
)

func TestAppendAssignsOffsetsInPlace(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	defer l.Abandon()
	for i, want := range []record.Offset{0, 2, 4} {
		b := record.Batch(batchOf(startMs, "a", "b"))
		info := w.append(l, b, AppendOptions{LeaderEpoch: 3})
		if info.FirstOffset != want || info.LastOffset != want+1 || info.Count != 2 || info.MaxTimestamp != startMs || info.LogAppendTimeMs != -1 {
			t.Errorf("append %d: %+v", i, info)
		}
		if h := b.Header(); h.BaseOffset != want || h.LeaderEpoch != 3 || b.CheckCRC() != nil {
			t.Errorf("the given batch is now %+v", h)
		}
	}
	if e, ok := l.LatestEpoch(); !ok || e != 3 {
		t.Errorf("leader epoch %d, %v", e, ok)
	}
	if got := strings.Join(w.contents(l), " "); got != "0=a 1=b 2=a 3=b 4=a 5=b" {
		t.Error(got)
	}
}

// TestAppendRefuses lets every kind of bad append change nothing at all.
func TestAppendRefuses(t *testing.T) {
	good := func() []byte { return batchOf(startMs, "a", "b") }
	based := record.Batch(good())
	based.SetBaseOffset(5)
	flipped := good()
	flipped[len(flipped)-1] ^= 1
	magic := good()
	magic[record.MagicOffset] = 3
	control := from{id: 9, transactional: true}.marker(record.ControlCommit, 1)
	for _, test := range []struct {
		name   string
		batch  []byte
		o      AppendOptions
		change func(*Config)
		want   error
	}{
		{"nothing", nil, AppendOptions{}, nil, record.ErrInvalidRecord},
		{"a cut batch", good()[:50], AppendOptions{}, nil, record.ErrInvalidRecord},
		{"two batches", append(good(), good()...), AppendOptions{}, nil, record.ErrInvalidRecord},
		{"base offset", based, AppendOptions{}, nil, record.ErrInvalidRecord},
		{"crc", flipped, AppendOptions{}, nil, record.ErrCorruptBatch},
		{"magic", magic, AppendOptions{}, nil, record.ErrCorruptBatch},
		{"control from a client", control, AppendOptions{}, nil, record.ErrInvalidRecord},
		{"too large", good(), AppendOptions{}, func(c *Config) { c.MaxMessageBytes = 60 }, ErrMessageTooLarge},
		{"larger than a segment", good(), AppendOptions{}, func(c *Config) { c.SegmentBytes = 60 }, ErrRecordListTooLarge},
		{"no key", good(), AppendOptions{}, func(c *Config) { c.CleanupCompact = true }, record.ErrInvalidRecord},
		{"too old", good(), AppendOptions{}, func(c *Config) { c.TimestampBeforeMaxMs = -1 }, record.ErrInvalidTimestamp},
		{"replicated below the end", good(), AppendOptions{Origin: Replication, LeaderEpoch: -1}, nil, ErrOutOfOrderAppend},
		{"replicated out of order", append(bytes.Clone(based), based...), AppendOptions{Origin: Replication, LeaderEpoch: -1}, nil, ErrOutOfOrderAppend},
		{"replicated, crc", bytes.Clone(flipped), AppendOptions{Origin: Replication, LeaderEpoch: -1}, nil, record.ErrCorruptBatch},
		{"raft, another epoch", based, AppendOptions{Origin: RaftLeader, LeaderEpoch: 4}, nil, record.ErrInvalidRecord},
		{"raft, too large", withEpoch(based, 4), AppendOptions{Origin: RaftLeader, LeaderEpoch: 4}, func(c *Config) { c.MaxMessageBytes = 60 }, ErrMessageTooLarge},
		{"unverified transaction", from{id: 9, transactional: true}.batch(1), AppendOptions{}, nil, producer.ErrInvalidTxnState},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			l := w.open()
			defer l.Abandon()
			w.append(l, good(), AppendOptions{LeaderEpoch: 1})
			if c := l.Config(); test.change != nil {
				test.change(&c)
				l.SetConfig(c)
			}
			before := w.files(l.Dir())
			test.o.LeaderEpoch = max(test.o.LeaderEpoch, 1)
			info, err := l.Append(test.batch, test.o)
			if !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if info.FirstOffset != -1 || info.LogStartOffset != 0 || l.LogEndOffset() != 2 || l.Err() != nil {
				t.Errorf("%+v, end %d, %v", info, l.LogEndOffset(), l.Err())
			}
			after := w.files(l.Dir())
			delete(before, "leader-epoch-checkpoint")
			delete(after, "leader-epoch-checkpoint") // a leader's epoch counts whatever it appends first
			sameFiles(t, after, before)
		})
	}
}

func withEpoch(b record.Batch, e record.LeaderEpoch) record.Batch {
	b = bytes.Clone(b)
	b.SetLeaderEpoch(e)
	return b
}

func TestAppendDropsCutSecondBatch(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	defer l.Abandon()
	one := batchOf(startMs, "a")
	info := w.append(l, append(bytes.Clone(one), one[:40]...), AppendOptions{})
	if info.SizeInBytes != len(one) || l.SizeInBytes() != int64(len(one)) {
		t.Errorf("%+v, size %d", info, l.SizeInBytes())
	}
}

func TestAppendRecompresses(t *testing.T) {
	w := newWorld(t)
	w.config.CompressionType = "zstd"
	l := w.open()
	defer l.Abandon()
	b := batchOf(startMs, strings.Repeat("a", 5000), "b")
	info := w.append(l, b, AppendOptions{LeaderEpoch: 7})
	if info.SizeInBytes > 300 || info.LastOffset != 1 {
		t.Errorf("%+v", info)
	}
	stored := record.Batch(readFile(t, w.fs, l.active().Path()))
	if h := stored.Header(); h.Codec() != record.Zstd || h.LeaderEpoch != 7 || stored.CheckCRC() != nil {
		t.Errorf("stored: %+v", h)
	}
	// What is too large only when it is stored without compression is refused as well.
	w.config.CompressionType, w.config.MaxMessageBytes = "uncompressed", 1000
	l.SetConfig(w.config)
	if _, err := l.Append(record.Batch(compressed(strings.Repeat("a", 5000))), AppendOptions{}); !errors.Is(err, ErrMessageTooLarge) {
		t.Error(err)
	}
}

func compressed(v string) []byte {
	o := record.DefaultBuilderOptions()
	o.Codec = record.LZ4
	b := record.NewBuilder(o)
	b.Append(startMs, nil, []byte(v), nil)
	return b.Build()
}

func TestAppendLogAppendTime(t *testing.T) {
	w := newWorld(t)
	w.config.TimestampType = record.LogAppendTime
	l := w.open()
	defer l.Abandon()
	w.pass(5 * time.Second)
	info := w.append(l, batchOf(1000, "a"), AppendOptions{})
	if info.LogAppendTimeMs != startMs+5000 || info.MaxTimestamp != startMs+5000 {
		t.Errorf("%+v", info)
	}
	stored := record.Batch(readFile(t, w.fs, l.active().Path()))
	if h := stored.Header(); h.MaxTimestamp != startMs+5000 || h.TimestampType() != record.LogAppendTime || stored.CheckCRC() != nil {
		t.Errorf("%+v", h)
	}
}

func TestReplicationStopsAtNewerEpoch(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	defer l.Abandon()
	var chunk []byte
	for i, e := range []record.LeaderEpoch{1, 1, 2} {
		b := withEpoch(batchOf(startMs, "a"), e)
		b.SetBaseOffset(record.Offset(i))
		chunk = append(chunk, b...)
	}
	if info := w.append(l, chunk, AppendOptions{Origin: Replication, LeaderEpoch: 1}); info.LastOffset != 1 || l.LogEndOffset() != 2 {
		t.Errorf("%+v", info)
	}
	w.append(l, chunk[2*len(chunk)/3:], AppendOptions{Origin: Replication, LeaderEpoch: 2})
	if got := l.LeaderEpochs(); len(got) != 2 || got[1].StartOffset != 2 || got[1].Epoch != 2 {
		t.Errorf("epochs %+v", got)
	}
	if info := w.append(l, nil, AppendOptions{Origin: Replication, LeaderEpoch: 2}); info.FirstOffset != -1 {
		t.Errorf("an append of nothing: %+v", info)
	}
}

func TestFlushMessages(t *testing.T) {
	w := newWorld(t)
	w.config.FlushMessages = 3
	l := w.open()
	defer l.Abandon()
	for _, want := range []record.Offset{0, 4, 4, 8} {
		w.append(l, batchOf(startMs, "a", "b"), AppendOptions{})
		if l.SyncedOffset() != want {
			t.Errorf("fsynced to %d at %d, want %d", l.SyncedOffset(), l.LogEndOffset(), want)
		}
	}
}

// TestRollWhen lists what makes the next append start a segment.
func TestRollWhen(t *testing.T) {
	batch := batchOf(startMs, "0123456789")
	size := len(batch)
	later := batchOf(startMs+1001, "0123456789")
	undated := batchOf(-1, "0123456789")
	for _, test := range []struct {
		name   string
		change func(*Config)
		first  []byte
		wait   time.Duration
		second []byte
		rolls  bool
	}{
		{"exactly full", func(c *Config) { c.SegmentBytes = 2 * size }, batch, 0, batch, false},
		{"one byte over", func(c *Config) { c.SegmentBytes = 2*size - 1 }, batch, 0, batch, true},
		{"by timestamps", func(c *Config) { c.SegmentMs = 1000 }, batch, 0, later, true},
		{"exactly as old", func(c *Config) { c.SegmentMs = 1001 }, batch, 0, later, false},
		{"the clock does not count with timestamps", func(c *Config) { c.SegmentMs = 1000 }, batch, time.Hour, batch, false},
		{"it does without", func(c *Config) { c.SegmentMs = 1000 }, undated, 1001 * time.Millisecond, undated, true},
		{"compaction lag", func(c *Config) { c.CleanupCompact, c.MaxCompactionLagMs = true, 1000 }, keyed(startMs), 0, keyed(startMs + 1001), true},
		{"jitter", func(c *Config) { c.SegmentMs, c.SegmentJitterMs = 1500, 1000 }, batch, 0, later, true},
		{"index full", func(c *Config) { c.SegmentIndexBytes, c.IndexIntervalBytes = 12, 0 }, batch, 0, batch, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			test.change(&w.config)
			l := w.open(func(o *Options) { o.Rand = func(n int64) int64 { return n - 1 } })
			defer l.Abandon()
			w.append(l, bytes.Clone(test.first), AppendOptions{})
			w.pass(test.wait)
			w.append(l, bytes.Clone(test.second), AppendOptions{})
			if got := len(l.Segments()) == 2; got != test.rolls {
				t.Errorf("rolled: %v, segments %+v", got, l.Segments())
			}
		})
	}
}

func keyed(ts int64) []byte {
	b := record.NewBuilder(record.DefaultBuilderOptions())
	b.Append(ts, []byte("k"), []byte("v"), nil)
	return b.Build()
}

// TestR12RollBeforeOverflow: an offset that would be more than 2^31-1 above its segment's base begins a new one.
func TestR12RollBeforeOverflow(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	defer l.Abandon()
	w.append(l, batchOf(startMs, "first"), AppendOptions{})
	for _, o := range []record.Offset{math.MaxInt32, math.MaxInt32 + 1, 3 * math.MaxInt32} {
		b := record.Batch(batchOf(startMs, "far"))
		b.SetBaseOffset(o)
		w.append(l, b, AppendOptions{Origin: Replication, LeaderEpoch: -1})
	}
	segments := l.Segments()
	if len(segments) != 3 || segments[1].BaseOffset != math.MaxInt32+1 || segments[2].BaseOffset != 3*math.MaxInt32 {
		t.Fatalf("%+v", segments)
	}
	for _, o := range []record.Offset{0, 1, math.MaxInt32, math.MaxInt32 + 1, math.MaxInt32 + 2, 3 * math.MaxInt32} {
		info, err := l.Read(o, LogEnd, 1, true)
		if err != nil || info.Region.Length == 0 || info.FirstOffset < o {
			t.Errorf("read at %d: %+v, %v", o, info, err)
		}
		info.Region.Release()
	}
	w.close(l)
	if l = w.open(clean); l.LogEndOffset() != 3*math.MaxInt32+1 {
		t.Errorf("log end %d", l.LogEndOffset())
	}
	l.Abandon()
}

// TestRollLeavesKafkasFiles: a roll seals both indexes, adds the last time entry, and saves the producers.
func TestRollLeavesKafkasFiles(t *testing.T) {
	w := newWorld(t)
	w.config.Preallocate, w.config.SegmentBytes = true, 4096
	l := w.open()
	defer l.Abandon()
	w.append(l, from{id: 5}.batch(3), AppendOptions{})
	if err := l.Roll(); err != nil {
		t.Fatal(err)
	}
	w.pass(0)
	files := w.files(l.Dir())
	if b := files["00000000000000000000.timeindex"]; len(b) != 12 || binary.BigEndian.Uint64(b) != startMs || b[11] != 2 {
		t.Errorf("time index %x", b)
	}
	if n := len(files["00000000000000000000.log"]); n >= 4096 || n == 0 {
		t.Errorf("the sealed log has %d bytes", n)
	}
	if n := len(files["00000000000000000003.log"]); n != 4096 {
		t.Errorf("the preallocated log has %d bytes", n)
	}
	if s, err := producer.DecodeSnapshot(files["00000000000000000003.snapshot"]); err != nil || len(s) != 1 || s[0].LastOffset != 2 {
		t.Errorf("snapshot %+v, %v", s, err)
	}
	if l.RecoveryPoint() != 3 {
		t.Errorf("recovery point %d", l.RecoveryPoint())
	}
	if err := l.Roll(); err != nil || len(l.Segments()) != 2 {
		t.Errorf("an empty segment was rolled: %v, %+v", err, l.Segments())
	}
}
