package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// initProducerID gives a producer its id and epoch, and fences those before it.
func (h *Handler) initProducerID(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Transactions.InitProducerID(ctx, r.Body.(*kmsg.InitProducerIDRequest))}
}
