package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// deleteGroups deletes groups without members.
func (h *Handler) deleteGroups(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Groups.DeleteGroups(ctx, caller(ctx, r), r.Body.(*kmsg.DeleteGroupsRequest))}
}
