package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
	"github.com/samsalog/samsa/record"
)

// offsetForLeaderEpoch tells where leader epochs ended (KIP-320).
func (h *Handler) offsetForLeaderEpoch(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.OffsetForLeaderEpochRequest)
	resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	image := h.deps.Metadata.Image()
	for _, t := range req.Topics {
		out := kmsg.NewOffsetForLeaderEpochResponseTopic()
		out.Topic = t.Topic
		for _, p := range t.Partitions {
			op := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			op.Partition, op.LeaderEpoch, op.EndOffset = p.Partition, -1, -1
			part, err := h.hostedByName(image, t.Topic, p.Partition)
			if err == nil {
				var e record.LeaderEpoch
				var end record.Offset
				e, end, err = part.EndOffsetForEpoch(record.LeaderEpoch(p.LeaderEpoch), record.LeaderEpoch(p.CurrentLeaderEpoch))
				op.LeaderEpoch, op.EndOffset = int32(e), int64(end)
			}
			op.ErrorCode = code(err)
			out.Partitions = append(out.Partitions, op)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return wire.Reply{Body: resp}
}
