package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// alterClientQuotas has the controller set and remove quotas.
func (h *Handler) alterClientQuotas(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Controller.AlterClientQuotas(ctx, r.Body.(*kmsg.AlterClientQuotasRequest))}
}
