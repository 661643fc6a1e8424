package txn

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// failer is what *testing.T and *rapid.T have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// world is a machine without a shard around it: what it wants written is written at once, what it wants ended waits
// until the test says so.
type world struct {
	failer
	m        *machine
	settings Settings
	now      time.Time
	records  []coord.Record
	// endings are the decided transactions whose markers nobody has written yet.
	endings []ending
	// fail makes writing fail; with unsure the records are written nevertheless.
	fail   error
	unsure bool
	nextID record.ProducerID
}

func newWorld(t failer) *world {
	w := &world{failer: t, settings: DefaultSettings(), now: time.UnixMilli(1_700_000_000_000), nextID: 100}
	w.restart()
	return w
}

// restart has everything read again, by the coordinator of the next epoch.
func (w *world) restart() {
	epoch := record.LeaderEpoch(0)
	if w.m != nil {
		w.m.Unloaded()
		epoch = w.m.epoch + 1
	}
	w.endings = nil
	e := &env{
		settings: func() Settings { return w.settings }, now: func() time.Time { return w.now }, logger: slog.New(slog.DiscardHandler),
		end: func(x ending) { w.endings = append(w.endings, x) },
	}
	w.m = newMachine(e, 3, epoch, coord.NewTimers())
	for i, r := range w.records {
		if err := w.m.Replay(coord.Replayed{Offset: record.Offset(i), ProducerID: record.NoProducerID, Key: r.Key, Value: r.Value}); err != nil {
			w.Fatalf("record %d: %v", i, err)
		}
	}
	w.do(w.m.Loaded())
}

// do carries a result out.
func (w *world) do(r coord.Result) {
	w.Helper()
	if w.fail == nil || w.unsure {
		for _, x := range r.Records {
			w.checkTransition(x)
			w.records = append(w.records, x)
			if err := w.m.Replay(coord.Replayed{Offset: record.Offset(len(w.records)), ProducerID: record.NoProducerID, Key: x.Key, Value: x.Value}); err != nil {
				w.Fatalf("its own record: %v", err)
			}
		}
	}
	if r.Done == nil {
		return
	}
	var err error
	if len(r.Records) > 0 {
		err = w.fail
	}
	w.do(r.Done(err))
}

// checkTransition is TXN-1 for one record.
func (w *world) checkTransition(r coord.Record) {
	w.Helper()
	key, err := stored.DecodeKey(r.Key, stored.NewTxnKey)
	if err != nil {
		w.Fatalf("key: %v", err)
	}
	id := key.(*stored.TransactionLogKey).TransactionalID
	from, to := Empty, Dead
	if e := w.m.ids[id]; e != nil {
		from = e.state
	}
	if r.Value != nil {
		t, err := transactionFrom(id, r.Value)
		if err != nil {
			w.Fatalf("value: %v", err)
		}
		to = t.state
	}
	if !from.allows(to) {
		w.Errorf("%s goes from %v to %v (TXN-1)", id, from, to)
	}
}

// given takes the answer to a request; every request has exactly one.
func given[T any](w *world, a *answer[T]) T {
	w.Helper()
	select {
	case v := <-a.c:
		return v
	default:
		w.Fatalf("no answer")
		panic("not reached")
	}
}

func (w *world) withSpare(f func(spare record.ProducerID) outcome) outcome {
	o := f(record.NoProducerID)
	if o.wantsID {
		w.nextID++
		o = f(w.nextID)
	}
	return o
}

func (w *world) init(id string, expected *identity) outcome {
	w.Helper()
	return w.withSpare(func(spare record.ProducerID) outcome {
		a := &answer[outcome]{make(chan outcome, 1)}
		w.do(w.m.initProducer(initialization{id: id, timeoutMs: 60000, expected: expected}, spare, a))
		return given(w, a)
	})
}

func (w *world) end(id string, p identity, commit, bumps bool) outcome {
	w.Helper()
	return w.withSpare(func(spare record.ProducerID) outcome {
		a := &answer[outcome]{make(chan outcome, 1)}
		w.do(w.m.endTxn(end{id: id, identity: p, commit: commit, bumps: bumps}, spare, a))
		return given(w, a)
	})
}

func (w *world) add(id string, p identity, partitions ...int32) int16 {
	w.Helper()
	q := addition{id: id, identity: p, version: 2}
	for _, n := range partitions {
		q.partitions = append(q.partitions, record.TopicPartition{Topic: "t", Partition: n})
	}
	a := &answer[added]{make(chan added, 1)}
	w.do(w.m.add(q, a))
	return given(w, a).code
}

// markers finishes the endings that wait.
func (w *world) markers() {
	w.Helper()
	list := w.endings
	w.endings = nil
	for _, x := range list {
		w.do(w.m.complete(x))
	}
}

// state is what is known of an id.
func (w *world) state(id string) transaction {
	w.Helper()
	e := w.m.ids[id]
	if e == nil {
		w.Fatalf("%s is not known", id)
	}
	return e.transaction
}

// put writes a state as if it had come about.
func (w *world) put(t transaction) {
	w.records = append(w.records, recordOf(&t, 1))
	w.restart()
}

// timers counts those that run.
func (w *world) timers() int { return w.m.timers.Len() }

// ready begins an id that has an open transaction.
func (w *world) ready(id string, partitions ...int32) identity {
	w.Helper()
	o := w.init(id, nil)
	if o.code != 0 {
		w.Fatalf("init: %d", o.code)
	}
	if len(partitions) > 0 {
		if c := w.add(id, o.identity, partitions...); c != 0 {
			w.Fatalf("add: %d", c)
		}
	}
	return o.identity
}

func partitionsOf(x ending) (out []int32) {
	for _, tp := range x.partitions {
		out = append(out, tp.Partition)
	}
	slices.Sort(out)
	return out
}
