package txn

import (
	"slices"

	"github.com/samsalog/samsa/internal/coord"
)

// abortTimedOut fences and aborts transactions that have been open for longer than their producer wanted.
func (m *machine) abortTimedOut() coord.Result {
	nowMs, version := m.nowMs(), m.env.settings().TxnVersion
	var fenced []transaction
	for _, e := range m.ids {
		if e.state == Ongoing && e.startMs+int64(e.timeoutMs) < nowMs {
			fenced = append(fenced, e.fenced(version, nowMs))
		}
	}
	if len(fenced) == 0 {
		return coord.None()
	}
	records := make([]coord.Record, len(fenced))
	for i, t := range fenced {
		records[i] = m.stage(t)
		m.env.logger.Info("a transaction took longer than its timeout and is aborted", "transactional_id", t.id,
			"producer_id", t.producerID, "timeout_ms", t.timeoutMs)
	}
	return coord.Result{Records: records, Divisible: true, Done: func(err error) coord.Result {
		for _, t := range fenced {
			delete(m.staged, t.id)
			m.decided(t, err)
		}
		return coord.None()
	}}
}

// expireIDs forgets transactional ids that nobody has used for long.
func (m *machine) expireIDs() coord.Result {
	nowMs, kept := m.nowMs(), m.env.settings().IDExpiration.Milliseconds()
	var ids []string
	for id, e := range m.ids {
		if e.state.allows(Dead) && e.updateMs+kept <= nowMs {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return coord.None()
	}
	slices.Sort(ids)
	records := make([]coord.Record, len(ids))
	for i, id := range ids {
		records[i] = coord.Record{Key: keyOf(id)}
	}
	return coord.Result{Records: records, Divisible: true, Done: func(err error) coord.Result {
		if err != nil {
			m.env.logger.Warn("cannot remove expired transactional ids, they are tried again later", "err", err)
		} else {
			m.env.logger.Info("expired transactional ids were removed", "ids", len(ids))
		}
		return coord.None()
	}}
}
