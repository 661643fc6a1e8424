package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// readShareGroupState tells share-partition leaders what they start from.
func (h *Handler) readShareGroupState(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.ShareState.ReadState(ctx, r.Body.(*kmsg.ReadShareGroupStateRequest))}
}
