package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/controller"
	"github.com/samsalog/samsa/internal/wire"
)

// streamsGroupHeartbeat is how members of the streams protocol join, stay and leave (KIP-1071).
func (h *Handler) streamsGroupHeartbeat(ctx context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.StreamsGroupHeartbeatRequest)
	if name, ok := refusedTopic(req.Topology); ok {
		resp := kmsg.NewPtrStreamsGroupHeartbeatResponse()
		resp.Status = []kmsg.StreamsGroupHeartbeatResponseStatus{}
		resp.Version, resp.ErrorCode = req.Version, kerr.StreamsInvalidTopology.Code
		resp.ErrorMessage = kmsg.StringPtr("An application cannot have a topic called " + name + ".")
		return wire.Reply{Body: resp}
	}
	return wire.Reply{Body: h.deps.Groups.StreamsGroupHeartbeat(ctx, caller(ctx, r), req)}
}

// refusedTopic finds a topic that an application cannot have: the broker's own, and those that no topic can be called.
func refusedTopic(t *kmsg.StreamsGroupHeartbeatRequestTopology) (string, bool) {
	if t == nil {
		return "", false
	}
	for i := range t.Subtopologies {
		s := &t.Subtopologies[i]
		names := append(append([]string(nil), s.SourceTopics...), s.RepartitionSinkTopics...)
		for _, topics := range [][]kmsg.TopicInfo{s.RepartitionSourceTopics, s.StateChangelogTopics} {
			for _, x := range topics {
				names = append(names, x.Topic)
			}
		}
		for _, name := range names {
			if internalTopic(name) || controller.CheckTopicName(name) != nil {
				return name, true
			}
		}
	}
	return "", false
}
