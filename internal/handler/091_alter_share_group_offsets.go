package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// alterShareGroupOffsets has share groups without members begin elsewhere.
func (h *Handler) alterShareGroupOffsets(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Groups.AlterShareGroupOffsets(ctx, caller(ctx, r), r.Body.(*kmsg.AlterShareGroupOffsetsRequest))}
}
