package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// leaveGroup takes members out of a group.
func (h *Handler) leaveGroup(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Groups.LeaveGroup(ctx, caller(ctx, r), r.Body.(*kmsg.LeaveGroupRequest))}
}
