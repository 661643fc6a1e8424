package group

import (
	"context"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/group/consumer"
	"github.com/samsalog/samsa/internal/group/streams"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
)

// commitTopic is one topic of a commit that exists.
type commitTopic struct {
	name string
	id   record.UUID
	// at is the topic's place in request and response, and partitions the places of the partitions that exist.
	at         int
	partitions []int
}

// OffsetCommit answers an OffsetCommit request (versions 0 to 10; what version 0 sends is kept like any other
// commit from outside a group).
func (s *Service) OffsetCommit(_ context.Context, _ Caller, req *kmsg.OffsetCommitRequest) *kmsg.OffsetCommitResponse {
	r := kmsg.NewPtrOffsetCommitResponse()
	r.Version = req.Version
	r.Topics = make([]kmsg.OffsetCommitResponseTopic, len(req.Topics))
	topics := s.env.topics()
	var exist []commitTopic
	for i := range req.Topics {
		if t, ok := answerTopic(topics, req, i, &r.Topics[i]); ok {
			exist = append(exist, t)
		}
	}
	if len(exist) == 0 {
		return r
	}
	failAll(r, exist, ask(s, req.Group, true, func(m *machine, a *answer[int16]) coord.Result {
		return m.commit(req, r, exist, nil, a)
	}, func(c int16) int16 { return c }))
	return r
}

// failAll puts an error that concerns the whole commit into every partition that exists.
func failAll(r *kmsg.OffsetCommitResponse, exist []commitTopic, errorCode int16) {
	if errorCode == 0 {
		return
	}
	for _, t := range exist {
		for _, p := range t.partitions {
			r.Topics[t.at].Partitions[p].ErrorCode = errorCode
		}
	}
}

// answerTopic prepares the answer to topic i of a request: partitions that do not exist have their error, the
// others are 0 so far and are listed in the result.
func answerTopic(topics topicFinder, req *kmsg.OffsetCommitRequest, i int, out *kmsg.OffsetCommitResponseTopic) (commitTopic, bool) {
	in := &req.Topics[i]
	*out = kmsg.NewOffsetCommitResponseTopic()
	found := lookup(topics, req.Version >= 10, in.Topic, in.TopicID)
	unknown := kerr.UnknownTopicOrPartition.Code
	if req.Version >= 10 {
		out.TopicID = in.TopicID
		if found == nil {
			unknown = kerr.UnknownTopicID.Code
		}
	} else {
		out.Topic = in.Topic
	}
	t := commitTopic{at: i}
	for j, p := range in.Partitions {
		q := kmsg.NewOffsetCommitResponseTopicPartition()
		q.Partition = p.Partition
		if found == nil || p.Partition < 0 || int(p.Partition) >= len(found.Partitions) {
			q.ErrorCode = unknown
		} else {
			t.partitions = append(t.partitions, j)
		}
		out.Partitions = append(out.Partitions, q)
	}
	if found != nil {
		t.name, t.id = found.Name, found.ID
	}
	return t, len(t.partitions) > 0
}

// lookup finds a topic by id or by name; nil if it does not exist.
func lookup(topics topicFinder, byID bool, name string, id record.UUID) *metadata.Topic {
	switch {
	case topics == nil:
		return nil
	case byID:
		return topics.ByID(id)
	}
	return topics.ByName(name)
}

