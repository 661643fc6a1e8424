package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// heartbeat tells that a member is alive, and the member whether its group rebalances.
func (h *Handler) heartbeat(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Groups.Heartbeat(ctx, caller(ctx, r), r.Body.(*kmsg.HeartbeatRequest))}
}
