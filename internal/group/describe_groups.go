package group

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
)

type describedGroup = kmsg.DescribeGroupsResponseGroup

// allGroupOperations is the bit field of what may be done with a group when nothing is forbidden: READ (3),
// DELETE (6), DESCRIBE (8), DESCRIBE_CONFIGS (10) and ALTER_CONFIGS (11).
const allGroupOperations = 1<<3 | 1<<6 | 1<<8 | 1<<10 | 1<<11

// DescribeGroups answers a DescribeGroups request (versions 0 to 6).
func (s *Service) DescribeGroups(_ context.Context, _ Caller, req *kmsg.DescribeGroupsRequest) *kmsg.DescribeGroupsResponse {
	r := kmsg.NewPtrDescribeGroupsResponse()
	r.Version = req.Version
	for _, id := range req.Groups {
		d := ask(s, id, true, func(m *machine, a *answer[describedGroup]) coord.Result {
			d := m.describe(id, req.Version)
			return coord.After(func(err error) {
				if err != nil {
					d = describeFailed(code(err))
				}
				a.give(d)
			})
		}, describeFailed)
		d.Group = id
		if req.IncludeAuthorizedOperations && req.Version >= 3 && d.ErrorCode == 0 {
			d.AuthorizedOperations = allGroupOperations
		}
		r.Groups = append(r.Groups, d)
	}
	return r
}

func describeFailed(errorCode int16) describedGroup {
	d := kmsg.NewDescribeGroupsResponseGroup()
	d.ErrorCode = errorCode
	return d
}

// describe shows a classic group. Protocol and metadata are those of a stable generation; assignments are shown
// as long as there are any.
func (m *machine) describe(id string, version int16) describedGroup {
	d := kmsg.NewDescribeGroupsResponseGroup()
	g := m.groups[id]
	if g == nil {
		d.State = Dead.String()
		if version >= 6 {
			d.ErrorCode = kerr.GroupIDNotFound.Code
			d.ErrorMessage = kmsg.StringPtr("Group " + id + " not found.")
		}
		return d
	}
	d.State, d.ProtocolType = g.state.String(), g.protocolType
	if g.state == Stable && g.protocol != nil {
		d.Protocol = *g.protocol
	}
	for _, x := range g.members {
		t := kmsg.NewDescribeGroupsResponseGroupMember()
		t.MemberID, t.InstanceID, t.ClientID, t.ClientHost, t.MemberAssignment = x.id, x.instance, x.clientID, x.clientHost, x.assignment
		if g.state == Stable {
			t.ProtocolMetadata = x.metadata(g.protocol)
		}
		d.Members = append(d.Members, t)
	}
	return d
}
