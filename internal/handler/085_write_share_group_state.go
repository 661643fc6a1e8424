package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// writeShareGroupState keeps what share-partition leaders have seen happen.
func (h *Handler) writeShareGroupState(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.ShareState.WriteState(ctx, r.Body.(*kmsg.WriteShareGroupStateRequest))}
}
