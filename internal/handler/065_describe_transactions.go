package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// describeTransactions shows transactional ids.
func (h *Handler) describeTransactions(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Transactions.DescribeTransactions(ctx, r.Body.(*kmsg.DescribeTransactionsRequest))}
}
