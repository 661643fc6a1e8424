package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// deleteShareGroupOffsets has share groups without members forget topics.
func (h *Handler) deleteShareGroupOffsets(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Groups.DeleteShareGroupOffsets(ctx, caller(ctx, r), r.Body.(*kmsg.DeleteShareGroupOffsetsRequest))}
}
