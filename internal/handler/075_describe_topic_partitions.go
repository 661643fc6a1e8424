package handler

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/wire"
)

// describeTopicPartitions describes topics in the order of their names, a bounded number of partitions at a time; the
// cursor of an answer is where the next request goes on (KIP-966).
func (h *Handler) describeTopicPartitions(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.DescribeTopicPartitionsRequest)
	resp := kmsg.NewPtrDescribeTopicPartitionsResponse()
	image := h.deps.Metadata.Image()
	names, all := askedNames(image, req)
	first := int32(0)
	if c := req.Cursor; c != nil {
		at, found := slices.BinarySearch(names, c.Topic)
		if c.Partition < 0 || !all && !found {
			resp.Topics = refusedPartitions(names)
			return wire.Reply{Body: resp}
		}
		names = names[at:]
		if found {
			first = c.Partition
		}
	}
	left := max(1, min(int(req.ResponsePartitionLimit), h.deps.Config().Int("max.request.partition.size.limit")))
	for _, name := range names {
		if left == 0 {
			resp.NextCursor = nextCursor(name, 0)
			break
		}
		t := describedTopic(image, name, r.Listener.Name, first, left)
		resp.Topics = append(resp.Topics, t)
		left -= len(t.Partitions)
		if next := first + int32(len(t.Partitions)); left == 0 && hasPartition(image, name, next) {
			resp.NextCursor = nextCursor(name, next)
			break
		}
		first = 0
	}
	return wire.Reply{Body: resp}
}

func hasPartition(image *metadata.Image, topic string, n int32) bool {
	return partitionOf(image, topic, n) != nil
}

// askedNames are the topics to describe, each once and sorted; all of them when none is named.
func askedNames(image *metadata.Image, req *kmsg.DescribeTopicPartitionsRequest) (names []string, all bool) {
	if len(req.Topics) == 0 {
		for t := range image.Topics.All() {
			names = append(names, t.Name)
		}
		slices.Sort(names)
		return names, true
	}
	for _, t := range req.Topics {
		names = append(names, t.Topic)
	}
	slices.Sort(names)
	return slices.Compact(names), false
}

func refusedPartitions(names []string) (out []kmsg.DescribeTopicPartitionsResponseTopic) {
	for _, name := range names {
		t := kmsg.NewDescribeTopicPartitionsResponseTopic()
		t.Topic, t.ErrorCode = kmsg.StringPtr(name), kerr.InvalidRequest.Code
		out = append(out, t)
	}
	return out
}

func nextCursor(topic string, partition int32) *kmsg.DescribeTopicPartitionsResponseNextCursor {
	c := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
	c.Topic, c.Partition = topic, partition
	return &c
}

// describedTopic describes up to limit partitions of a topic, from first on.
func describedTopic(image *metadata.Image, name, listener string, first int32, limit int) kmsg.DescribeTopicPartitionsResponseTopic {
	out := kmsg.NewDescribeTopicPartitionsResponseTopic()
	out.Topic, out.IsInternal, out.AuthorizedOperations = &name, internalTopic(name), topicOperations
	t := image.Topics.ByName(name)
	switch {
	case t == nil && topicNameFault(name) != "":
		out.ErrorCode = kerr.InvalidTopicException.Code
		return out
	case t == nil:
		out.ErrorCode = kerr.UnknownTopicOrPartition.Code
		return out
	}
	out.TopicID = t.ID
	for n := int(first); n < len(t.Partitions) && len(out.Partitions) < limit; n++ {
		p := t.Partitions[n]
		op := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
		op.Partition, op.LeaderEpoch = int32(n), int32(p.LeaderEpoch)
		op.LeaderID, op.ErrorCode = leaderOf(image, p, listener, true)
		op.Replicas, op.ISR = p.Replicas, p.ISR
		// The Java client cannot take null for these two.
		op.EligibleLeaderReplicas = append([]int32{}, p.ELR...)
		op.LastKnownELR = append([]int32{}, p.LastKnownELR...)
		op.OfflineReplicas = offlineReplicas(image, p, listener)
		out.Partitions = append(out.Partitions, op)
	}
	return out
}
