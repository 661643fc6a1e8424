package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// electLeaders has the controller elect leaders where the preferred or any replica does not lead.
func (h *Handler) electLeaders(_ context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Controller.ElectLeaders(r.Body.(*kmsg.ElectLeadersRequest))}
}
