package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// listGroups lists the groups that this node coordinates.
func (h *Handler) listGroups(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Groups.ListGroups(ctx, caller(ctx, r), r.Body.(*kmsg.ListGroupsRequest))}
}
