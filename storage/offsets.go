package storage

import (
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/producer"
)

// LogStartOffset is the smallest offset that can be read.
func (l *Log) LogStartOffset() record.Offset { return record.Offset(l.logStart.Load()) }

// LogEndOffset is the offset of the next record.
func (l *Log) LogEndOffset() record.Offset { return l.end.Load().offset }

// HighWatermark is the first offset that is not known to be committed.
func (l *Log) HighWatermark() record.Offset { return l.Offsets().HighWatermark }

// LastStableOffset is the first offset that is not committed and decided.
func (l *Log) LastStableOffset() record.Offset { return l.Offsets().LastStableOffset }

// RecoveryPoint is the first offset that is not known to be durable.
func (l *Log) RecoveryPoint() record.Offset { return record.Offset(l.recoveryPoint.Load()) }

// Offsets returns all bounds as of one moment (LOG-1).
func (l *Log) Offsets() Offsets {
	o, _, _, _ := l.bounds()
	return o
}

// bounds loads the offsets in an order in which each may only be overtaken upwards: the high watermark first, since what
// it covers was published before; then what it must not exceed.
func (l *Log) bounds() (o Offsets, hw, stable, end *mark) {
	hw = l.hw.Load()
	unstable := l.unstable.Load()
	end = l.end.Load()
	if hw.offset > end.offset { // a truncation came in between
		hw = end
	}
	stable = hw
	if unstable != nil && unstable.offset < hw.offset {
		stable = unstable
	}
	o = Offsets{LogStartOffset: l.LogStartOffset(), LastStableOffset: stable.offset, HighWatermark: hw.offset, LogEndOffset: end.offset}
	// A log start that was raised meanwhile pulls up what lies below; nothing there can be read any more.
	o.HighWatermark = max(o.HighWatermark, o.LogStartOffset)
	o.LastStableOffset = max(o.LastStableOffset, o.LogStartOffset)
	o.LogEndOffset = max(o.LogEndOffset, o.LogStartOffset)
	return o, hw, stable, end
}

// SetHighWatermark raises the high watermark to o, but not above the log end, and returns what it is now. It never moves
// it back (LOG-8).
func (l *Log) SetHighWatermark(o record.Offset) record.Offset {
	// The end is loaded before unreplicated: a marker below it was counted before it was published.
	end := l.end.Load()
	to := end
	if o < end.offset {
		to = at(max(o, l.LogStartOffset()))
	}
	for {
		hw := l.hw.Load()
		if hw.offset > to.offset || hw.offset == to.offset && hw.position >= 0 {
			to = hw
			break
		}
		if l.hw.CompareAndSwap(hw, to) {
			break
		}
	}
	truncated := l.end.Load().offset < to.offset // under us: what was just raised is too high
	if truncated || l.unreplicated.Load() > 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		if end := l.end.Load(); l.hw.Load().offset > end.offset {
			l.hw.Store(end)
		}
		to = l.hw.Load()
		l.mu.producers.HighWatermark(to.offset)
		l.publishTxnsLocked()
	}
	return to.offset
}

// publishTxnsLocked makes the state of transactions visible to readers.
func (l *Log) publishTxnsLocked() {
	p := l.mu.producers
	l.unreplicated.Store(int64(p.Unreplicated()))
	first, ok := p.FirstUnstableOffset()
	old := l.unstable.Load()
	switch {
	case !ok && old == nil:
	case !ok:
		l.unstable.Store(nil)
	default:
		if first = max(first, l.LogStartOffset()); old == nil || old.offset != first {
			l.unstable.Store(at(first))
		}
	}
}

// raiseLogStartLocked moves the log start up, and with it the high watermark and the transactions. The recovery point
// stays, unlike in Kafka: bytes below the new start were not synced by raising it (LOG-5), and until the log start has
// reached its checkpoint a crash puts them back into the log, where a torn one would cost the synced segments behind.
func (l *Log) raiseLogStartLocked(o record.Offset) {
	l.logStart.Store(int64(o))
	for {
		hw := l.hw.Load()
		if hw.offset >= o || l.hw.CompareAndSwap(hw, at(o)) {
			break
		}
	}
	l.mu.producers.LogStart(o)
	l.publishTxnsLocked()
}

// rules is how producers are to be checked for an append.
func (l *Log) rules(o AppendOptions) producer.Rules {
	r := producer.Rules{Source: producer.FromLog, Guard: o.VerificationGuard, TxnVersion: o.TxnVersion, Verify: !l.o.SkipTxnVerification}
	switch o.Origin {
	case Client:
		r.Source = producer.FromClient
	case Coordinator:
		r.Source = producer.FromCoordinator
	}
	return r
}
