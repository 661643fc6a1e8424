package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// offsetFetch tells the positions that groups have stored.
func (h *Handler) offsetFetch(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Groups.OffsetFetch(ctx, caller(ctx, r), r.Body.(*kmsg.OffsetFetchRequest))}
}
