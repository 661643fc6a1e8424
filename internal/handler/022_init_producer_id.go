package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// initProducerID hands out producer ids to idempotent producers. Transactions are not served: a
// transactional id is refused with UNSUPPORTED_VERSION, which every client takes as final.
func (h *Handler) initProducerID(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.InitProducerIDRequest)
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	switch {
	case req.TransactionalID == nil:
		id, err := h.deps.ProducerIDs.Next()
		if err != nil {
			h.deps.Logger.Error("cannot take a new block of producer ids", "err", err)
			resp.ErrorCode = kerr.CoordinatorLoadInProgress.Code
			break
		}
		resp.ProducerID, resp.ProducerEpoch = int64(id), 0
	case *req.TransactionalID == "":
		resp.ErrorCode = kerr.InvalidRequest.Code
	default:
		resp.ErrorCode = kerr.UnsupportedVersion.Code
	}
	return wire.Reply{Body: resp}
}
