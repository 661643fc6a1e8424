package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// endTxn commits or aborts a transaction.
func (h *Handler) endTxn(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Transactions.EndTxn(ctx, r.Body.(*kmsg.EndTxnRequest))}
}
