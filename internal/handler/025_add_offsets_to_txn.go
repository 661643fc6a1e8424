package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// addOffsetsToTxn adds the partition that holds a group's offsets to a transaction.
func (h *Handler) addOffsetsToTxn(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Transactions.AddOffsets(ctx, r.Body.(*kmsg.AddOffsetsToTxnRequest))}
}
