package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// listTransactions lists the transactional ids that this node coordinates.
func (h *Handler) listTransactions(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Transactions.ListTransactions(ctx, r.Body.(*kmsg.ListTransactionsRequest))}
}
