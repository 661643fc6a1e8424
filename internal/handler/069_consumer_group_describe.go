package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// consumerGroupDescribe describes groups of the consumer protocol with their members.
func (h *Handler) consumerGroupDescribe(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Groups.ConsumerGroupDescribe(ctx, caller(ctx, r), r.Body.(*kmsg.ConsumerGroupDescribeRequest))}
}
