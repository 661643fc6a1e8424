package txn

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/record"
)

var (
	concurrent = kerr.ConcurrentTransactions.Code
	fenced     = kerr.ProducerFenced.Code
	unknownID  = kerr.InvalidProducerIDMapping.Code
	badState   = kerr.InvalidTxnState.Code
)

// idle is an id without open transaction at an epoch.
func idle(s State, id record.ProducerID, epoch record.ProducerEpoch) transaction {
	return transaction{id: "x", producerID: id, previousProducerID: id, nextProducerID: -1, epoch: epoch, state: s, timeoutMs: 60000, startMs: 1, updateMs: 1}
}

// The epochs of a producer id end at 32766; then a new id begins (TXN-2).
func TestEpochsAreUsedUp(t *testing.T) {
	w := newWorld(t)
	w.put(idle(Empty, 7, lastEpoch-1))
	if o := w.init("x", nil); o.code != 0 || o.identity != (identity{7, lastEpoch}) {
		t.Fatalf("the last epoch: %+v", o)
	}
	o := w.init("x", &identity{7, lastEpoch})
	if o.code != 0 || o.id == 7 || o.identity.epoch != 0 {
		t.Fatalf("after the last epoch: %+v", o)
	}
	// The client has not seen the answer and asks as who it was: it gets the same, without another id.
	if again := w.init("x", &identity{7, lastEpoch}); again.code != 0 || again.identity != o.identity {
		t.Errorf("repeated: %+v, want %+v", again, o)
	}
	// Once it goes on, who it was is fenced.
	if c := w.add("x", o.identity, 1); c != 0 {
		t.Fatal(c)
	}
	if old := w.init("x", &identity{7, lastEpoch}); old.code != fenced {
		t.Errorf("the old id: %+v", old)
	}
}

// With transaction version 2 an end at the last epoch goes on with a new producer id, in one answer (KIP-890).
func TestEndAtTheLastEpoch(t *testing.T) {
	w := newWorld(t)
	w.put(idle(CompleteCommit, 7, lastEpoch))
	p := identity{7, lastEpoch}
	if c := w.add("x", p, 1); c != 0 {
		t.Fatal(c)
	}
	o := w.end("x", p, true, true)
	if o.code != 0 || o.id == 7 || o.identity.epoch != 0 {
		t.Fatalf("end: %+v", o)
	}
	if m := w.endings[0].marker; m.ProducerID != 7 || m.ProducerEpoch != lastEpoch+1 || m.TxnVersion != 2 {
		t.Errorf("marker %+v", m)
	}
	// Between decision and completion the new id waits; also after a restart.
	for range 2 {
		if c := w.add("x", o.identity, 2); c != concurrent {
			t.Errorf("add while ending: %d", c)
		}
		if again := w.end("x", p, true, true); again.code != concurrent {
			t.Errorf("end while ending: %+v", again)
		}
		w.restart()
	}
	w.markers()
	for range 2 {
		if again := w.end("x", p, true, true); again.code != 0 || again.identity != o.identity {
			t.Errorf("repeated: %+v", again)
		}
		if other := w.end("x", p, false, true); other.code != badState {
			t.Errorf("repeated the other way: %+v", other)
		}
		w.restart()
	}
	if c := w.add("x", o.identity, 2); c != 0 {
		t.Errorf("add with the new id: %d", c)
	}
}

// A producer that is fenced at its last epoch is fenced with the one that is kept for that.
func TestFencedAtTheLastEpoch(t *testing.T) {
	w := newWorld(t)
	w.put(idle(Empty, 7, lastEpoch))
	if c := w.add("x", identity{7, lastEpoch}, 1); c != 0 {
		t.Fatal(c)
	}
	if o := w.init("x", nil); o.code != concurrent || w.state("x").epoch != lastEpoch+1 {
		t.Fatalf("%+v, then %+v", o, w.state("x"))
	}
	w.markers()
	// Of an end that comes now it cannot be said whether it is a repetition; either way the last epoch is nobody's.
	if o := w.end("x", identity{7, lastEpoch}, false, true); o.code != fenced {
		t.Errorf("end of the fenced: %+v", o)
	}
	if o := w.init("x", nil); o.code != 0 || o.id == 7 || o.identity.epoch != 0 {
		t.Errorf("next: %+v", o)
	}
}

