package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// joinGroup takes a member into a group; it waits for the group's rebalance.
func (h *Handler) joinGroup(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Groups.JoinGroup(ctx, caller(ctx, r), r.Body.(*kmsg.JoinGroupRequest))}
}
