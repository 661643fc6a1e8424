package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// consumerGroupHeartbeat is how members of the consumer protocol join, stay and leave (KIP-848).
func (h *Handler) consumerGroupHeartbeat(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Groups.ConsumerGroupHeartbeat(ctx, caller(ctx, r), r.Body.(*kmsg.ConsumerGroupHeartbeatRequest))}
}
