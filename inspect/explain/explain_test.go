package explain

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/samsalog/samsa/inspect/internal/testdir"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// batch is one record at an offset; a producer ≥ 0 makes it part of a transaction.
func batch(offset, ts, producer int64) []byte {
	o := record.DefaultBuilderOptions()
	o.BaseOffset, o.LeaderEpoch = record.Offset(offset), 0
	if producer >= 0 {
		o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = record.ProducerID(producer), 0, 0, true
	}
	b := record.NewBuilder(o)
	b.Append(ts, []byte("k"), bytes.Repeat([]byte("v"), 100), nil)
	return b.Build()
}

func marker(offset, ts, producer int64) []byte {
	o := record.DefaultBuilderOptions()
	o.BaseOffset, o.LeaderEpoch, o.ProducerID, o.ProducerEpoch, o.Transactional, o.Control = record.Offset(offset), 0, record.ProducerID(producer), 0, true, true
	b := record.NewBuilder(o)
	m := record.EndTxnMarker{Type: record.ControlCommit}
	b.Append(ts, record.ControlKey(m.Type), m.Value(), nil)
	return b.Build()
}

const hour = int64(3600000)

// now is 1,000 h after the epoch.
var now = time.UnixMilli(1000 * hour)

// load writes segments of one record each, with the given timestamps, and loads the partition.
func load(t *testing.T, segments ...[]byte) *Partition {
	t.Helper()
	fsys := vfs.NewMem()
	base := int64(0)
	for _, b := range segments {
		testdir.Put(t, fsys, fmt.Sprintf("/data/t-0/%020d.log", base), b)
		for s := record.NewScanner(b); s.Next(); {
			base = int64(s.Batch().LastOffset()) + 1
		}
	}
	testdir.Put(t, fsys, "/data/replication-offset-checkpoint", fmt.Appendf(nil, "0\n1\nt 0 %d\n", base))
	p, err := Load(context.Background(), fsys, "/data/t-0")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func settings() Settings {
	s := DefaultSettings()
	s.Now, s.Retention, s.SegmentBytes = now, 10*time.Hour, 1000
	return s
}

// goes is which segments retention takes.
func goes(a RetentionAnswer) (s string) {
	for _, k := range a.Segments {
		s += map[bool]string{true: "x", false: "-"}[k.Goes]
	}
	return s
}

func TestRetentionRules(t *testing.T) {
	at := func(h int64, offset int64) []byte { return batch(offset, h*hour, -1) }
	p := load(t, at(980, 0), at(985, 1), at(995, 2), at(980, 3), at(999, 4))
	each := int64(len(at(980, 0)))
	for _, c := range []struct {
		change func(*Settings)
		want   string
	}{
		{func(*Settings) {}, "xx---"},
		{func(s *Settings) { s.Retention = -1 }, "-----"},
		{func(s *Settings) { s.Retention, s.RetentionBytes = -1, 3*each }, "xx---"},
		{func(s *Settings) { s.Retention, s.RetentionBytes = -1, 3*each-1 }, "xx---"},
		{func(s *Settings) { s.Retention, s.RetentionBytes = 17*time.Hour, 4*each+1 }, "x----"},
		{func(s *Settings) { s.Delete = false }, "-----"},
	} {
		s := settings()
		c.change(&s)
		if got := goes(p.Retention(s)); got != c.want {
			t.Errorf("%+v: %s, want %s\n%v", s, got, c.want, p.Retention(s))
		}
	}
}

// A timestamp in the future keeps its segment, and the answer says so.
func TestT01FutureTimestamp(t *testing.T) {
	p := load(t, batch(0, 1000*hour*1000, -1), batch(1, 10*hour, -1), batch(2, 999*hour, -1))
	a := p.Retention(settings())
	if goes(a) != "---" || !a.Segments[0].Future || !strings.Contains(a.String(), "a producer's clock or unit is wrong") {
		t.Errorf("%v", a)
	}
}

// The worst case is the bound and one segment, for each partition.
func TestT15WorstCase(t *testing.T) {
	s := settings()
	s.RetentionBytes = 5000
	if a := load(t, batch(0, 1, -1)).Retention(s); a.Worst != 6000 || !strings.Contains(a.String(), "counts per partition") {
		t.Errorf("%v", a)
	}
}

func TestC11CompactionStatus(t *testing.T) {
	s := settings()
	s.Compact = true
	p := load(t, batch(0, hour, -1), batch(1, hour, -1), batch(2, hour, -1))
	for cleaned, want := range map[int64]string{-1: "due: the dirty part is 100 %", 1: "waits: the dirty part is 50 %", 2: "nothing to do"} {
		p.Cleaned = cleaned
		if got := p.Compaction(s); !strings.Contains(got, want) || !strings.Contains(got, "uncleanable from offset 2 on") {
			t.Errorf("%d: %s", cleaned, got)
		}
	}
}

// The log ends with a marker: the last record is told apart from the end.
func TestX05LastRecord(t *testing.T) {
	p := load(t, append(batch(0, hour, 7), marker(1, hour, 7)...))
	if got := p.Visibility(); !strings.Contains(got, "last record     0") || !strings.Contains(got, "log end         2") || !strings.Contains(got, "no open transaction") {
		t.Error(got)
	}
}

// The open transaction that holds the last stable offset is named.
func TestX14HangingTransaction(t *testing.T) {
	p := load(t, append(batch(0, hour, -1), append(batch(1, hour, 7), batch(2, hour, -1)...)...))
	if got := p.Visibility(); !strings.Contains(got, "last stable     1") || !strings.Contains(got, "producer 7, epoch 0, open since offset 1") {
		t.Error(got)
	}
	if got := p.Compaction(settings()); !strings.Contains(got, "uncleanable from offset 0 on") {
		t.Error(got)
	}
	got, err := p.Offset(1)
	if err != nil || !strings.Contains(got, "open since offset 1") || !strings.Contains(got, "checksum right") {
		t.Errorf("%s %v", got, err)
	}
	if _, err := p.Offset(3); err == nil {
		t.Error("an offset behind the end")
	}
}

func TestDisk(t *testing.T) {
	p := load(t, batch(0, hour, -1))
	testdir.Put(t, p.fs, "/data/t-0/00000000000000000000.log.deleted", make([]byte, 2048))
	got, err := Disk(context.Background(), p.fs, "/data")
	if err != nil || !strings.Contains(got, "could be freed: 2.0 KiB") {
		t.Errorf("%s %v", got, err)
	}
}

// Settings say where they come from, and what they are.
func TestSettingsInWords(t *testing.T) {
	s := DefaultSettings()
	if got := s.String(); got != "settings Kafka's defaults: cleanup.policy=delete retention.ms=604800000 retention.bytes=-1 segment.bytes=1073741824 segment.ms=604800000" {
		t.Error(got)
	}
	s.Compact, s.Retention, s.MinDirtyRatio = true, Milliseconds(-1), 0.25
	if got := s.String(); !strings.Contains(got, "cleanup.policy=compact,delete retention.ms=-1 ") || !strings.HasSuffix(got, "min.cleanable.dirty.ratio=0.25 min.compaction.lag.ms=0 max.compaction.lag.ms=9223372036854775807") {
		t.Error(got)
	}
	for ms, want := range map[int64]time.Duration{-5: -time.Millisecond, 0: 0, 1500: 1500 * time.Millisecond, math.MaxInt64: math.MaxInt64} {
		if got := Milliseconds(ms); got != want {
			t.Errorf("%d ms: %v", ms, got)
		}
	}
}

// A topic's worst case is that of all its partitions.
func TestT15WorstCaseOfTheTopic(t *testing.T) {
	s := settings()
	s.RetentionBytes, s.Partitions = 5000, 3
	if got := load(t, batch(0, 1, -1)).Retention(s).String(); !strings.Contains(got, "worst case: 5.9 KiB for this partition, 17.6 KiB for the 3 of the topic") {
		t.Error(got)
	}
}

// The dirty part is due when it is large enough, or old enough; the active segment says when it rolls.
func TestC11CompactionByAge(t *testing.T) {
	s := settings()
	s.Compact, s.MinDirtyRatio = true, 1
	p := load(t, batch(0, 900*hour, -1), batch(1, 990*hour, -1), batch(2, 995*hour, -1))
	for lag, want := range map[time.Duration]string{50 * time.Hour: "due: the dirty part has waited for longer than max.compaction.lag.ms=180000000", 200 * time.Hour: "waits: the dirty part is 100 %", math.MaxInt64: "waits: "} {
		s.MaxCompactionLag = lag
		if got := p.Compaction(s); !strings.Contains(got, want) {
			t.Errorf("%v: %s", lag, got)
		}
	}
	s.SegmentAge, s.SegmentBytes = 10*time.Hour, 1000
	if got := p.Compaction(s); !strings.Contains(got, "it rolls at segment.bytes=1000, or with the first record after 1970-02-11 21:00:00.000Z (segment.ms=36000000)") {
		t.Error(got)
	}
	s.SegmentAge = math.MaxInt64
	if got := p.Compaction(s); !strings.Contains(got, "it rolls at segment.bytes=1000\n") {
		t.Error(got)
	}
}
