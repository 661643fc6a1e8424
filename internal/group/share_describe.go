package group

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
)

type describedShares = kmsg.ShareGroupDescribeResponseGroup

// ShareGroupDescribe answers a ShareGroupDescribe request (version 1).
func (s *Service) ShareGroupDescribe(_ context.Context, _ Caller, req *kmsg.ShareGroupDescribeRequest) *kmsg.ShareGroupDescribeResponse {
	r := kmsg.NewPtrShareGroupDescribeResponse()
	r.Version = req.Version
	enabled := s.servesShares()
	for _, id := range req.GroupIDs {
		var d describedShares
		switch {
		case !enabled:
			d = describeSharesFailed(kerr.UnsupportedVersion.Code)
		case id == "":
			d = describeSharesFailed(kerr.InvalidGroupID.Code)
		default:
			d = s.describeShares(id)
		}
		d.GroupID = id
		if req.IncludeAuthorizedOperations && d.ErrorCode == 0 {
			d.AuthorizedOperations = allGroupOperations
		}
		r.Groups = append(r.Groups, d)
	}
	return r
}

func (s *Service) describeShares(id string) describedShares {
	return ask(s, id, false, func(m *machine, a *answer[describedShares]) coord.Result {
		d := describeSharesFailed(kerr.GroupIDNotFound.Code)
		switch g := m.shareOf(id); {
		case g != nil:
			d = g.Describe(m.view())
		case m.taken(id):
			d.ErrorMessage = kmsg.StringPtr("Group " + id + " is not a share group.")
		default:
			d.ErrorMessage = kmsg.StringPtr("Group " + id + " not found.")
		}
		return coord.After(func(err error) {
			if err != nil {
				d = describeSharesFailed(code(err))
			}
			a.give(d)
		})
	}, describeSharesFailed)
}

func describeSharesFailed(errorCode int16) describedShares {
	d := kmsg.NewShareGroupDescribeResponseGroup()
	d.ErrorCode = errorCode
	return d
}
