package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// txnOffsetCommit stores the positions of a group as part of a transaction.
func (h *Handler) txnOffsetCommit(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Groups.TxnOffsetCommit(ctx, caller(ctx, r), r.Body.(*kmsg.TxnOffsetCommitRequest))}
}
