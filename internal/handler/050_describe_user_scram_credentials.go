package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/wire"
)

// describeUserScramCredentials tells mechanisms and iterations of users, of all when none are named; never keys.
func (h *Handler) describeUserScramCredentials(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.DescribeUserSCRAMCredentialsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeUserSCRAMCredentialsResponse)
	image := h.deps.Metadata.Image()
	if image.MetadataVersion() < metadata.ScramVersion {
		resp.ErrorCode, resp.ErrorMessage = kerr.UnsupportedVersion.Code, kmsg.StringPtr("metadata.version has no SCRAM credentials")
		return wire.Reply{Body: resp}
	}
	resp.ErrorMessage = new(string)
	found, order := scramInfos(image)
	times := map[string]int{}
	for _, u := range req.Users {
		times[u.Name]++
	}
	if len(req.Users) > 0 {
		order = nil
		for _, u := range req.Users {
			if times[u.Name] > 0 {
				order = append(order, u.Name)
			}
			if times[u.Name] > 1 {
				found[u.Name], times[u.Name] = nil, -1
			}
		}
	}
	for _, user := range order {
		resp.Results = append(resp.Results, scramResult(user, found[user], times[user] < 0))
	}
	return wire.Reply{Body: resp}
}

// scramInfos are the credentials by user, and the users in order.
func scramInfos(image *metadata.Image) (map[string][]kmsg.DescribeUserSCRAMCredentialsResponseResultCredentialInfo, []string) {
	found := map[string][]kmsg.DescribeUserSCRAMCredentialsResponseResultCredentialInfo{}
	var users []string
	for c := range image.ScramCredentials() {
		if found[c.Name] == nil {
			users = append(users, c.Name)
		}
		info := kmsg.NewDescribeUserSCRAMCredentialsResponseResultCredentialInfo()
		info.Mechanism, info.Iterations = c.Mechanism, c.Iterations
		found[c.Name] = append(found[c.Name], info)
	}
	return found, users
}

func scramResult(user string, infos []kmsg.DescribeUserSCRAMCredentialsResponseResultCredentialInfo, twice bool) kmsg.DescribeUserSCRAMCredentialsResponseResult {
	out := kmsg.NewDescribeUserSCRAMCredentialsResponseResult()
	out.User, out.CredentialInfos, out.ErrorMessage = user, infos, new(string)
	switch {
	case twice:
		out.ErrorCode, out.ErrorMessage = kerr.DuplicateResource.Code, kmsg.StringPtr("the user is named twice")
	case infos == nil:
		out.ErrorCode, out.ErrorMessage = kerr.ResourceNotFound.Code, kmsg.StringPtr("the user has no credentials")
	}
	return out
}
