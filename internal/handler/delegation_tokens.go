package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// Who everybody is on a listener without authentication.
const (
	anonymousType = "User"
	anonymousName = "ANONYMOUS"
)

// createDelegationToken (38) refuses: tokens are not given to clients that have not authenticated (KIP-48).
func (h *Handler) createDelegationToken(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.CreateDelegationTokenRequest)
	resp := req.ResponseKind().(*kmsg.CreateDelegationTokenResponse)
	resp.ErrorCode = kerr.DelegationTokenRequestNotAllowed.Code
	resp.PrincipalType, resp.PrincipalName = anonymousType, anonymousName
	resp.TokenRequesterPrincipalType, resp.TokenRequesterPrincipalName = anonymousType, anonymousName
	if req.OwnerPrincipalName != nil && *req.OwnerPrincipalName != "" {
		resp.PrincipalName = *req.OwnerPrincipalName
		if req.OwnerPrincipalType != nil {
			resp.PrincipalType = *req.OwnerPrincipalType
		}
	}
	resp.IssueTimestamp, resp.ExpiryTimestamp, resp.MaxTimestamp = -1, -1, -1
	return wire.Reply{Body: resp}
}

// renewDelegationToken (39) refuses likewise.
func (h *Handler) renewDelegationToken(_ context.Context, r *wire.Request) wire.Reply {
	resp := r.Body.ResponseKind().(*kmsg.RenewDelegationTokenResponse)
	resp.ErrorCode, resp.ExpiryTimestamp = kerr.DelegationTokenRequestNotAllowed.Code, -1
	return wire.Reply{Body: resp}
}

// expireDelegationToken (40) refuses likewise.
func (h *Handler) expireDelegationToken(_ context.Context, r *wire.Request) wire.Reply {
	resp := r.Body.ResponseKind().(*kmsg.ExpireDelegationTokenResponse)
	resp.ErrorCode, resp.ExpiryTimestamp = kerr.DelegationTokenRequestNotAllowed.Code, -1
	return wire.Reply{Body: resp}
}

// describeDelegationToken (41) refuses likewise.
func (h *Handler) describeDelegationToken(_ context.Context, r *wire.Request) wire.Reply {
	resp := r.Body.ResponseKind().(*kmsg.DescribeDelegationTokenResponse)
	resp.ErrorCode = kerr.DelegationTokenRequestNotAllowed.Code
	return wire.Reply{Body: resp}
}
