package group

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
)

type describedStreams = kmsg.StreamsGroupDescribeResponseGroup

// topologyNotStored is the status of a topology description that was asked for and is not there: nothing keeps them.
const topologyNotStored = 1

// StreamsGroupDescribe answers a StreamsGroupDescribe request (versions 0 and 1).
func (s *Service) StreamsGroupDescribe(_ context.Context, _ Caller, req *kmsg.StreamsGroupDescribeRequest) *kmsg.StreamsGroupDescribeResponse {
	r := kmsg.NewPtrStreamsGroupDescribeResponse()
	r.Version = req.Version
	enabled := s.env.settings().StreamsProtocol
	for _, id := range req.Groups {
		var d describedStreams
		switch {
		case !enabled:
			d = describeStreamsFailed(kerr.UnsupportedVersion.Code)
		case id == "":
			d = describeStreamsFailed(kerr.InvalidGroupID.Code)
		default:
			d = s.describeStreams(id)
		}
		d.Group = id
		if req.IncludeAuthorizedOperations && d.ErrorCode == 0 {
			d.AuthorizedOperations = allGroupOperations
		}
		if req.IncludeTopologyDescription && d.ErrorCode == 0 {
			d.TopologyDescriptionStatus = topologyNotStored
		}
		r.Groups = append(r.Groups, d)
	}
	return r
}

func (s *Service) describeStreams(id string) describedStreams {
	return ask(s, id, false, func(m *machine, a *answer[describedStreams]) coord.Result {
		d := describeStreamsFailed(kerr.GroupIDNotFound.Code)
		if g := m.streamsOf(id); g != nil {
			d = g.Describe(g.live)
		} else {
			d.ErrorMessage = kmsg.StringPtr("Group " + id + " is not a streams group.")
		}
		return coord.After(func(err error) {
			if err != nil {
				d = describeStreamsFailed(code(err))
			}
			a.give(d)
		})
	}, describeStreamsFailed)
}

func describeStreamsFailed(errorCode int16) describedStreams {
	d := kmsg.NewStreamsGroupDescribeResponseGroup()
	d.ErrorCode = errorCode
	return d
}

// StreamsGroupTopologyDescriptionUpdate answers a StreamsGroupTopologyDescriptionUpdate request (version 0) as a broker
// does that has no plugin to keep descriptions (KIP-1331).
func (s *Service) StreamsGroupTopologyDescriptionUpdate(_ context.Context, _ Caller, req *kmsg.StreamsGroupTopologyDescriptionUpdateRequest) *kmsg.StreamsGroupTopologyDescriptionUpdateResponse {
	r := kmsg.NewPtrStreamsGroupTopologyDescriptionUpdateResponse()
	r.Version, r.ErrorCode = req.Version, kerr.UnsupportedVersion.Code
	r.ErrorMessage = kmsg.StringPtr("The broker keeps no topology descriptions of streams groups.")
	return r
}
