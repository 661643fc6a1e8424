package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// updateFeatures has the controller change finalized levels of features.
func (h *Handler) updateFeatures(_ context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Controller.UpdateFeatures(r.Body.(*kmsg.UpdateFeaturesRequest))}
}
