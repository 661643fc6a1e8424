package group

import (
	"context"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/group/share"
	"github.com/samsalog/samsa/record"
)

type (
	offsetsOfGroup     = kmsg.DescribeShareGroupOffsetsResponseGroup
	offsetsOfTopic     = kmsg.DescribeShareGroupOffsetsResponseGroupTopic
	offsetsOfPartition = kmsg.DescribeShareGroupOffsetsResponseGroupTopicPartition
)

// DescribeShareGroupOffsets answers a DescribeShareGroupOffsets request (versions 0 and 1) with where the share partitions
// of groups begin, and how many records lie before them that are not done. What has no state begins at -1, be it the group
// or the topic that is not known.
func (s *Service) DescribeShareGroupOffsets(ctx context.Context, _ Caller, req *kmsg.DescribeShareGroupOffsetsRequest) *kmsg.DescribeShareGroupOffsetsResponse {
	r := kmsg.NewPtrDescribeShareGroupOffsetsResponse()
	r.Version = req.Version
	enabled := s.servesShares()
	for i := range req.Groups {
		asked := &req.Groups[i]
		g := kmsg.NewDescribeShareGroupOffsetsResponseGroup()
		switch {
		case !enabled:
			g.ErrorCode, g.ErrorMessage = textOf(kerr.UnsupportedVersion.Code)
		case asked.Topics == nil:
			g = s.describeAllOffsets(ctx, asked.GroupID)
		default:
			g = s.describeOffsets(ctx, asked)
		}
		g.GroupID = asked.GroupID
		r.Groups = append(r.Groups, g)
	}
	return r
}

// describeAllOffsets shows the share partitions of a group that have a state.
func (s *Service) describeAllOffsets(ctx context.Context, id string) offsetsOfGroup {
	type found struct {
		code       int16
		partitions share.Topics
	}
	all := ask(s, id, false, func(m *machine, a *answer[found]) coord.Result {
		var f found
		if g := m.shareOf(id); g != nil {
			f.partitions = share.Topics{}
			for id, t := range g.Partitions.Initialized {
				if _, exists := m.view().Name(id); exists {
					f.partitions[id] = t
				}
			}
		}
		return coord.After(func(err error) {
			f.code = code(err)
			a.give(f)
		})
	}, func(c int16) found { return found{code: c} })
	g := kmsg.NewDescribeShareGroupOffsetsResponseGroup()
	if g.ErrorCode, g.ErrorMessage = textOf(all.code); all.code == 0 {
		g.Topics = s.summaries(ctx, id, all.partitions)
	}
	return g
}

// describeOffsets shows the share partitions that a request names. Topics that do not exist come last, as in Kafka.
func (s *Service) describeOffsets(ctx context.Context, asked *kmsg.DescribeShareGroupOffsetsRequestGroup) offsetsOfGroup {
	g := kmsg.NewDescribeShareGroupOffsetsResponseGroup()
	exist := share.Topics{}
	var absent []offsetsOfTopic
	for _, t := range asked.Topics {
		if x := lookup(s.env.topics(), false, t.Topic, record.UUID{}); x != nil {
			exist[x.ID] = share.Topic{Name: x.Name, Partitions: t.Partitions}
			continue
		}
		x := kmsg.NewDescribeShareGroupOffsetsResponseGroupTopic()
		x.Topic = t.Topic
		for _, n := range t.Partitions {
			x.Partitions = append(x.Partitions, noShareOffset(n))
		}
		absent = append(absent, x)
	}
	g.Topics = append(s.summaries(ctx, asked.GroupID, exist), absent...)
	return g
}

func noShareOffset(partition int32) offsetsOfPartition {
	p := kmsg.NewDescribeShareGroupOffsetsResponseGroupTopicPartition()
	p.Partition, p.StartOffset, p.Lag = partition, -1, -1
	return p
}

// summaries asks the share coordinator where share partitions stand.
func (s *Service) summaries(ctx context.Context, group string, of share.Topics) []offsetsOfTopic {
	if len(of) == 0 {
		return nil
	}
	req := kmsg.NewPtrReadShareGroupStateSummaryRequest()
	req.Version, req.GroupID = summaryVersion, strings.Clone(group)
	var out []offsetsOfTopic
	for _, id := range of.IDs() {
		x, y := kmsg.NewReadShareGroupStateSummaryRequestTopic(), kmsg.NewDescribeShareGroupOffsetsResponseGroupTopic()
		x.TopicID, y.TopicID, y.Topic = id, id, of[id].Name
		for _, n := range of[id].Partitions {
			p := kmsg.NewReadShareGroupStateSummaryRequestTopicPartition()
			p.Partition, p.LeaderEpoch = n, -1
			x.Partitions = append(x.Partitions, p)
		}
		req.Topics = append(req.Topics, x)
		out = append(out, y)
	}
	answer := s.o.Persister.ReadStateSummary(ctx, req)
	for i := range answer.Topics {
		for _, p := range answer.Topics[i].Partitions {
			out[i].Partitions = append(out[i].Partitions, s.shareOffset(record.TopicPartition{Topic: out[i].Topic, Partition: p.Partition}, &p))
		}
	}
	return out
}

// shareOffset is where a share partition stands. How much lies before it is known once its beginning is, and somebody
// counts what is done.
func (s *Service) shareOffset(tp record.TopicPartition, state *kmsg.ReadShareGroupStateSummaryResponseTopicPartition) offsetsOfPartition {
	p := noShareOffset(tp.Partition)
	if state.ErrorCode == kerr.UnknownTopicOrPartition.Code { // a partition that does not exist has no state
		return p
	}
	if p.ErrorCode, p.ErrorMessage = textOf(state.ErrorCode); p.ErrorCode != 0 {
		return p
	}
	p.StartOffset, p.LeaderEpoch = state.StartOffset, state.LeaderEpoch
	if state.StartOffset < 0 || state.DeliveryCompleteCount < 0 || s.o.HighWatermark == nil {
		return p
	}
	end, ok := s.o.HighWatermark(tp)
	if !ok {
		failed := noShareOffset(tp.Partition)
		failed.ErrorCode, failed.ErrorMessage = textOf(kerr.NotLeaderForPartition.Code)
		return failed
	}
	p.Lag = int64(end) - state.StartOffset - int64(state.DeliveryCompleteCount)
	return p
}
