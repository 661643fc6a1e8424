package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// shareGroupHeartbeat is how members of share groups join, stay and leave (KIP-932).
func (h *Handler) shareGroupHeartbeat(ctx context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.ShareGroupHeartbeatRequest)
	if req.MemberID == "" || len(req.MemberID) > longestMemberID {
		resp := kmsg.NewPtrShareGroupHeartbeatResponse()
		resp.Version, resp.ErrorCode = req.Version, kerr.InvalidRequest.Code
		return wire.Reply{Body: resp}
	}
	return wire.Reply{Body: h.deps.Groups.ShareGroupHeartbeat(ctx, caller(ctx, r), req)}
}
