package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// readShareGroupStateSummary tells where share partitions stand.
func (h *Handler) readShareGroupStateSummary(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.ShareState.ReadStateSummary(ctx, r.Body.(*kmsg.ReadShareGroupStateSummaryRequest))}
}
