package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// shareGroupDescribe describes share groups with their members.
func (h *Handler) shareGroupDescribe(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Groups.ShareGroupDescribe(ctx, caller(ctx, r), r.Body.(*kmsg.ShareGroupDescribeRequest))}
}
