package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// streamsGroupDescribe describes groups of the streams protocol with their topology and members.
func (h *Handler) streamsGroupDescribe(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Groups.StreamsGroupDescribe(ctx, caller(ctx, r), r.Body.(*kmsg.StreamsGroupDescribeRequest))}
}
