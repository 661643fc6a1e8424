package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// initializeShareGroupState begins the state of share partitions, for group coordinators.
func (h *Handler) initializeShareGroupState(ctx context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.ShareState.InitializeState(ctx, r.Body.(*kmsg.InitializeShareGroupStateRequest))}
}
