package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// writeTxnMarkers ends transactions on partitions of this node, as their coordinator, or a person, wants it.
func (h *Handler) writeTxnMarkers(_ context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Transactions.WriteMarkers(r.Body.(*kmsg.WriteTxnMarkersRequest), code)}
}
