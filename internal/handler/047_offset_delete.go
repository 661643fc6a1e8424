package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// offsetDelete deletes positions that a group has stored.
func (h *Handler) offsetDelete(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Groups.OffsetDelete(ctx, caller(ctx, r), r.Body.(*kmsg.OffsetDeleteRequest))}
}
