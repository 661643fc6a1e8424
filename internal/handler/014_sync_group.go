package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// syncGroup hands a member its assignment; it waits for the group's leader.
func (h *Handler) syncGroup(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Groups.SyncGroup(ctx, caller(ctx, r), r.Body.(*kmsg.SyncGroupRequest))}
}
