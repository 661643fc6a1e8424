package cleaner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/producer"
)

// sent is a record of the history: everything that was ever appended.
type sent struct {
	key, value string
	tombstone  bool
	text       string // as contents shows it
	pid        record.ProducerID
	aborted    bool
	// firstRun is the first run after it was appended, firstCover the first that had its key in view; zero: none yet.
	firstRun, firstCover time.Time
}

// model is a log beside its history.
type model struct {
	*world
	t       *rapid.T
	history map[record.Offset]*sent
	open    map[record.ProducerID][]record.Offset // undecided data
	epochs  map[record.ProducerID]record.ProducerEpoch
	lastRun time.Time
	runs    int64
}

const graceOfTombstones = 2 * time.Hour

func (m *model) sendSome() {
	pid := record.ProducerID(rapid.IntRange(-1, 3).Draw(m.t, "pid"))
	f := from{id: pid, epoch: record.NoProducerEpoch, codec: record.Codec(rapid.IntRange(0, 4).Draw(m.t, "codec"))}
	if pid >= 0 {
		f.epoch = m.epochs[pid]
		f.transactional = pid >= 2
	}
	var list []string
	for range rapid.IntRange(1, 4).Draw(m.t, "count") {
		key := fmt.Sprintf("k%d", rapid.IntRange(0, 7).Draw(m.t, "key"))
		if rapid.IntRange(0, 3).Draw(m.t, "tombstone") > 0 {
			key += fmt.Sprintf("=%d", rapid.IntRange(0, 1000).Draw(m.t, "value"))
		}
		list = append(list, key)
	}
	info := m.send(f, list...)
	for i, r := range list {
		o := info.FirstOffset + record.Offset(i)
		k, v, ok := strings.Cut(r, "=")
		m.history[o] = &sent{key: k, value: v, tombstone: !ok, text: fmt.Sprintf("%d:%s", o, r), pid: pid}
		if f.transactional {
			m.open[pid] = append(m.open[pid], o)
		}
	}
}

func (m *model) endSome() {
	pid := record.ProducerID(rapid.IntRange(2, 3).Draw(m.t, "ended"))
	if len(m.open[pid]) == 0 {
		return
	}
	abort := rapid.Bool().Draw(m.t, "abort")
	for _, o := range m.open[pid] {
		m.history[o].aborted = abort
	}
	delete(m.open, pid)
	if rapid.Bool().Draw(m.t, "bump") { // as transaction version 2 does: the marker's epoch clears the sequences
		m.epochs[pid]++
		m.seq[pid] = 0
	}
	t := record.ControlCommit
	if abort {
		t = record.ControlAbort
	}
	m.end(from{id: pid, epoch: m.epochs[pid]}, t)
}

func (m *model) compact() {
	m.settings.DedupeBufferBytes = int64(slotSize * rapid.SampledFrom([]int{3, 5, 1000}).Draw(m.t, "slots"))
	m.settings.IOBufferBytes = rapid.SampledFrom([]int{0, 1 << 14}).Draw(m.t, "buffers")
	m.cleaner.Round()
	m.mustBeWell()
	s := m.status()
	if s.Runs == m.runs {
		return
	}
	m.runs, m.lastRun = s.Runs, m.clock()
	for o, r := range m.history {
		if r.firstRun.IsZero() {
			r.firstRun = m.lastRun
		}
		if r.firstCover.IsZero() && o < s.FirstDirty {
			r.firstCover = m.lastRun
		}
	}
}

// check compares the log with the definition of compaction.
func (m *model) check() {
	m.t.Helper()
	to := m.saved[tp0]
	stable := m.log.LastStableOffset()
	last := map[string]record.Offset{} // of committed records below to
	final := map[string]string{}       // what a reader ends up with
	for _, o := range slices.Sorted(maps.Keys(m.history)) {
		r := m.history[o]
		if r.aborted || o >= stable {
			continue
		}
		if o < to {
			last[r.key] = o
		}
		if final[r.key] = r.value; r.tombstone {
			delete(final, r.key)
		}
	}
	got := map[record.Offset]bool{}
	for _, text := range m.contents(storage.TxnCommitted) {
		var o record.Offset
		_, _ = fmt.Sscanf(text, "%d:", &o)
		r := m.history[o]
		if got[o] || r == nil || r.text != text || r.aborted {
			m.t.Fatalf("the log holds %q, sent was %+v", text, r)
		}
		got[o] = true
	}
	if l := m.latest(); !maps.Equal(l, final) {
		m.t.Fatalf("a reader ends up with %v, want %v", l, final)
	}
	for o, r := range m.history {
		m.checkRecord(o, r, got[o], to, stable, last[r.key] == o)
	}
}

