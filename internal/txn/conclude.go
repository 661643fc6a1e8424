package txn

import (
	"time"

	"github.com/samsalog/samsa/internal/coord"
)

// concludeRetry is the pause before the end of a transaction is tried again after its record could not be committed.
const concludeRetry = 500 * time.Millisecond

// decide has a decided transaction written and then ended. answer is told when the decision is committed, which is
// before any marker is written (TXN-3, TXN-4).
func (m *machine) decide(next transaction, answer func(error)) coord.Result {
	return m.write(next, func(err error) coord.Result {
		answer(err)
		m.decided(next, err)
		return coord.None()
	})
}

// decided goes on after the record of a decision was committed. If that is not certain it is looked at again: the record
// may be committed later.
func (m *machine) decided(next transaction, err error) {
	if err == nil {
		m.conclude(next.id)
		return
	}
	if e := m.ids[next.id]; e != nil && e.state == next.state && e.epoch == next.epoch {
		m.timers.AfterFunc(concludeRetry, func() coord.Result {
			return coord.Result{Done: func(err error) coord.Result {
				m.decided(next, err)
				return coord.None()
			}}
		})
	}
}

// conclude has the markers of a decided transaction written, unless somebody is at it.
func (m *machine) conclude(id string) {
	e := m.ids[id]
	if e == nil || !e.state.deciding() || e.ending {
		return
	}
	e.ending = true
	m.env.end(ending{
		life: m.life, shard: m.shard, id: id, partitions: e.partitions,
		marker: coord.Marker{
			ProducerID: e.producerID, ProducerEpoch: e.epoch, Commit: e.state == PrepareCommit,
			CoordinatorEpoch: int32(m.epoch), TxnVersion: e.version,
		},
	})
}

// complete is called when all markers of an ending are written.
func (m *machine) complete(x ending) coord.Result {
	e := m.ids[x.id]
	if e == nil || !e.state.deciding() || e.producerID != x.marker.ProducerID || e.epoch != x.marker.ProducerEpoch {
		return coord.None()
	}
	return m.write(e.completed(m.nowMs()), func(err error) coord.Result {
		if err != nil {
			m.env.logger.Warn("the end of a transaction cannot be recorded, it is tried again", "transactional_id", x.id, "err", err)
			m.waitUnrecorded(1)
			m.timers.AfterFunc(concludeRetry, func() coord.Result {
				m.waitUnrecorded(-1)
				return m.complete(x)
			})
			return coord.None()
		}
		if e := m.ids[x.id]; e != nil {
			e.wake()
		}
		return coord.None()
	})
}

// waitUnrecorded counts ends of transactions that are to be recorded once more.
func (m *machine) waitUnrecorded(by int64) {
	m.unrecorded += by
	m.env.counters.unrecorded.Add(by)
}
