package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// createPartitions has the controller add partitions to topics.
func (h *Handler) createPartitions(_ context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Controller.CreatePartitions(r.Body.(*kmsg.CreatePartitionsRequest))}
}
