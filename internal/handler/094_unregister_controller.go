package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// unregisterController forgets another controller.
func (h *Handler) unregisterController(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.UnregisterControllerRequest)
	resp := req.ResponseKind().(*kmsg.UnregisterControllerResponse)
	resp.ErrorCode, resp.ErrorMessage = h.deps.Controller.UnregisterController(req.ControllerID).Wire()
	return wire.Reply{Body: resp}
}
