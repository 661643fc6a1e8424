package txn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// env is what all shards share. Its fields are set once.
type env struct {
	settings func() Settings
	now      func() time.Time
	logger   *slog.Logger
	// end has the markers of a decided transaction written, in the background.
	end      func(ending)
	counters counters
}

// machine is the state of one partition of the transaction topic: the transactional ids that hash to it.
type machine struct {
	env    *env
	shard  int32
	epoch  record.LeaderEpoch
	timers *coord.Timers
	ids    map[string]*entry
	// staged holds what is being written, for what a record does not tell.
	staged map[string]transaction
	// unrecorded is how many ends of transactions are to be recorded once more.
	unrecorded int64
	// life ends when the shard does.
	life context.Context
	stop context.CancelFunc
}

// entry is one transactional id in its shard.
type entry struct {
	transaction
	// over is closed when the transaction that is being ended has ended; nil while nobody waits for it.
	over chan struct{}
	// ending: somebody is writing the markers.
	ending bool
}

func newMachine(e *env, shard int32, epoch record.LeaderEpoch, timers *coord.Timers) *machine {
	m := &machine{env: e, shard: shard, epoch: epoch, timers: timers, ids: map[string]*entry{}, staged: map[string]transaction{}}
	m.life, m.stop = context.WithCancel(context.Background())
	return m
}

func (m *machine) nowMs() int64 { return m.env.now().UnixMilli() }

// Replay applies one record. Record types that are not known are left alone; a value that cannot be read is an error:
// to go on without it would break a transaction.
func (m *machine) Replay(r coord.Replayed) error {
	key, err := stored.DecodeKey(r.Key, stored.NewTxnKey)
	if errors.Is(err, stored.ErrUnknownRecord) {
		m.env.logger.Warn("a record of unknown type in the transaction topic is left out", "offset", r.Offset)
		return nil
	}
	if err != nil {
		return err
	}
	k, ok := key.(*stored.TransactionLogKey)
	if !ok {
		return stored.ErrUnknownRecord
	}
	id := k.TransactionalID
	if r.Value == nil {
		if e := m.ids[id]; e != nil {
			e.wake()
			delete(m.ids, id)
		}
		return nil
	}
	t, err := transactionFrom(id, r.Value)
	if err != nil {
		return fmt.Errorf("transactional id %q: %w", id, err)
	}
	m.apply(t)
	return nil
}

// apply makes t the state of its transactional id.
func (m *machine) apply(t transaction) {
	if s, ok := m.staged[t.id]; ok && s.producerID == t.producerID && s.epoch == t.epoch && s.state == t.state {
		t.previousEpoch = s.previousEpoch
	}
	delete(m.staged, t.id)
	e := m.ids[t.id]
	if e == nil {
		e = &entry{}
		m.ids[t.id] = e
	}
	e.transaction, e.ending = t, false
}

// ReplayMarker implements coord.Machine. Nobody writes transactionally to the transaction topic.
func (m *machine) ReplayMarker(record.ProducerID, bool) {}

// Loaded goes on where the coordinator before has stopped: what is decided is ended (TXN-4).
func (m *machine) Loaded() coord.Result {
	m.every(func() time.Duration { return m.env.settings().AbortInterval }, m.abortTimedOut)
	m.every(func() time.Duration { return m.env.settings().ExpiryInterval }, m.expireIDs)
	var decided []string
	for id, e := range m.ids {
		if e.state.deciding() {
			decided = append(decided, id)
		}
	}
	return coord.After(func(error) {
		for _, id := range decided {
			m.conclude(id)
		}
	})
}

// Unloaded ends the writing of markers: another node, or nobody, is the coordinator now.
func (m *machine) Unloaded() {
	m.stop()
	for _, e := range m.ids {
		e.wake()
	}
	m.env.counters.unrecorded.Add(-m.unrecorded)
}

// every runs f again and again.
func (m *machine) every(interval func() time.Duration, f func() coord.Result) {
	m.timers.AfterFunc(interval(), func() coord.Result {
		m.every(interval, f)
		return f()
	})
}

// errTransition is a bug: a transition that TXN-1 does not allow.
var errTransition = errors.New("BUG: a transactional id cannot go from state to state like that")

// write has the next state of a transactional id written. done is told whether it is committed.
func (m *machine) write(next transaction, done func(error) coord.Result) coord.Result {
	if e := m.ids[next.id]; e != nil && !e.state.allows(next.state) {
		m.env.logger.Error(errTransition.Error(), "transactional_id", next.id, "from", e.state, "to", next.state)
		return done(errTransition)
	}
	return coord.Result{Records: []coord.Record{m.stage(next)}, Done: func(err error) coord.Result {
		delete(m.staged, next.id)
		return done(err)
	}}
}

// stage makes the record of a next state.
func (m *machine) stage(next transaction) coord.Record {
	m.staged[next.id] = next
	version := int16(0)
	if m.env.settings().TxnVersion >= txnVersionTags {
		version = 1
	}
	return recordOf(&next, version)
}

// whenOver is closed when the transaction that is being ended has ended.
func (e *entry) whenOver() <-chan struct{} {
	if e.over == nil {
		e.over = make(chan struct{})
	}
	return e.over
}

// wake tells those who wait for the end of a transaction.
func (e *entry) wake() {
	if e.over != nil {
		close(e.over)
		e.over = nil
	}
}
