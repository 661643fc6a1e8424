package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// addPartitionsToTxn adds partitions to transactions, or tells whether they have them.
func (h *Handler) addPartitionsToTxn(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Transactions.AddPartitions(ctx, r.Body.(*kmsg.AddPartitionsToTxnRequest))}
}
