package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// describeGroups describes groups with their members.
func (h *Handler) describeGroups(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Groups.DescribeGroups(ctx, caller(ctx, r), r.Body.(*kmsg.DescribeGroupsRequest))}
}
