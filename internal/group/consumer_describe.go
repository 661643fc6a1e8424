package group

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
)

type describedConsumers = kmsg.ConsumerGroupDescribeResponseGroup

// ConsumerGroupDescribe answers a ConsumerGroupDescribe request (versions 0 and 1).
func (s *Service) ConsumerGroupDescribe(_ context.Context, _ Caller, req *kmsg.ConsumerGroupDescribeRequest) *kmsg.ConsumerGroupDescribeResponse {
	r := kmsg.NewPtrConsumerGroupDescribeResponse()
	r.Version = req.Version
	enabled := s.env.settings().ConsumerProtocol
	for _, id := range req.Groups {
		var d describedConsumers
		switch {
		case !enabled:
			d = describeConsumersFailed(kerr.UnsupportedVersion.Code)
		case id == "":
			d = describeConsumersFailed(kerr.InvalidGroupID.Code)
		default:
			d = s.describeConsumers(id)
		}
		d.Group = id
		if req.IncludeAuthorizedOperations && d.ErrorCode == 0 {
			d.AuthorizedOperations = allGroupOperations
		}
		r.Groups = append(r.Groups, d)
	}
	return r
}

func (s *Service) describeConsumers(id string) describedConsumers {
	return ask(s, id, false, func(m *machine, a *answer[describedConsumers]) coord.Result {
		d := describeConsumersFailed(kerr.GroupIDNotFound.Code)
		if g := m.consumerOf(id); g != nil {
			now := m.now(id, Caller{})
			d = g.Describe(now.View, now.Rules)
		} else {
			d.ErrorMessage = kmsg.StringPtr("Group " + id + " is not a consumer group.")
		}
		return coord.After(func(err error) {
			if err != nil {
				d = describeConsumersFailed(code(err))
			}
			a.give(d)
		})
	}, describeConsumersFailed)
}

func describeConsumersFailed(errorCode int16) describedConsumers {
	d := kmsg.NewConsumerGroupDescribeResponseGroup()
	d.ErrorCode = errorCode
	return d
}
