package share

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/share/window"
	"github.com/samsalog/samsa/record"
)

// Persister keeps the durable state of share partitions. Calls block until the answer stands; errors are codes inside.
type Persister interface {
	InitializeState(ctx context.Context, r *kmsg.InitializeShareGroupStateRequest) *kmsg.InitializeShareGroupStateResponse
	ReadState(ctx context.Context, r *kmsg.ReadShareGroupStateRequest) *kmsg.ReadShareGroupStateResponse
	WriteState(ctx context.Context, r *kmsg.WriteShareGroupStateRequest) *kmsg.WriteShareGroupStateResponse
	DeleteState(ctx context.Context, r *kmsg.DeleteShareGroupStateRequest) *kmsg.DeleteShareGroupStateResponse
	ReadStateSummary(ctx context.Context, r *kmsg.ReadShareGroupStateSummaryRequest) *kmsg.ReadShareGroupStateSummaryResponse
}

// The versions of the persister's requests that are made.
const (
	readVersion  = 0
	writeVersion = 1 // with the count of completed deliveries
)

// readRequest asks for the state of a share partition.
func readRequest(k Key, leader record.LeaderEpoch) *kmsg.ReadShareGroupStateRequest {
	r := kmsg.NewPtrReadShareGroupStateRequest()
	r.Version, r.GroupID = readVersion, k.Group
	t := kmsg.NewReadShareGroupStateRequestTopic()
	t.TopicID = k.Topic
	p := kmsg.NewReadShareGroupStateRequestTopicPartition()
	p.Partition, p.LeaderEpoch = k.Partition, int32(leader)
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	return r
}

// persisted is what a Persister read.
type persisted struct {
	stateEpoch int32
	start      record.Offset
	batches    []window.StateBatch
}

// readAnswer takes the state of a share partition out of an answer.
func readAnswer(k Key, r *kmsg.ReadShareGroupStateResponse) (persisted, error) {
	if r == nil || len(r.Topics) != 1 || r.Topics[0].TopicID != k.Topic || len(r.Topics[0].Partitions) != 1 || r.Topics[0].Partitions[0].Partition != k.Partition {
		return persisted{}, kerr.UnknownServerError
	}
	p := &r.Topics[0].Partitions[0]
	if err := persisterError(p.ErrorCode); err != nil {
		return persisted{}, err
	}
	out := persisted{stateEpoch: p.StateEpoch, start: record.Offset(p.StartOffset)}
	for _, b := range p.StateBatches {
		out.batches = append(out.batches, window.StateBatch{
			Span:  window.Span{First: record.Offset(b.FirstOffset), Last: record.Offset(b.LastOffset)},
			State: window.State(b.DeliveryState), Count: b.DeliveryCount,
		})
	}
	return out, nil
}

// writeRequest persists states of a share partition.
func writeRequest(k Key, leader record.LeaderEpoch, stateEpoch int32, start record.Offset, complete int64, batches []window.StateBatch) *kmsg.WriteShareGroupStateRequest {
	r := kmsg.NewPtrWriteShareGroupStateRequest()
	r.Version, r.GroupID = writeVersion, k.Group
	t := kmsg.NewWriteShareGroupStateRequestTopic()
	t.TopicID = k.Topic
	p := kmsg.NewWriteShareGroupStateRequestTopicPartition()
	p.Partition, p.StateEpoch, p.LeaderEpoch, p.StartOffset = k.Partition, stateEpoch, int32(leader), int64(start)
	p.DeliveryCompleteCount = int32(min(complete, 1<<31-1))
	for _, b := range batches {
		s := kmsg.NewWriteShareGroupStateRequestTopicPartitionStateBatch()
		s.FirstOffset, s.LastOffset, s.DeliveryState, s.DeliveryCount = int64(b.First), int64(b.Last), int8(b.State), b.Count
		p.StateBatches = append(p.StateBatches, s)
	}
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	return r
}

func writeAnswer(k Key, r *kmsg.WriteShareGroupStateResponse) error {
	if r == nil || len(r.Topics) != 1 || r.Topics[0].TopicID != k.Topic || len(r.Topics[0].Partitions) != 1 || r.Topics[0].Partitions[0].Partition != k.Partition {
		return kerr.UnknownServerError
	}
	return persisterError(r.Topics[0].Partitions[0].ErrorCode)
}

// persisterError is what a client is told of an error of the persister (SharePartition.fetchPersisterError).
func persisterError(code int16) error {
	switch code {
	case 0:
		return nil
	case kerr.NotCoordinator.Code, kerr.CoordinatorNotAvailable.Code, kerr.CoordinatorLoadInProgress.Code:
		return kerr.CoordinatorNotAvailable
	case kerr.GroupIDNotFound.Code:
		return kerr.GroupIDNotFound
	case kerr.UnknownTopicOrPartition.Code:
		return kerr.UnknownTopicOrPartition
	case kerr.FencedLeaderEpoch.Code, kerr.FencedStateEpoch.Code:
		return kerr.NotLeaderForPartition
	default:
		return kerr.UnknownServerError
	}
}

// fences reports whether after such an error the share partition must be loaded anew (SHR-3).
func fences(err error) bool {
	return err == error(kerr.NotLeaderForPartition) || err == error(kerr.GroupIDNotFound) || err == error(kerr.UnknownTopicOrPartition)
}
