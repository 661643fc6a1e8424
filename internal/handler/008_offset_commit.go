package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// offsetCommit stores the positions of a group.
func (h *Handler) offsetCommit(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Groups.OffsetCommit(ctx, caller(ctx, r), r.Body.(*kmsg.OffsetCommitRequest))}
}