// commit checks who commits, and what, and writes it, as part of a transaction if txn is not nil. Errors of single
// partitions go straight into r, which nobody else touches until a is given.
func (m *machine) commit(req *kmsg.OffsetCommitRequest, r *kmsg.OffsetCommitResponse, topics []commitTopic, txn *coord.Txn, a *answer[int16]) coord.Result {
	g, e := m.mayCommit(req, txn != nil)
	if e == nil {
		e = m.mayCommitPartitions(req, topics, txn != nil)
	}
	if e != nil {
		a.give(e.Code)
		return coord.None()
	}
	if g != nil && (g.state == Stable || g.state == PreparingRebalance) {
		if x := g.byID[req.MemberID]; x != nil { // a commit is a sign of life
			m.resetSession(g, x, x.sessionTimeoutMs)
		}
	}
	group, limit, nowMs := strings.Clone(req.Group), m.env.settings().OffsetMetadataMaxBytes, m.nowMs()
	var records []coord.Record
	for _, t := range topics {
		for _, i := range t.partitions {
			p := &req.Topics[t.at].Partitions[i]
			c := committed{offset: p.Offset, leaderEpoch: p.LeaderEpoch, commitMs: nowMs, expireMs: -1, topicID: t.id}
			if p.Metadata != nil {
				c.metadata = *p.Metadata
			}
			if len(c.metadata) > limit && utf16Len(c.metadata) > limit {
				r.Topics[t.at].Partitions[i].ErrorCode = kerr.OffsetMetadataTooLarge.Code
				continue
			}
			if req.Version == 1 && p.Timestamp != -1 {
				c.commitMs = p.Timestamp
			}
			if req.Version >= 2 && req.Version <= 4 && req.RetentionTimeMillis != -1 {
				c.expireMs = nowMs + req.RetentionTimeMillis
			}
			records = append(records, offsetRecord(group, t.name, p.Partition, c))
		}
	}
	return coord.Result{Records: records, Txn: txn, Done: func(err error) coord.Result {
		if err == nil {
			m.env.counters.offsetCommits.Add(int64(len(records)))
		}
		a.give(code(err))
		return coord.None()
	}}
}

// mayCommit decides whether a commit is accepted. It returns the group, nil if there is no classic one: a
// commit from outside a group makes a simple one when it is written.
func (m *machine) mayCommit(req *kmsg.OffsetCommitRequest, transactional bool) (*classicGroup, *kerr.Error) {
	if k := m.consumerOf(req.Group); k != nil {
		_, e := k.MayCommit(consumer.Commit{
			MemberID: req.MemberID, Epoch: req.Generation, Version: req.Version, Transactional: transactional,
		})
		return nil, e
	}
	if x := m.streamsOf(req.Group); x != nil {
		_, e := x.MayCommit(streams.Commit{
			MemberID: req.MemberID, InstanceID: req.InstanceID, Epoch: req.Generation, Version: req.Version, Transactional: transactional,
		})
		return nil, e
	}
	if m.shareOf(req.Group) != nil {
		return nil, kerr.GroupIDNotFound // members of share groups commit nothing
	}
	g := m.groups[req.Group]
	if g == nil {
		switch {
		case req.Generation < 0:
			return nil, nil
		case req.Version >= 9:
			return nil, kerr.GroupIDNotFound
		default:
			return nil, kerr.IllegalGeneration
		}
	}
	return g, mayCommitClassic(g, req, transactional)
}

// mayCommitPartitions refuses what a member of a consumer or streams group commits with an epoch that is over, if there
// is a partition that it did not have then.
func (m *machine) mayCommitPartitions(req *kmsg.OffsetCommitRequest, topics []commitTopic, transactional bool) *kerr.Error {
	var held func(t commitTopic, partition int32) bool
	stale := streams.Stale(transactional)
	if k := m.consumerOf(req.Group); k != nil && k.Members[req.MemberID] != nil {
		x := k.Members[req.MemberID]
		held, stale = func(t commitTopic, p int32) bool { return x.HeldSince(req.Generation, t.id, p) }, x.Stale(transactional)
	}
	if g := m.streamsOf(req.Group); g != nil && g.Members[req.MemberID] != nil {
		x := g.Members[req.MemberID]
		held = func(t commitTopic, p int32) bool { return g.HeldSince(x, req.Generation, t.name, p) }
	}
	if held == nil {
		return nil
	}
	for _, t := range topics {
		for _, i := range t.partitions {
			if !held(t, req.Topics[t.at].Partitions[i].Partition) {
				return stale
			}
		}
	}
	return nil
}

func mayCommitClassic(g *classicGroup, req *kmsg.OffsetCommitRequest, transactional bool) *kerr.Error {
	if req.Generation < 0 && g.state == Empty {
		return nil
	}
	if req.Generation < 0 && req.MemberID == "" && req.InstanceID == nil {
		if transactional { // before TxnOffsetCommit 3 a producer could not say for which member it commits
			return nil
		}
		// Tools that reset offsets rely on this: a group in use is not to be changed from outside (15.1 item 17).
		return kerr.UnknownMemberID
	}
	if e := g.validate(req.MemberID, req.InstanceID); e != nil {
		return e
	}
	if req.Generation != g.generation {
		return kerr.IllegalGeneration
	}
	if g.state == CompletingRebalance && !transactional {
		return kerr.RebalanceInProgress
	}
	return nil
}
