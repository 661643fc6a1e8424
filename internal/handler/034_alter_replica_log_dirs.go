package handler

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/controller"
	"github.com/samsalog/samsa/internal/wire"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/logdir"
)

// alterReplicaLogDirs moves replicas into other log directories of this node. It answers when the copying has begun.
func (h *Handler) alterReplicaLogDirs(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.AlterReplicaLogDirsRequest)
	resp := req.ResponseKind().(*kmsg.AlterReplicaLogDirsResponse)
	at := map[string]int{} // a topic may be asked for with several directories
	for _, d := range req.Dirs {
		for _, t := range d.Topics {
			i, ok := at[t.Topic]
			if !ok {
				i = len(resp.Topics)
				at[t.Topic] = i
				rt := kmsg.NewAlterReplicaLogDirsResponseTopic()
				rt.Topic = t.Topic
				resp.Topics = append(resp.Topics, rt)
			}
			for _, n := range t.Partitions {
				p := kmsg.NewAlterReplicaLogDirsResponseTopicPartition()
				p.Partition = n
				p.ErrorCode = h.moveReplica(record.TopicPartition{Topic: t.Topic, Partition: n}, d.Dir)
				resp.Topics[i].Partitions = append(resp.Topics[i].Partitions, p)
			}
		}
	}
	return wire.Reply{Body: resp}
}

// moveReplica asks for one move and returns the error code.
func (h *Handler) moveReplica(tp record.TopicPartition, dir string) int16 {
	if h.deps.ReadOnly {
		return controller.ReadOnly().Code.Code
	}
	t := h.deps.Metadata.Image().Topics.ByName(tp.Topic)
	known := t != nil && tp.Partition >= 0 && int(tp.Partition) < len(t.Partitions)
	err := h.deps.LogDirs.Move(tp, dir)
	switch {
	case errors.Is(err, logdir.ErrNoSuchDirectory):
		return kerr.LogDirNotFound.Code
	case errors.Is(err, logdir.ErrNotFound) && known:
		return kerr.ReplicaNotAvailable.Code
	case errors.Is(err, logdir.ErrNotFound):
		return kerr.UnknownTopicOrPartition.Code
	case errors.Is(err, logdir.ErrNameTooLong):
		return kerr.InvalidTopicException.Code
	case err != nil:
		return kerr.KafkaStorageError.Code
	}
	return 0
}
