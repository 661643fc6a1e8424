package txn

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/producer"
)

// WriteMarkers answers a WriteTxnMarkers request (versions 1 and 2): of the coordinator of another node, or of a person
// who aborts a transaction that hangs (KIP-664). codeOf says what an error of Options.Append means.
func (s *Service) WriteMarkers(req *kmsg.WriteTxnMarkersRequest, codeOf func(error) int16) *kmsg.WriteTxnMarkersResponse {
	r := kmsg.NewPtrWriteTxnMarkersResponse()
	r.Version = req.Version
	for i := range req.Markers {
		r.Markers = append(r.Markers, s.writeRequested(&req.Markers[i], codeOf))
	}
	return r
}

func (s *Service) writeRequested(in *kmsg.WriteTxnMarkersRequestMarker, codeOf func(error) int16) kmsg.WriteTxnMarkersResponseMarker {
	out := kmsg.NewWriteTxnMarkersResponseMarker()
	out.ProducerID = in.ProducerID
	m := coord.Marker{
		ProducerID: record.ProducerID(in.ProducerID), ProducerEpoch: record.ProducerEpoch(in.ProducerEpoch), Commit: in.Committed,
		CoordinatorEpoch: in.CoordinatorEpoch, TxnVersion: int16(in.TransactionVersion),
	}
	for _, t := range in.Topics {
		x := kmsg.NewWriteTxnMarkersResponseMarkerTopic()
		x.Topic = t.Topic
		for _, p := range t.Partitions {
			tp := record.TopicPartition{Topic: t.Topic, Partition: p}
			q := kmsg.NewWriteTxnMarkersResponseMarkerTopicPartition()
			q.Partition = p
			switch {
			case !s.o.Exists(tp):
				q.ErrorCode = kerr.UnknownTopicOrPartition.Code
			case t.Topic == s.o.OffsetsTopic:
				q.ErrorCode = groupsCode(s.writeMarker(tp, m))
			default:
				q.ErrorCode = codeOf(s.writeMarker(tp, m))
			}
			x.Partitions = append(x.Partitions, q)
		}
		out.Topics = append(out.Topics, x)
	}
	return out
}

// groupsCode is the code of a marker that the group coordinator has not written. Whatever ails it, the sender is to try
// again, which it does for NOT_LEADER_OR_FOLLOWER.
func groupsCode(err error) int16 {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, producer.ErrInvalidProducerEpoch):
		return kerr.InvalidProducerEpoch.Code
	case errors.Is(err, producer.ErrCoordinatorFenced):
		return kerr.TransactionCoordinatorFenced.Code
	}
	return kerr.NotLeaderForPartition.Code
}
