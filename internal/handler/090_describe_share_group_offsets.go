package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// describeShareGroupOffsets tells where share groups stand.
func (h *Handler) describeShareGroupOffsets(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Groups.DescribeShareGroupOffsets(ctx, caller(ctx, r), r.Body.(*kmsg.DescribeShareGroupOffsetsRequest))}
}
