package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// streamsGroupTopologyDescriptionUpdate would keep what an application looks like inside (KIP-1331).
func (h *Handler) streamsGroupTopologyDescriptionUpdate(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Groups.StreamsGroupTopologyDescriptionUpdate(ctx, caller(ctx, r), r.Body.(*kmsg.StreamsGroupTopologyDescriptionUpdateRequest))}
}
