package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// deleteShareGroupState forgets share partitions, for group coordinators.
func (h *Handler) deleteShareGroupState(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.ShareState.DeleteState(ctx, r.Body.(*kmsg.DeleteShareGroupStateRequest))}
}
