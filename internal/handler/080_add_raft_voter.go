package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// addRaftVoter answers that there is one controller only.
func (h *Handler) addRaftVoter(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.AddRaftVoterRequest)
	resp := req.ResponseKind().(*kmsg.AddRaftVoterResponse)
	resp.ErrorCode, resp.ErrorMessage = h.deps.Controller.AddRaftVoter(req).Wire()
	return wire.Reply{Body: resp}
}
