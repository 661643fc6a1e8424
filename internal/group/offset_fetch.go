package group

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/record"
)

type (
	fetchedGroup     = kmsg.OffsetFetchResponseGroup
	fetchedTopic     = kmsg.OffsetFetchResponseGroupTopic
	fetchedPartition = kmsg.OffsetFetchResponseGroupTopicPartition
)

// OffsetFetch answers an OffsetFetch request (versions 0 to 10). Before version 8 it asks for one group; that
// form is answered through the newer one.
func (s *Service) OffsetFetch(_ context.Context, _ Caller, req *kmsg.OffsetFetchRequest) *kmsg.OffsetFetchResponse {
	r := kmsg.NewPtrOffsetFetchResponse()
	r.Version = req.Version
	if req.Version >= 8 {
		for i := range req.Groups {
			r.Groups = append(r.Groups, s.fetchGroup(req, &req.Groups[i]))
		}
		return r
	}
	one := kmsg.NewOffsetFetchRequestGroup()
	one.Group = req.Group
	if req.Topics != nil {
		one.Topics = make([]kmsg.OffsetFetchRequestGroupTopic, len(req.Topics))
		for i, t := range req.Topics {
			one.Topics[i].Topic, one.Topics[i].Partitions = t.Topic, t.Partitions
		}
	}
	return oldFetchResponse(r, req, s.fetchGroup(req, &one))
}

// oldFetchResponse turns the answer for one group into the form before version 8. Versions 0 and 1 have no
// place for the group's error, so it stands in every partition.
func oldFetchResponse(r *kmsg.OffsetFetchResponse, req *kmsg.OffsetFetchRequest, g fetchedGroup) *kmsg.OffsetFetchResponse {
	if g.ErrorCode != 0 && req.Version < 2 {
		for _, t := range req.Topics {
			g.Topics = append(g.Topics, fetchedTopic{Topic: t.Topic, Partitions: noOffsets(t.Partitions, g.ErrorCode)})
		}
		g.ErrorCode = 0
	}
	r.ErrorCode = g.ErrorCode
	for _, t := range g.Topics {
		old := kmsg.NewOffsetFetchResponseTopic()
		old.Topic = t.Topic
		for _, p := range t.Partitions {
			q := kmsg.NewOffsetFetchResponseTopicPartition()
			q.Partition, q.Offset, q.LeaderEpoch, q.Metadata, q.ErrorCode = p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, p.ErrorCode
			old.Partitions = append(old.Partitions, q)
		}
		r.Topics = append(r.Topics, old)
	}
	return r
}

// fetching is what is asked of one group.
type fetching struct {
	group string
	// memberID and memberEpoch are checked for consumer groups only.
	memberID    *string
	memberEpoch int32
	// topics are those that exist, or all with their names before version 10; all asks for whatever is there.
	topics []fetchTopic
	all    bool
	byID   bool
	// stable refuses offsets that an open transaction may replace.
	stable   bool
	existing topicFinder
}

type fetchTopic struct {
	name       string
	id         record.UUID
	partitions []int32
}

func (s *Service) fetchGroup(req *kmsg.OffsetFetchRequest, in *kmsg.OffsetFetchRequestGroup) fetchedGroup {
	f := fetching{
		group: in.Group, memberID: in.MemberID, memberEpoch: in.MemberEpoch,
		all: in.Topics == nil, byID: req.Version >= 10, stable: req.Version >= 7 && req.RequireStable, existing: s.env.topics(),
	}
	var unknown []fetchedTopic
	for _, t := range in.Topics {
		found := lookup(f.existing, f.byID, t.Topic, t.TopicID)
		switch {
		case found != nil:
			f.topics = append(f.topics, fetchTopic{found.Name, found.ID, t.Partitions})
		case f.byID:
			unknown = append(unknown, fetchedTopic{TopicID: t.TopicID, Partitions: noOffsets(t.Partitions, kerr.UnknownTopicID.Code)})
		default: // offsets may outlive their topic
			f.topics = append(f.topics, fetchTopic{name: t.Topic, partitions: t.Partitions})
		}
	}
	out := ask(s, in.Group, !f.stable, func(m *machine, a *answer[fetchedGroup]) coord.Result {
		g := m.fetch(f)
		return coord.After(func(err error) {
			if err != nil {
				g = fetchFailed(code(err))
			}
			a.give(g)
		})
	}, fetchFailed)
	out.Group = in.Group
	if out.ErrorCode == 0 {
		out.Topics = append(out.Topics, unknown...)
	}
	return out
}

