package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/wire"
)

// quorumTexts is the version of DescribeQuorum from which errors have a text, which is "" without error (KIP-853).
const quorumTexts = 2

// describeQuorum tells of the quorum behind the metadata log: this node, its leader and only voter.
func (h *Handler) describeQuorum(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.DescribeQuorumRequest)
	resp := req.ResponseKind().(*kmsg.DescribeQuorumResponse)
	resp.ErrorMessage = new(string)
	known := false
	for _, t := range req.Topics {
		out := kmsg.NewDescribeQuorumResponseTopic()
		out.Topic = t.Topic
		for _, p := range t.Partitions {
			if t.Topic != metadata.TopicName || p.Partition != 0 {
				out.Partitions = append(out.Partitions, noQuorum(p.Partition))
				continue
			}
			known = true
			out.Partitions = append(out.Partitions, h.metadataQuorum())
		}
		resp.Topics = append(resp.Topics, out)
	}
	if known && r.Version >= quorumTexts {
		resp.Nodes = append(resp.Nodes, h.voterNode())
	}
	return wire.Reply{Body: resp}
}

func noQuorum(partition int32) kmsg.DescribeQuorumResponseTopicPartition {
	out := kmsg.NewDescribeQuorumResponseTopicPartition()
	out.Partition, out.ErrorCode = partition, kerr.UnknownTopicOrPartition.Code
	out.ErrorMessage = kmsg.StringPtr("only partition 0 of " + metadata.TopicName + " has a quorum")
	return out
}

func (h *Handler) metadataQuorum() kmsg.DescribeQuorumResponseTopicPartition {
	store := h.deps.Metadata
	end, hw := store.EndOffsets()
	out := kmsg.NewDescribeQuorumResponseTopicPartition()
	out.ErrorMessage = new(string)
	out.LeaderID, out.LeaderEpoch, out.HighWatermark = h.deps.NodeID, int32(store.Epoch()), int64(hw)
	voter := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
	voter.ReplicaID, voter.LogEndOffset = h.deps.NodeID, int64(end)
	if store.KRaftVersion() > 0 {
		voter.ReplicaDirectoryID = store.Directory()
	}
	// The leader always has just fetched from itself.
	now := h.deps.Now().UnixMilli()
	voter.LastFetchTimestamp, voter.LastCaughtUpTimestamp = now, now
	out.CurrentVoters = append(out.CurrentVoters, voter)
	return out
}

func (h *Handler) voterNode() kmsg.DescribeQuorumResponseNode {
	e := h.deps.Metadata.ControllerEndpoint()
	l := kmsg.NewDescribeQuorumResponseNodeListener()
	l.Name, l.Host, l.Port = e.Name, e.Host, e.Port
	out := kmsg.NewDescribeQuorumResponseNode()
	out.NodeID, out.Listeners = h.deps.NodeID, append(out.Listeners, l)
	return out
}
