package share

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/replica"
	"github.com/samsalog/samsa/internal/share/window"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// uninitialized is the start offset of a share partition that nobody has fetched from yet.
const uninitialized record.Offset = -1

// load reads the share partition's state. Fetches wait meanwhile.
func (p *partition) load() {
	w, stateEpoch, err := p.read()
	if err != nil {
		p.m.o.Logger.Warn("cannot load a share partition", "group", p.key.Group, "partition", p.leader.TopicPartition(), "err", err)
		p.m.remove(p)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.mu.phase != loading: // fenced meanwhile
	case err != nil:
		p.mu.phase, p.mu.err = failed, err
	default:
		p.mu.phase, p.mu.window, p.mu.stateEpoch = active, w, stateEpoch
		p.deliverLocked(w.Undelivered(p.settings().limits()))
	}
	p.wakeLocked()
}

func (p *partition) read() (*window.Window, int32, error) {
	state, err := readAnswer(p.key, p.m.o.Persister.ReadState(p.m.ctx, readRequest(p.key, p.leaderEpoch)))
	if err != nil {
		return nil, 0, err
	}
	if state.start == uninitialized {
		if state.start, err = p.reset(); err != nil {
			return nil, 0, err
		}
	}
	w, err := window.Load(state.start, state.batches)
	if err != nil {
		p.m.o.Logger.Error("share state contradicts itself", "group", p.key.Group, "partition", p.leader.TopicPartition(), "start", state.start)
		return nil, 0, kerr.UnknownServerError
	}
	return w, state.stateEpoch, nil
}

// reset is where the group begins on a partition that is new to it.
func (p *partition) reset() (record.Offset, error) {
	ts, reset := replica.LatestTimestamp, p.settings().Reset
	back, byDuration := resetDuration(reset)
	switch {
	case reset == "earliest":
		ts = replica.EarliestTimestamp
	case byDuration:
		ts = max(0, p.m.o.Now().Add(-back).UnixMilli())
	}
	found, err := p.leader.ListOffset(ts, storage.HighWatermark, record.NoLeaderEpoch)
	if err == nil && found.Offset < 0 { // nothing is as young as that
		found, err = p.leader.ListOffset(replica.LatestTimestamp, storage.HighWatermark, record.NoLeaderEpoch)
	}
	return found.Offset, err
}

// fitLocked brings the window in line with the log's bounds, which retention, DeleteRecords and a crash move.
func (p *partition) fitLocked(log *storage.Log) {
	w, o := p.mu.window, log.Offsets()
	w.MoveStart(o.LogStartOffset)
	if next := w.Next(); next > o.LogEndOffset {
		p.m.o.Logger.Warn("the log ends before what a share group was given; the group goes on at the log's end",
			"group", p.key.Group, "partition", p.leader.TopicPartition(), "next", next, "end", o.LogEndOffset)
		w.Truncate(o.LogEndOffset)
	}
}
