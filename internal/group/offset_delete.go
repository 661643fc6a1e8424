package group

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/record"
)

// OffsetDelete answers an OffsetDelete request (version 0).
func (s *Service) OffsetDelete(_ context.Context, _ Caller, req *kmsg.OffsetDeleteRequest) *kmsg.OffsetDeleteResponse {
	r := kmsg.NewPtrOffsetDeleteResponse()
	r.Version = req.Version
	topics := s.env.topics()
	exist := false
	for _, t := range req.Topics {
		out := kmsg.NewOffsetDeleteResponseTopic()
		out.Topic = t.Topic
		found := lookup(topics, false, t.Topic, record.UUID{})
		for _, p := range t.Partitions {
			q := kmsg.NewOffsetDeleteResponseTopicPartition()
			q.Partition = p.Partition
			if found == nil || p.Partition < 0 || int(p.Partition) >= len(found.Partitions) {
				q.ErrorCode = kerr.UnknownTopicOrPartition.Code
			} else {
				exist = true
			}
			out.Partitions = append(out.Partitions, q)
		}
		r.Topics = append(r.Topics, out)
	}
	if !exist { // the group is not looked at then
		return r
	}
	if req.Group == "" {
		r.ErrorCode, r.Topics = kerr.InvalidGroupID.Code, nil
		return r
	}
	r.ErrorCode = ask(s, req.Group, false, func(m *machine, a *answer[int16]) coord.Result {
		return m.deleteOffsets(req.Group, r.Topics, a)
	}, func(c int16) int16 { return c })
	if r.ErrorCode != 0 {
		r.Topics = nil
	}
	return r
}

// deleteOffsets removes the offsets of the partitions in topics that have no error yet. Topics that members
// read are refused, in topics itself.
func (m *machine) deleteOffsets(group string, topics []kmsg.OffsetDeleteResponseTopic, a *answer[int16]) coord.Result {
	g, k, x := m.groups[group], m.consumerOf(group), m.streamsOf(group)
	if e := m.mayDeleteOffsets(group, g); e != nil {
		a.give(e.Code)
		return coord.None()
	}
	var records []coord.Record
	for _, t := range topics {
		for i := range t.Partitions {
			p := &t.Partitions[i]
			switch {
			case p.ErrorCode != 0:
			case g != nil && g.isSubscribed(t.Topic), k != nil && k.IsSubscribed(t.Topic), x != nil && x.IsSubscribed(t.Topic):
				p.ErrorCode = kerr.GroupSubscribedToTopic.Code
			default:
				_, stable := m.offsets.stable.get(group, t.Topic, p.Partition)
				if stable || m.offsets.isPending(group, t.Topic, p.Partition) {
					records = append(records, offsetTombstone(group, t.Topic, p.Partition))
				}
			}
		}
	}
	return coord.Result{Records: records, Divisible: true, Done: func(err error) coord.Result {
		if err == nil {
			m.env.counters.offsetDeletions.Add(int64(len(records)))
		}
		a.give(code(err))
		return coord.None()
	}}
}

// mayDeleteOffsets decides by the group. Of a group with members it must be known what they read.
func (m *machine) mayDeleteOffsets(group string, g *classicGroup) *kerr.Error {
	switch {
	case m.consumerOf(group) != nil, m.streamsOf(group) != nil:
		return nil
	case g == nil: // offsets of share groups are not kept here
		return kerr.GroupIDNotFound
	case g.state != Empty && !g.usesConsumerProtocol():
		return kerr.NonEmptyGroup
	}
	return nil
}
