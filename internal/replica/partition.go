package replica

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// Partition is one replica hosted here: its log and, while this node leads it, the leader's duties.
type Partition struct {
	tp      record.TopicPartition
	topicID record.UUID
	// log is nil while the partition is offline (err says why).
	log *storage.Log
	err error
	// role is replaced as a whole by each metadata change.
	role  atomic.Pointer[role]
	watch watchList
	// advance orders the movements of the high watermark (REP-2).
	advance sync.Mutex
}

// role is what the image says of the partition, as this node sees it.
type role struct {
	leads    bool
	leader   int32
	epoch    record.LeaderEpoch
	replicas []int32
	isr      []int32
}

// TopicPartition names the partition.
func (p *Partition) TopicPartition() record.TopicPartition { return p.tp }

// TopicID is the id of the incarnation of the topic that the log belongs to.
func (p *Partition) TopicID() record.UUID { return p.topicID }

// Log is the local log; nil while the directory is offline.
func (p *Partition) Log() *storage.Log { return p.log }

// LeaderEpoch is the epoch of the present leader.
func (p *Partition) LeaderEpoch() record.LeaderEpoch { return p.role.Load().epoch }

// Leader is the node id and the epoch of the present leader; -1 when there is none.
func (p *Partition) Leader() (int32, record.LeaderEpoch) {
	r := p.role.Load()
	return r.leader, r.epoch
}

// Leads reports whether this node leads the partition and its directory works.
func (p *Partition) Leads() bool { return p.log != nil && p.role.Load().leads }

// become takes over what the image says. A new leader records its epoch before the role is published (REP-4).
func (p *Partition) become(node int32, m *metadata.Partition) error {
	r := &role{leads: m.Leader == node, leader: m.Leader, epoch: m.LeaderEpoch, replicas: m.Replicas, isr: m.ISR}
	old := p.role.Load()
	var err error
	if r.leads && p.log != nil && (old == nil || old.epoch != r.epoch || !old.leads) {
		err = p.log.AssignLeaderEpoch(r.epoch)
	}
	p.role.Store(r)
	if r.leads && p.log != nil && len(r.isr) == 1 {
		p.advanceHighWatermark()
	}
	if old != nil && (old.epoch != r.epoch || old.leads != r.leads) {
		p.watch.changed()
	}
	return err
}

// leading returns the log for an operation that only the leader serves.
func (p *Partition) leading() (*storage.Log, *role, error) {
	r := p.role.Load()
	switch {
	case p.log == nil:
		return nil, r, fmt.Errorf("%w: %w", ErrOffline, p.err)
	case !r.leads:
		return nil, r, ErrNotLeader
	}
	return p.log, r, nil
}

// CheckLeads tells why this node does not serve the partition as its leader; nil if it does.
func (p *Partition) CheckLeads() error {
	_, _, err := p.leading()
	return err
}

// checkEpoch compares the leader epoch that a client believes in with ours; a negative one is not checked.
func (r *role) checkEpoch(client record.LeaderEpoch) error {
	switch {
	case client < 0 || client == r.epoch:
		return nil
	case client < r.epoch:
		return ErrFencedLeaderEpoch
	default:
		return ErrUnknownLeaderEpoch
	}
}

// Append writes one batch as the leader and wakes who waits for it. batch is borrowed and patched in place;
// o.LeaderEpoch is filled in here. When it returns, the records are below the high watermark if this node
// is the only in-sync replica.
func (p *Partition) Append(batch []byte, o storage.AppendOptions) (storage.AppendInfo, error) {
	log, r, err := p.leading()
	if err != nil {
		return storage.AppendInfo{}, err
	}
	o.LeaderEpoch = r.epoch
	info, err := log.Append(batch, o)
	if err != nil || info.Duplicate {
		return info, err
	}
	if len(r.isr) == 1 {
		stable := p.advanceHighWatermark()
		p.watch.advanced(int64(info.SizeInBytes), stable)
	}
	return info, nil
}

// advanceHighWatermark moves the high watermark to the log end, which is right for the only replica in
// sync, and reports whether the last stable offset moved with it.
func (p *Partition) advanceHighWatermark() (stableMoved bool) {
	p.advance.Lock()
	defer p.advance.Unlock()
	before := p.log.LastStableOffset()
	p.log.SetHighWatermark(p.log.LogEndOffset())
	return p.log.LastStableOffset() != before
}

// CheckInSync tells whether acks=all may be promised: at least min.insync.replicas are in sync, of as many
// as the topic has (Partition.scala effectiveMinIsr).
func (p *Partition) CheckInSync() error {
	log, r, err := p.leading()
	if err != nil {
		return err
	}
	if len(r.isr) < min(log.Config().MinInsyncReplicas, len(r.replicas)) {
		return ErrNotEnoughReplicas
	}
	return nil
}

// DeleteRecords raises the log start to offset (-1: the high watermark) and returns the new low watermark.
func (p *Partition) DeleteRecords(offset record.Offset) (record.Offset, error) {
	log, _, err := p.leading()
	if err != nil {
		return record.NoOffset, err
	}
	// An empty cleanup.policy allows it: only a purely compacted topic has records that must stay.
	if c := log.Config(); c.CleanupCompact && !c.CleanupDelete {
		return record.NoOffset, ErrPolicy
	}
	hw := log.HighWatermark()
	if offset == -1 {
		offset = hw
	}
	if offset < 0 || offset > hw {
		return record.NoOffset, storage.ErrOffsetOutOfRange
	}
	if err := log.DeleteRecords(offset); err != nil {
		return record.NoOffset, err
	}
	return log.LogStartOffset(), nil
}

// isHostedOn reports whether node is one of the partition's replicas.
func isHostedOn(node int32, m *metadata.Partition) bool { return slices.Contains(m.Replicas, node) }