func (m *model) checkRecord(o record.Offset, r *sent, there bool, to, stable record.Offset, isLast bool) {
	m.t.Helper()
	switch {
	case r.aborted || o >= stable:
		if there {
			m.t.Fatalf("%s can be read", r.text)
		}
	case o >= to || isLast && !r.tombstone:
		if !there {
			m.t.Fatalf("%s is gone; clean up to %d", r.text, to)
		}
	case !isLast:
		if there {
			m.t.Fatalf("%s is still there; clean up to %d", r.text, to)
		}
	case there && m.lastRun.Sub(r.firstCover) >= graceOfTombstones:
		m.t.Fatalf("the tombstone %s has outlived its horizon", r.text)
	case !there && m.lastRun.Sub(r.firstRun) < graceOfTombstones:
		m.t.Fatalf("the tombstone %s went before its horizon", r.text)
	}
}

// known reduces producers to what must survive in the log itself.
func known(list []producer.Entry) map[record.ProducerID]string {
	out := map[record.ProducerID]string{}
	for _, p := range list {
		out[p.ProducerID] = fmt.Sprint(p.ProducerEpoch, p.LastSequence, p.LastOffset, p.CurrentTxnFirstOffset)
	}
	return out
}

// knownFromEmptied lists producers of which the log tells nothing but by an end marker without its record, from which a start
// learns nothing, as Kafka's does not (ProducerAppendInfo.append).
func (m *model) knownFromEmptied(list []producer.Entry) (ids []record.ProducerID) {
	emptied := map[record.ProducerID]bool{}
	all, _ := m.batches(storage.LogEnd)
	for _, b := range all {
		if h := b.Header(); h.IsControl() {
			emptied[h.ProducerID] = h.Count == 0
		}
	}
	for _, p := range list {
		if p.LastOffset < 0 && emptied[p.ProducerID] {
			ids = append(ids, p.ProducerID)
		}
	}
	return ids
}

// crash opens the log again from nothing but its segments: no snapshots, no recovery point.
func (m *model) crash() {
	m.t.Helper()
	producers := m.log.Producers()
	end, want, mayForget := m.log.LogEndOffset(), known(producers), m.knownFromEmptied(producers)
	m.log.Abandon()
	m.tasks, m.runs = nil, 0 // the cleaner counts anew
	for _, n := range m.names() {
		if strings.HasSuffix(n, ".snapshot") {
			if err := m.fs.Remove(dir0 + "/" + n); err != nil {
				m.t.Fatal(err)
			}
		}
	}
	m.world.open()
	got := known(m.log.Producers())
	for _, id := range mayForget {
		if got[id] == "" {
			delete(want, id)
		}
	}
	if !maps.Equal(got, want) || m.log.LogEndOffset() != end {
		m.t.Fatalf("producers %v, want %v; the log ends at %d, want %d", got, want, m.log.LogEndOffset(), end)
	}
}

// TestModel runs random histories with compaction and compares what is left with the definition: of each key the last
// committed record, at its offset, and everything that is not clean yet.
func TestModel(t *testing.T) {
	longtest.Check(t, 60, 3000, func(rt *rapid.T) {
		w := start(t, func(c *storage.Config) {
			c.SegmentBytes = rapid.SampledFrom([]int{300, 1000, 1 << 20}).Draw(rt, "segment.bytes")
			c.DeleteRetentionMs = graceOfTombstones.Milliseconds()
		})
		m := &model{world: w, t: rt, history: map[record.Offset]*sent{}, open: map[record.ProducerID][]record.Offset{},
			epochs: map[record.ProducerID]record.ProducerEpoch{}}
		for range rapid.IntRange(5, 60).Draw(rt, "steps") {
			switch rapid.IntRange(0, 11).Draw(rt, "step") {
			case 0, 1, 2, 3, 4:
				m.sendSome()
			case 5, 6:
				m.endSome()
			case 7:
				m.roll()
			case 8, 9:
				m.compact()
				m.check()
			case 10:
				m.pass(time.Duration(rapid.IntRange(1, 90).Draw(rt, "minutes")) * time.Minute)
			case 11:
				m.crash()
			}
		}
		m.roll()
		m.compact()
		m.check()
		m.crash()
		m.check()
		w.log.Abandon()
	})
}
