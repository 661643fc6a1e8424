package storage

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/record"
	"pgregory.net/rapid"
)

// TestMutations damages files of a log at random, opens it in order or as after a crash, and uses it. Nothing panics or hangs,
// what is read is what was written, and a log that opens takes appends and survives a restart.
func TestMutations(t *testing.T) {
	w := newWorld(t).small()
	l := w.open(func(o *Options) { o.SkipTxnVerification = true })
	for i := range 40 {
		w.append(l, from{id: record.ProducerID(i % 3), seq: record.Sequence(i / 3), transactional: i%3 == 2}.named(i), AppendOptions{LeaderEpoch: 0, Origin: Coordinator})
		if i%7 == 6 {
			w.append(l, from{id: 2}.marker(record.ControlType(i%2), 1), AppendOptions{Origin: Coordinator, LeaderEpoch: 0})
		}
		w.pass(0)
	}
	var written []string
	for _, s := range w.contents(l) {
		_, value, _ := strings.Cut(s, "=")
		written = append(written, value)
	}
	rp := l.RecoveryPoint()
	w.close(l)
	files := w.files(l.Dir())
	longtest.Check(t, 100, 5000, func(rt *rapid.T) {
		m := &mutant{world: newWorld(t).small(), t: rt, written: written}
		damaged := maps.Clone(files)
		for range rapid.IntRange(1, 3).Draw(rt, "damages") {
			name := rapid.SampledFrom(slices.Sorted(maps.Keys(damaged))).Draw(rt, "file")
			if !strings.HasPrefix(name, "0") {
				continue // the small text files are another room's
			}
			damaged[name] = m.damage(slices.Clone(damaged[name]))
			if damaged[name] == nil {
				delete(damaged, name)
			}
		}
		m.install(damaged)
		o := m.options()
		o.Clean, o.RecoveryPoint, o.SkipTxnVerification = rapid.Bool().Draw(rt, "clean"), rp, true
		m.use(o)
	})
}

// named is a batch of one record whose value says which it is.
func (p from) named(i int) []byte {
	o := record.DefaultBuilderOptions()
	o.ProducerID, o.BaseSequence, o.ProducerEpoch, o.Transactional = p.id, p.seq, p.epoch, p.transactional
	b := record.NewBuilder(o)
	b.Append(startMs+int64(i), nil, []byte(fmt.Sprintf("record %d", i)), nil)
	return b.Build()
}

type mutant struct {
	*world
	t       *rapid.T
	written []string
}

// damage returns other bytes, nil for no file.
func (m *mutant) damage(b []byte) []byte {
	switch rapid.SampledFrom([]string{"bits", "cut", "zeros", "append", "remove", "overwrite"}).Draw(m.t, "how") {
	case "bits":
		for range rapid.IntRange(1, 4).Draw(m.t, "n") {
			if len(b) > 0 {
				b[rapid.IntRange(0, len(b)-1).Draw(m.t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(m.t, "bit")
			}
		}
	case "cut":
		return b[:rapid.IntRange(0, len(b)).Draw(m.t, "to")]
	case "zeros":
		return append(b, make([]byte, rapid.IntRange(1, 100).Draw(m.t, "n"))...)
	case "append":
		return append(b, rapid.SliceOfN(rapid.Byte(), 1, 80).Draw(m.t, "bytes")...)
	case "remove":
		return nil
	case "overwrite":
		copy(b[rapid.IntRange(0, len(b)).Draw(m.t, "at"):], rapid.SliceOfN(rapid.Byte(), 1, 30).Draw(m.t, "bytes"))
	}
	return b
}

func (m *mutant) use(o Options) {
	l, err := Open(o)
	if err != nil {
		if !errors.Is(err, ErrStorage) {
			m.t.Fatalf("open: %v", err)
		}
		return
	}
	defer func() { l.Abandon() }()
	m.readAll(l)
	for ts := int64(startMs - 1); ts < startMs+50; ts += 7 {
		found, ok, err := l.OffsetForTimestamp(ts)
		m.known(err)
		if ok && err == nil && found.Timestamp < ts {
			m.t.Fatalf("timestamp %d: %+v", ts, found)
		}
	}
	_, _, err = l.MaxTimestampOffset()
	m.known(err)
	end := l.LogEndOffset()
	if info, err := l.Append(batchOf(startMs, "more"), AppendOptions{LeaderEpoch: 3}); err != nil || info.FirstOffset != end {
		m.t.Fatalf("append at %d: %+v, %v", end, info, err)
	}
	if err := l.Close(); err != nil {
		m.t.Fatalf("close: %v", err)
	}
	m.tasks = nil
	o.Clean = true
	if l, err = Open(o); err != nil {
		m.t.Fatalf("open again: %v", err)
	}
	if l.LogEndOffset() != end+1 {
		m.t.Fatalf("log end %d after a restart, it was %d", l.LogEndOffset(), end+1)
	}
	m.readAll(l)
}

// known accepts only errors that say what is wrong.
func (m *mutant) known(err error) {
	if err != nil && !errors.Is(err, record.ErrCorruptBatch) && !errors.Is(err, record.ErrInvalidRecord) && !errors.Is(err, ErrStorage) &&
		!errors.Is(err, record.ErrDecompress) {
		m.t.Fatalf("unexpected: %v", err)
	}
}

// readAll reads every offset as a consumer would: batches whose CRC is right hold what was written there.
func (m *mutant) readAll(l *Log) {
	l.SetHighWatermark(l.LogEndOffset())
	for o := l.LogStartOffset(); o < l.LogEndOffset(); o++ {
		info, err := l.Read(o, TxnCommitted, 1, true)
		m.known(err)
		if err != nil || info.Region.Length == 0 {
			continue
		}
		b := make(record.Batch, info.Region.Length)
		if err := info.Region.ReadInto(b); err != nil {
			m.t.Fatal(err)
		}
		info.Region.Release()
		if b.CheckCRC() != nil || b.Attributes().IsControl() {
			continue
		}
		rs := b.Records(0)
		for rs.Next() {
			r := rs.Record()
			// Low bits of an offset may have been flipped, which nothing can tell: the value must be one that was written.
			if v := string(r.Value); !slices.Contains(m.written, v) && v != "more" {
				m.t.Fatalf("offset %d holds %q", r.Offset, v)
			}
		}
		rs.Close()
	}
}
