package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// noAuthorizer is the text of SECURITY_DISABLED: there are no ACLs to ask for without an authorizer.
const noAuthorizer = "No authorizer is configured."

// describeACLs (29) answers what Kafka does without an authorizer.
func (h *Handler) describeACLs(_ context.Context, r *wire.Request) wire.Reply {
	resp := r.Body.ResponseKind().(*kmsg.DescribeACLsResponse)
	resp.ErrorCode, resp.ErrorMessage = kerr.SecurityDisabled.Code, kmsg.StringPtr(noAuthorizer)
	return wire.Reply{Body: resp}
}

// createACLs (30) refuses each.
func (h *Handler) createACLs(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.CreateACLsRequest)
	resp := req.ResponseKind().(*kmsg.CreateACLsResponse)
	for range req.Creations {
		out := kmsg.NewCreateACLsResponseResult()
		out.ErrorCode, out.ErrorMessage = kerr.SecurityDisabled.Code, kmsg.StringPtr(noAuthorizer)
		resp.Results = append(resp.Results, out)
	}
	return wire.Reply{Body: resp}
}

// deleteACLs (31) refuses each.
func (h *Handler) deleteACLs(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.DeleteACLsRequest)
	resp := req.ResponseKind().(*kmsg.DeleteACLsResponse)
	for range req.Filters {
		out := kmsg.NewDeleteACLsResponseResult()
		out.ErrorCode, out.ErrorMessage = kerr.SecurityDisabled.Code, kmsg.StringPtr(noAuthorizer)
		resp.Results = append(resp.Results, out)
	}
	return wire.Reply{Body: resp}
}
