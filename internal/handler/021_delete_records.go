package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/controller"
	"github.com/samsalog/samsa/internal/wire"
	"github.com/samsalog/samsa/record"
)

// deleteRecords raises log starts. With one replica nobody else has to follow, so nothing waits.
func (h *Handler) deleteRecords(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.DeleteRecordsRequest)
	resp := req.ResponseKind().(*kmsg.DeleteRecordsResponse)
	image := h.deps.Metadata.Image()
	for _, t := range req.Topics {
		out := kmsg.NewDeleteRecordsResponseTopic()
		out.Topic = t.Topic
		for _, p := range t.Partitions {
			op := kmsg.NewDeleteRecordsResponseTopicPartition()
			op.Partition, op.LowWatermark = p.Partition, -1
			part, err := h.hostedByName(image, t.Topic, p.Partition)
			if err == nil && h.deps.ReadOnly {
				err = controller.ReadOnly()
			}
			if err == nil {
				var low record.Offset
				low, err = part.DeleteRecords(record.Offset(p.Offset))
				op.LowWatermark = int64(low)
			}
			op.ErrorCode = code(err)
			out.Partitions = append(out.Partitions, op)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return wire.Reply{Body: resp}
}