// of two producers with one transactional id the older is out, whatever it asks.
func TestX19TwoProducers(t *testing.T) {
	for _, version := range []int16{0, 1, 2} {
		w := newWorld(t)
		w.settings.TxnVersion = version
		old := w.ready("x", 1, 2)
		if o := w.init("x", nil); o.code != concurrent {
			t.Fatalf("the newer one: %+v", o)
		}
		if x := w.endings[0]; x.marker.Commit || x.marker.ProducerEpoch != old.epoch+1 || !slices.Equal(partitionsOf(x), []int32{1, 2}) {
			t.Errorf("ending %+v", x)
		}
		if o := w.init("x", nil); o.code != concurrent {
			t.Errorf("before the markers: %+v", o)
		}
		w.markers()
		o := w.init("x", nil)
		if o.code != 0 || o.identity != (identity{old.id, old.epoch + 2}) {
			t.Fatalf("after the markers: %+v", o)
		}
		if c := w.add("x", old, 1); c != fenced {
			t.Errorf("add of the older: %d", c)
		}
		for _, bumps := range []bool{false, true} {
			if e := w.end("x", old, true, bumps); e.code != fenced {
				t.Errorf("end of the older: %+v", e)
			}
		}
		if e := w.init("x", &old); e.code != fenced {
			t.Errorf("init of the older: %+v", e)
		}
	}
}

// A fence whose record could not be written has bumped nothing; the next attempt bumps once.
func TestFailedFenceIsNotCountedTwice(t *testing.T) {
	w := newWorld(t)
	old := w.ready("x", 1)
	w.fail = coord.ErrNotAvailable
	for range 3 {
		if o := w.init("x", nil); o.code != kerr.CoordinatorNotAvailable.Code {
			t.Fatalf("%+v", o)
		}
	}
	w.fail = nil
	if o := w.init("x", nil); o.code != concurrent || w.state("x").epoch != old.epoch+1 {
		t.Errorf("%+v, epoch %d", o, w.state("x").epoch)
	}
}

// A decision whose record was written but not committed in time gets its markers when it is committed, not before
// (TXN-4).
func TestDecisionCommittedLate(t *testing.T) {
	w := newWorld(t)
	p := w.ready("x", 1)
	before := w.timers()
	w.fail, w.unsure = coord.ErrNotAvailable, true
	if o := w.end("x", p, true, true); o.code != kerr.CoordinatorNotAvailable.Code || len(w.endings) != 0 {
		t.Fatalf("%+v, %d endings", o, len(w.endings))
	}
	if w.timers() != before+1 {
		t.Fatalf("%d timers, had %d", w.timers(), before)
	}
	w.fail = nil
	r, _ := w.m.timers.RunFirst()
	w.do(r)
	if len(w.endings) != 1 || !w.endings[0].marker.Commit {
		t.Errorf("endings %+v", w.endings)
	}
	w.markers()
	if s := w.state("x").state; s != CompleteCommit {
		t.Errorf("state %v", s)
	}
}

// The end of an end that cannot be recorded is tried again.
func TestCompletionIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	p := w.ready("x", 1)
	w.end("x", p, false, true)
	w.fail = errors.New("no")
	w.markers()
	w.fail = nil
	if s := w.state("x").state; s != PrepareAbort {
		t.Fatalf("state %v", s)
	}
	r, _ := w.m.timers.RunFirst()
	w.do(r)
	if s := w.state("x").state; s != CompleteAbort {
		t.Errorf("state %v", s)
	}
}

