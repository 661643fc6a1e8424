package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// unregisterBroker forgets a broker that has stopped for good.
func (h *Handler) unregisterBroker(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.UnregisterBrokerRequest)
	resp := req.ResponseKind().(*kmsg.UnregisterBrokerResponse)
	resp.ErrorCode, resp.ErrorMessage = h.deps.Controller.UnregisterBroker(req.BrokerID).Wire()
	return wire.Reply{Body: resp}
}
