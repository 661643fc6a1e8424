package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// Kafka's texts of SECURITY_DISABLED: without an authorizer nobody is told which ACLs the metadata keeps.
const (
	noAuthorizer         = "No Authorizer is configured."
	noAuthorizerToShowBy = "No Authorizer is configured on the broker"
)

// describeACLs (29) answers what Kafka does without an authorizer.
func (h *Handler) describeACLs(_ context.Context, r *wire.Request) wire.Reply {
	resp := r.Body.ResponseKind().(*kmsg.DescribeACLsResponse)
	resp.ErrorCode, resp.ErrorMessage = kerr.SecurityDisabled.Code, kmsg.StringPtr(noAuthorizerToShowBy)
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
