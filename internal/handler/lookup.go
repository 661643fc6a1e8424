package handler

import (
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/replica"
	"github.com/samsalog/samsa/record"
)

// hosted finds the replica of a partition on this node. A partition that the cluster has but this node does
// not host is ErrNotLeader, one that does not exist ErrUnknownPartition.
func (h *Handler) hosted(i *metadata.Image, id record.UUID, partition int32) (*replica.Partition, error) {
	p, err := h.deps.Replicas.ByID(id, partition)
	if err == nil {
		return p, nil
	}
	if t := i.Topics.ByID(id); t != nil && partition >= 0 && int(partition) < len(t.Partitions) {
		return nil, replica.ErrNotLeader
	}
	return nil, replica.ErrUnknownPartition
}

// hostedByName is hosted for APIs that name their topics.
func (h *Handler) hostedByName(i *metadata.Image, topic string, partition int32) (*replica.Partition, error) {
	t := i.Topics.ByName(topic)
	if t == nil {
		return nil, replica.ErrUnknownPartition
	}
	return h.hosted(i, t.ID, partition)
}

// presentLeader is the leader of a partition with its epoch, -1 and -1 if there is none: what the replica here knows, which
// is nil where there is none, or else the image.
func presentLeader(i *metadata.Image, p *replica.Partition, id record.UUID, partition int32) (int32, record.LeaderEpoch) {
	if p != nil {
		return p.Leader()
	}
	t := i.Topics.ByID(id)
	if t == nil || partition < 0 || int(partition) >= len(t.Partitions) {
		return -1, record.NoLeaderEpoch
	}
	return t.Partitions[partition].Leader, t.Partitions[partition].LeaderEpoch
}

// internalTopic reports whether only the broker itself writes to the topic.
func internalTopic(name string) bool {
	return name == "__consumer_offsets" || name == "__transaction_state" || name == "__share_group_state"
}

// endpoint is where a broker is reached through the listener that a request came in on.
func endpoint(b *metadata.Broker, listener string) (host string, port int32, ok bool) {
	if b == nil {
		return "", 0, false
	}
	for _, e := range b.Endpoints {
		if e.Name == listener {
			return e.Host, int32(e.Port), true
		}
	}
	return "", 0, false
}
