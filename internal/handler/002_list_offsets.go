package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/replica"
	"github.com/samsalog/samsa/internal/wire"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// specialTimestampSince is the version of ListOffsets that first knows a special timestamp.
func specialTimestampSince(ts int64) int16 {
	switch ts {
	case replica.LatestTimestamp, replica.EarliestTimestamp:
		return 0
	case replica.MaxTimestamp: // KIP-734
		return 7
	case replica.EarliestLocalTimestamp: // KIP-405
		return 8
	case replica.LatestTieredTimestamp: // KIP-1005
		return 9
	case replica.EarliestPendingTimestamp: // KIP-1023
		return 11
	default:
		return maxInt16
	}
}

const maxInt16 = 1<<15 - 1

// listOffsets finds offsets by timestamp or by position. Version 0, which Kafka 4 dropped, answers with a
// list of one offset.
func (h *Handler) listOffsets(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.ListOffsetsRequest)
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	image := h.deps.Metadata.Image()
	seen := map[record.TopicPartition]int{}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			seen[record.TopicPartition{Topic: t.Topic, Partition: p.Partition}]++
		}
	}
	at := map[string]int{} // a topic has one entry in the answer, however often the request names it
	for _, t := range req.Topics {
		n, ok := at[t.Topic]
		if !ok {
			n = len(resp.Topics)
			at[t.Topic] = n
			rt := kmsg.NewListOffsetsResponseTopic()
			rt.Topic = t.Topic
			resp.Topics = append(resp.Topics, rt)
		}
		out := &resp.Topics[n]
		for i := range t.Partitions {
			tp := record.TopicPartition{Topic: t.Topic, Partition: t.Partitions[i].Partition}
			if seen[tp] < 0 {
				continue // answered already
			}
			out.Partitions = append(out.Partitions, h.listOffset(image, r, req, t.Topic, &t.Partitions[i], seen[tp] > 1))
			seen[tp] = -1
		}
	}
	return wire.Reply{Body: resp}
}

func (h *Handler) listOffset(image *metadata.Image, r *wire.Request, req *kmsg.ListOffsetsRequest, topic string, p *kmsg.ListOffsetsRequestTopicPartition, twice bool) kmsg.ListOffsetsResponseTopicPartition {
	out := kmsg.NewListOffsetsResponseTopicPartition()
	out.Partition, out.Offset, out.Timestamp, out.LeaderEpoch = p.Partition, -1, -1, -1
	iso, known := isolation(req.IsolationLevel)
	part, err := h.hostedByName(image, topic, p.Partition)
	switch {
	case twice:
		out.ErrorCode = kerr.InvalidRequest.Code
	case err != nil:
		out.ErrorCode = code(err)
	case p.Timestamp < 0 && r.Version < specialTimestampSince(p.Timestamp):
		out.ErrorCode = kerr.UnsupportedVersion.Code
	case !known:
		out.ErrorCode = kerr.UnknownServerError.Code
	default:
		if req.ReplicaID >= 0 {
			iso = storage.LogEnd
		}
		found, err := part.ListOffset(p.Timestamp, iso, record.LeaderEpoch(p.CurrentLeaderEpoch))
		if err != nil {
			out.ErrorCode = code(err)
			break
		}
		out.Offset, out.Timestamp, out.LeaderEpoch = int64(found.Offset), found.Timestamp, int32(found.LeaderEpoch)
		if r.Version == 0 && found.Offset >= 0 {
			out.OldStyleOffsets = []int64{int64(found.Offset)}
		}
	}
	return out
}

// isolation turns the wire's isolation level into the bound of a read.
func isolation(level int8) (storage.Isolation, bool) {
	switch level {
	case 0:
		return storage.HighWatermark, true
	case 1:
		return storage.TxnCommitted, true
	default:
		return storage.HighWatermark, false
	}
}
