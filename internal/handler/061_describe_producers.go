package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/wire"
)

// describeProducers shows what partitions know of their producers (KIP-664): who holds back the last stable offset.
func (h *Handler) describeProducers(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.DescribeProducersRequest)
	resp := req.ResponseKind().(*kmsg.DescribeProducersResponse)
	image := h.deps.Metadata.Image()
	for _, t := range req.Topics {
		out := kmsg.NewDescribeProducersResponseTopic()
		out.Topic = t.Topic
		for _, p := range t.Partitions {
			out.Partitions = append(out.Partitions, h.partitionProducers(image, t.Topic, p))
		}
		resp.Topics = append(resp.Topics, out)
	}
	return wire.Reply{Body: resp}
}

func (h *Handler) partitionProducers(image *metadata.Image, topic string, partition int32) kmsg.DescribeProducersResponseTopicPartition {
	out := kmsg.NewDescribeProducersResponseTopicPartition()
	out.Partition = partition
	if image.Topics.ByName(topic) == nil {
		out.ErrorCode, out.ErrorMessage = unknownTopic(topic)
		return out
	}
	part, err := h.hostedByName(image, topic, partition)
	if err == nil {
		err = part.CheckLeads()
	}
	if err != nil {
		out.ErrorCode = code(err)
		return out
	}
	for _, e := range part.Log().Producers() {
		a := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
		a.ProducerID, a.ProducerEpoch, a.LastSequence = int64(e.ProducerID), int32(e.ProducerEpoch), int32(e.LastSequence)
		a.LastTimestamp, a.CoordinatorEpoch, a.CurrentTxnStartOffset = e.LastTimestamp, e.CoordinatorEpoch, int64(e.CurrentTxnFirstOffset)
		out.ActiveProducers = append(out.ActiveProducers, a)
	}
	return out
}

// unknownTopic tells why there is no such topic.
func unknownTopic(name string) (int16, *string) {
	if why := topicNameFault(name); why != "" {
		return kerr.InvalidTopicException.Code, &why
	}
	why := kerr.UnknownTopicOrPartition.Description
	return kerr.UnknownTopicOrPartition.Code, &why
}
