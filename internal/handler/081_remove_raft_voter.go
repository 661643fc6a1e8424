package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// removeRaftVoter answers that nobody would be left.
func (h *Handler) removeRaftVoter(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.RemoveRaftVoterRequest)
	resp := req.ResponseKind().(*kmsg.RemoveRaftVoterResponse)
	resp.ErrorCode, resp.ErrorMessage = h.deps.Controller.RemoveRaftVoter(req).Wire()
	return wire.Reply{Body: resp}
}