// fetchFailed is the answer for a group that cannot be looked at. Clients older than 3.9 do not know
// COORDINATOR_NOT_AVAILABLE here and would not ask again.
func fetchFailed(errorCode int16) fetchedGroup {
	if errorCode == kerr.CoordinatorNotAvailable.Code {
		errorCode = kerr.NotCoordinator.Code
	}
	g := kmsg.NewOffsetFetchResponseGroup()
	g.ErrorCode = errorCode
	return g
}

// noOffset is the answer for a partition without an offset: not an error, offset -1 and metadata "".
func noOffset(partition int32, errorCode int16) fetchedPartition {
	p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch, p.ErrorCode, p.Metadata = partition, -1, -1, errorCode, kmsg.StringPtr("")
	return p
}

func noOffsets(partitions []int32, errorCode int16) []fetchedPartition {
	out := make([]fetchedPartition, len(partitions))
	for i, p := range partitions {
		out[i] = noOffset(p, errorCode)
	}
	return out
}

func (m *machine) fetch(f fetching) fetchedGroup {
	if e := m.mayFetch(f); e != nil {
		return fetchFailed(e.Code)
	}
	g := kmsg.NewOffsetFetchResponseGroup()
	known := m.taken(f.group)
	switch {
	case !f.all:
		for _, t := range f.topics {
			g.Topics = append(g.Topics, m.fetchTopic(f, t, known))
		}
	case known:
		g.Topics = m.fetchAll(f)
	}
	return g
}

// mayFetch checks the member that asks. A group that does not exist is not an error, nor is anything else for
// a classic group or a share group.
func (m *machine) mayFetch(f fetching) *kerr.Error {
	if g := m.consumerOf(f.group); g != nil {
		return g.MayFetch(f.memberID, f.memberEpoch)
	}
	if g := m.streamsOf(f.group); g != nil {
		return g.MayFetch(f.memberID, f.memberEpoch)
	}
	return nil
}

func (m *machine) fetchTopic(f fetching, t fetchTopic, known bool) fetchedTopic {
	out := kmsg.NewOffsetFetchResponseGroupTopic()
	if f.byID {
		out.TopicID = t.id
	} else {
		out.Topic = t.name
	}
	for _, p := range t.partitions {
		c, ok := m.offsets.stable.get(f.group, t.name, p)
		out.Partitions = append(out.Partitions, m.fetchPartition(f, t, p, c, ok && known))
	}
	return out
}

// fetchPartition answers with a committed offset, if there is one. One that belongs to an earlier topic of the
// same name counts as none.
func (m *machine) fetchPartition(f fetching, t fetchTopic, partition int32, c committed, ok bool) fetchedPartition {
	if f.stable && m.offsets.isPending(f.group, t.name, partition) {
		return noOffset(partition, kerr.UnstableOffsetCommit.Code)
	}
	if !ok || (!c.topicID.IsZero() && !t.id.IsZero() && c.topicID != t.id) {
		return noOffset(partition, 0)
	}
	p := noOffset(partition, 0)
	p.Offset, p.LeaderEpoch, p.Metadata = c.offset, c.leaderEpoch, kmsg.StringPtr(c.metadata)
	return p
}

// fetchAll answers with every offset of the group, topics in order. From version 10 on a topic that is gone
// cannot be named, so it is left out.
func (m *machine) fetchAll(f fetching) []fetchedTopic {
	var out []fetchedTopic
	var last string
	m.offsets.stable.each(f.group, func(topic string, partition int32, c committed) {
		t := fetchTopic{name: topic}
		if found := lookup(f.existing, false, topic, record.UUID{}); found != nil {
			t.id = found.ID
		}
		if f.byID && t.id.IsZero() {
			return
		}
		if len(out) == 0 || topic != last {
			out = append(out, m.fetchTopic(f, t, true))
			last = topic
		}
		at := &out[len(out)-1]
		at.Partitions = append(at.Partitions, m.fetchPartition(f, t, partition, c, true))
	})
	return out
}
