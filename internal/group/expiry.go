package group

import (
	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
)

// scheduleExpiry looks for offsets that nobody needs any more, again and again.
func (m *machine) scheduleExpiry() {
	every := m.env.settings().OffsetsRetentionCheckInterval
	if every <= 0 {
		return
	}
	m.expiry = m.timers.AfterFunc(every, func() coord.Result {
		m.scheduleExpiry()
		return m.expire()
	})
}

// expire removes the offsets whose time is over, and empty groups that have none left.
func (m *machine) expire() coord.Result {
	var records []coord.Record
	expired := 0
	for id := range m.offsets.groups() {
		tombstones := m.expiredOffsets(id)
		expired += len(tombstones)
		records = append(records, tombstones...)
		if len(tombstones) == len(m.tombstones(id)) && len(m.offsets.open[id]) == 0 {
			records = append(records, m.groupTombstones(id)...)
		}
	}
	for id, g := range m.groups {
		if m.offsets.stable[id] == nil && len(m.offsets.open[id]) == 0 && g.state == Empty && len(g.pending) == 0 {
			records = append(records, groupTombstone(id))
		}
	}
	for id, g := range m.consumers {
		if m.offsets.stable[id] == nil && len(m.offsets.open[id]) == 0 && len(g.Members) == 0 {
			records = append(records, g.Tombstones()...)
		}
	}
	for id, g := range m.streams {
		if m.offsets.stable[id] == nil && len(m.offsets.open[id]) == 0 && len(g.Members) == 0 {
			records = append(records, g.Tombstones()...)
		}
	}
	if len(records) == 0 {
		return coord.None()
	}
	return coord.Result{Records: records, Divisible: true, Done: func(err error) coord.Result {
		if err != nil {
			m.env.logger.Warn("cannot remove expired offsets, they are tried again later", "err", err)
			return coord.None()
		}
		m.env.counters.offsetExpirations.Add(int64(expired))
		m.env.logger.Info("expired offsets and groups were removed", "offsets", expired, "records", len(records))
		return coord.None()
	}}
}

// groupTombstones remove a group that has lost its last offset, if it has no members.
func (m *machine) groupTombstones(id string) []coord.Record {
	if g := m.groups[id]; g != nil {
		if g.state == Empty && len(g.pending) == 0 {
			return []coord.Record{groupTombstone(id)}
		}
		return nil
	}
	if c := m.consumers[id]; c != nil {
		if len(c.Members) > 0 {
			return nil
		}
		return c.Tombstones()
	}
	if g := m.streams[id]; g != nil {
		if len(g.Members) > 0 {
			return nil
		}
		return g.Tombstones()
	}
	return nil
}

// expiredOffsets are the tombstones for the offsets of a group whose time is over (KIP-211):
//   - a group with members keeps all, except consumers' offsets of topics that no member reads any more;
//   - a group without keeps them from the moment it became empty;
//   - offsets of consumers that are in no group count from their commit;
//   - an expire timestamp that the client asked for is kept to, whatever the broker's retention;
//   - nothing expires while a transaction may replace it.
func (m *machine) expiredOffsets(id string) []coord.Record {
	g, k, x := m.groups[id], m.consumerOf(id), m.streamsOf(id)
	if g != nil && g.state != Empty && (g.state != Stable || g.subscribed == nil) {
		return nil
	}
	var out []coord.Record
	nowMs, retentionMs := m.nowMs(), m.env.settings().OffsetsRetention.Milliseconds()
	m.offsets.stable.each(id, func(topic string, partition int32, c committed) {
		switch {
		case g != nil && g.isSubscribed(topic), k != nil && k.IsSubscribed(topic), x != nil && x.IsSubscribed(topic):
		case m.offsets.isPending(id, topic, partition):
		case c.expireMs >= 0 && nowMs >= c.expireMs, c.expireMs < 0 && nowMs-expiryBase(g, c) >= retentionMs:
			out = append(out, offsetTombstone(id, topic, partition))
		}
	})
	return out
}

// expiryBase is when the retention of an offset began.
func expiryBase(g *classicGroup, c committed) int64 {
	if g != nil && g.state == Empty && g.protocolType != "" && g.stateSinceMs >= 0 {
		return g.stateSinceMs
	}
	return c.commitMs
}

// Publish follows the metadata (metadata.Publisher): offsets of deleted topics are removed. It does not wait.
func (s *Service) Publish(d *metadata.Delta, _ *metadata.Image) {
	var topics []string
	for _, t := range d.DeletedTopics {
		topics = append(topics, t.Name)
	}
	if len(topics) > 0 {
		s.topicsDeleted(topics, idsOf(d.DeletedTopics))
	}
	s.topicsChanged(d)
}

// idsOf are the ids of topics.
func idsOf(topics []*metadata.Topic) map[record.UUID]struct{} {
	out := make(map[record.UUID]struct{}, len(topics))
	for _, t := range topics {
		out[t.ID] = struct{}{}
	}
	return out
}

// topicsDeleted removes the offsets of topics in all groups, and their share partitions. Shards that are still read do it
// afterwards.
func (s *Service) topicsDeleted(topics []string, ids map[record.UUID]struct{}) {
	for _, p := range s.runtime.Partitions() {
		// A shard that is gone has nothing to forget: its next leader was told as well.
		_ = s.runtime.Submit(p, coord.Op[*machine]{Patient: true, Run: func(m *machine) coord.Result { return m.forgetTopics(topics) }})
		_ = s.runtime.Submit(p, coord.Op[*machine]{Patient: true, Run: func(m *machine) coord.Result { return m.forgetShares(ids) }})
	}
}

func (m *machine) forgetTopics(topics []string) coord.Result {
	gone := make(map[string]bool, len(topics))
	for _, t := range topics {
		gone[t] = true
	}
	var records []coord.Record
	for group := range m.offsets.groups() {
		m.offsets.all(group, func(topic string, partition int32) {
			if gone[topic] {
				records = append(records, offsetTombstone(group, topic, partition))
			}
		})
	}
	return coord.Result{Records: records, Divisible: true, Done: func(err error) coord.Result {
		if err != nil {
			m.env.logger.Warn("cannot remove the offsets of deleted topics", "topics", topics, "err", err)
		} else if len(records) > 0 {
			m.env.counters.offsetDeletions.Add(int64(len(records)))
		}
		return coord.None()
	}}
}