// a transaction that is open for longer than its timeout is aborted and its producer fenced.
func TestX14TimedOut(t *testing.T) {
	w := newWorld(t)
	p := w.ready("x", 1)
	calm := w.ready("y")
	w.now = w.now.Add(60 * time.Second)
	w.do(w.m.abortTimedOut())
	if len(w.endings) != 0 {
		t.Fatal("aborted at its timeout already")
	}
	w.now = w.now.Add(time.Millisecond)
	w.do(w.m.abortTimedOut())
	if len(w.endings) != 1 || w.endings[0].marker.Commit || w.endings[0].marker.ProducerEpoch != p.epoch+1 {
		t.Fatalf("endings %+v", w.endings)
	}
	w.do(w.m.abortTimedOut())
	if len(w.endings) != 1 {
		t.Error("aborted twice")
	}
	w.markers()
	if c := w.add("x", p, 1); c != fenced {
		t.Errorf("the producer goes on: %d", c)
	}
	if c := w.add("y", calm, 1); c != 0 {
		t.Errorf("another producer: %d", c)
	}
}

// a transactional id that was idle for long is forgotten, an open one never; its producer starts anew.
func TestX06IdleTransactionalID(t *testing.T) {
	w := newWorld(t)
	p := w.ready("x")
	open := w.ready("open", 1)
	w.now = w.now.Add(7*24*time.Hour - time.Millisecond)
	w.do(w.m.expireIDs())
	w.state("x")
	w.now = w.now.Add(time.Millisecond)
	w.do(w.m.expireIDs())
	if w.m.ids["x"] != nil || w.m.ids["open"] == nil {
		t.Fatalf("ids %v", w.m.ids)
	}
	w.restart()
	if c := w.add("x", p, 1); c != unknownID {
		t.Errorf("add: %d", c)
	}
	if o := w.init("x", &p); o.code != 0 || o.id == p.id || o.identity.epoch != 0 {
		t.Errorf("init: %+v", o)
	}
	if o := w.end("open", open, true, false); o.code != 0 {
		t.Errorf("the open one: %+v", o)
	}
}

// Verification looks at the open transaction only.
func TestVerification(t *testing.T) {
	w := newWorld(t)
	p := w.ready("x", 1, 2)
	ask := func(id string, p identity) []int16 {
		return w.m.has(addition{id: id, identity: p, partitions: []record.TopicPartition{{Topic: "t", Partition: 1}, {Topic: "t", Partition: 3}}})
	}
	abortable := kerr.TransactionAbortable.Code
	for _, c := range []struct {
		what string
		id   string
		p    identity
		want []int16
	}{
		{"one of two", "x", p, []int16{0, abortable}},
		{"an unknown id", "nope", p, []int16{unknownID, unknownID}},
		{"a foreign producer id", "x", identity{p.id + 1, p.epoch}, []int16{unknownID, unknownID}},
		{"a future epoch", "x", identity{p.id, p.epoch + 1}, []int16{fenced, fenced}},
	} {
		if got := ask(c.id, c.p); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
	w.end("x", p, true, false)
	if got := ask("x", p); !slices.Equal(got, []int16{concurrent, concurrent}) {
		t.Errorf("while ending: %v", got)
	}
	w.markers()
	if got := ask("x", p); !slices.Equal(got, []int16{abortable, abortable}) {
		t.Errorf("after the end: %v", got)
	}
}

// While transaction.version is 0 records have the old layout, which other readers expect then.
func TestRecordVersions(t *testing.T) {
	for version, want := range map[int16]byte{0: 0, 1: 1, 2: 1} {
		w := newWorld(t)
		w.settings.TxnVersion = version
		p := w.ready("x", 4)
		for i, r := range w.records {
			if r.Value[0] != 0 || r.Value[1] != want {
				t.Errorf("level %d, record %d: version %x", version, i, r.Value[:2])
			}
		}
		w.restart()
		if o := w.end("x", p, true, false); o.code != 0 {
			t.Errorf("level %d: %+v", version, o)
		}
	}
}
