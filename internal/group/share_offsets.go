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
	codeAnswer      = answer[int16]
	alterResponse   = kmsg.AlterShareGroupOffsetsResponse
	unshareResponse = kmsg.DeleteShareGroupOffsetsResponse
)

// altered is what a shard says of an alteration of offsets: its answer, and the states that are then to be begun; or what
// to wait for first.
type altered struct {
	response *alterResponse
	begin    *kmsg.InitializeShareGroupStateRequest
	idle     <-chan struct{}
}

func alterFailed(errorCode int16) altered {
	r := kmsg.NewPtrAlterShareGroupOffsetsResponse()
	r.ErrorCode, r.ErrorMessage = textOf(errorCode)
	return altered{response: r}
}

// textOf is a code with its text; nil for none.
func textOf(errorCode int16) (int16, *string) {
	if e := kerr.TypedErrorForCode(errorCode); e != nil {
		return errorCode, kmsg.StringPtr(e.Description)
	}
	return errorCode, nil
}

// AlterShareGroupOffsets answers an AlterShareGroupOffsets request (version 0): the states of share partitions of a group
// without members begin anew. A group that does not exist is made.
func (s *Service) AlterShareGroupOffsets(ctx context.Context, _ Caller, req *kmsg.AlterShareGroupOffsetsRequest) *alterResponse {
	var x altered
	switch {
	case !s.servesShares():
		x = alterFailed(kerr.UnsupportedVersion.Code)
	case req.GroupID == "":
		x = alterFailed(kerr.InvalidGroupID.Code)
	default:
		if !s.whenIdle(ctx, func() <-chan struct{} {
			x = ask(s, req.GroupID, false, func(m *machine, a *answer[altered]) coord.Result { return m.alterShares(req, a) }, alterFailed)
			return x.idle
		}) {
			x = alterFailed(kerr.CoordinatorNotAvailable.Code)
		}
	}
	x.response.Version = req.Version
	if x.begin == nil {
		return x.response
	}
	answer := s.o.Persister.InitializeState(ctx, x.begin)
	failed := ask(s, req.GroupID, false, func(m *machine, a *codeAnswer) coord.Result {
		return m.sharesBegun(x.begin, answer, func(err error) { a.give(code(err)) })
	}, func(c int16) int16 { return c })
	x.response.ErrorCode, x.response.ErrorMessage = textOf(failed)
	refuseUnbegun(x.response, answer)
	return x.response
}

// refuseUnbegun puts the errors of states that could not be begun in their places.
func refuseUnbegun(r *alterResponse, answer *kmsg.InitializeShareGroupStateResponse) {
	type place struct {
		topic     [16]byte
		partition int32
	}
	failed := map[place]int16{}
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			failed[place{t.TopicID, p.Partition}] = p.ErrorCode
		}
	}
	for i := range r.Topics {
		t := &r.Topics[i]
		for j := range t.Partitions {
			if p := &t.Partitions[j]; p.ErrorCode == 0 {
				p.ErrorCode, p.ErrorMessage = textOf(failed[place{t.TopicID, p.Partition}])
			}
		}
	}
}

func (m *machine) alterShares(req *kmsg.AlterShareGroupOffsetsRequest, a *answer[altered]) coord.Result {
	fail := func(e *kerr.Error) coord.Result {
		a.give(alterFailed(e.Code))
		return coord.None()
	}
	id := strings.Clone(req.GroupID)
	g := m.shareOf(id)
	switch {
	case g == nil && m.taken(id):
		return fail(kerr.GroupIDNotFound)
	case g != nil && len(g.Members) > 0:
		return fail(kerr.NonEmptyGroup)
	case g != nil && g.idle != nil:
		a.give(altered{idle: g.idle})
		return coord.None()
	}
	change := share.Begin(share.New(id))
	if g != nil {
		change = share.Begin(g.Group)
	}
	response, begin := change.Alter(m.view(), req)
	return coord.Result{Records: change.Records, Done: func(err error) coord.Result {
		if err != nil {
			a.give(alterFailed(code(err)))
			return coord.None()
		}
		if g := m.shareOf(id); g != nil && begin != nil {
			g.occupy(share.InBeginning(begin))
		}
		a.give(altered{response: response, begin: begin})
		return coord.None()
	}}
}

// unsharing is what a shard says of a deletion of offsets: which states are to be deleted, and the topics that are
// refused; or what to wait for first.
type unsharing struct {
	idle    <-chan struct{}
	code    int16
	message *string
	delete  *kmsg.DeleteShareGroupStateRequest
	refused []kmsg.DeleteShareGroupOffsetsResponseTopic
}

func unshareFailed(errorCode int16) unsharing {
	var u unsharing
	u.code, u.message = textOf(errorCode)
	return u
}

// DeleteShareGroupOffsets answers a DeleteShareGroupOffsets request (version 0): the states of all share partitions of
// topics are deleted, in a group without members.
func (s *Service) DeleteShareGroupOffsets(ctx context.Context, _ Caller, req *kmsg.DeleteShareGroupOffsetsRequest) *unshareResponse {
	r := kmsg.NewPtrDeleteShareGroupOffsetsResponse()
	r.Version = req.Version
	var u unsharing
	switch {
	case !s.servesShares():
		u = unshareFailed(kerr.UnsupportedVersion.Code)
	case req.GroupID == "":
		u = unshareFailed(kerr.InvalidGroupID.Code)
	default:
		if !s.whenIdle(ctx, func() <-chan struct{} {
			u = ask(s, req.GroupID, false, func(m *machine, a *answer[unsharing]) coord.Result { return m.unshare(req, a) }, unshareFailed)
			return u.idle
		}) {
			u = unshareFailed(kerr.CoordinatorNotAvailable.Code)
		}
	}
	r.ErrorCode, r.ErrorMessage = u.code, u.message
	if u.delete == nil {
		r.Topics = u.refused
		return r
	}
	gone, failed := s.deleteStates(ctx, u.delete)
	wrote := ask(s, req.GroupID, false, func(m *machine, a *codeAnswer) coord.Result {
		return m.unshared(u.delete, gone, a)
	}, func(c int16) int16 { return c })
	r.ErrorCode, r.ErrorMessage = textOf(wrote)
	for _, asked := range req.Topics {
		t := lookup(s.env.topics(), false, asked.Topic, record.UUID{})
		if t == nil {
			continue
		}
		x := kmsg.NewDeleteShareGroupOffsetsResponseTopic()
		x.Topic, x.TopicID = asked.Topic, t.ID
		if c, is := failed[t.ID]; is {
			x.ErrorCode, x.ErrorMessage = textOf(c)
		} else if _, is := gone[t.ID]; !is {
			continue
		}
		delete(gone, t.ID)
		delete(failed, t.ID)
		r.Topics = append(r.Topics, x)
	}
	r.Topics = append(r.Topics, u.refused...)
	return r
}

// deleteStates has the share coordinator delete states. It returns the topics of which all are deleted, and the error of
// the others.
func (s *Service) deleteStates(ctx context.Context, req *kmsg.DeleteShareGroupStateRequest) (gone map[record.UUID]struct{}, failed map[record.UUID]int16) {
	gone, failed = map[record.UUID]struct{}{}, map[record.UUID]int16{}
	for _, t := range s.o.Persister.DeleteState(ctx, req).Topics {
		gone[t.TopicID] = struct{}{}
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				delete(gone, t.TopicID)
				failed[t.TopicID] = p.ErrorCode
			}
		}
	}
	return gone, failed
}

func (m *machine) unshare(req *kmsg.DeleteShareGroupOffsetsRequest, a *answer[unsharing]) coord.Result {
	g := m.shareOf(req.GroupID)
	switch {
	case g == nil:
		u := unshareFailed(kerr.GroupIDNotFound.Code)
		u.message = kmsg.StringPtr("Group " + req.GroupID + " not found.")
		a.give(u)
		return coord.None()
	case len(g.Members) > 0:
		a.give(unshareFailed(kerr.NonEmptyGroup.Code))
		return coord.None()
	case g.idle != nil:
		a.give(unsharing{idle: g.idle})
		return coord.None()
	}
	c := share.Begin(g.Group)
	var u unsharing
	u.delete, u.refused = c.DeleteOffsets(m.view(), req)
	return coord.Result{Records: c.Records, Done: func(err error) coord.Result {
		if err != nil {
			u = unshareFailed(code(err))
		}
		m.deletingShares(u.delete)
		a.give(u)
		return coord.None()
	}}
}

// deletingShares notes that the share coordinator is asked to delete states; nil is nothing.
func (m *machine) deletingShares(req *kmsg.DeleteShareGroupStateRequest) {
	if req == nil {
		return
	}
	if g := m.shareOf(req.GroupID); g != nil {
		g.occupy(share.InDeletion(req))
	}
}

// sharesDeleted notes that the share coordinator has done, or refused, what it was asked for; nil is nothing.
func (m *machine) sharesDeleted(req *kmsg.DeleteShareGroupStateRequest) {
	if req == nil {
		return
	}
	if g := m.shareOf(req.GroupID); g != nil {
		g.release(share.InDeletion(req))
	}
}

// unshared notes that the states of topics are deleted.
func (m *machine) unshared(req *kmsg.DeleteShareGroupStateRequest, topics map[record.UUID]struct{}, a *codeAnswer) coord.Result {
	m.sharesDeleted(req)
	var records []coord.Record
	if g := m.shareOf(req.GroupID); g != nil {
		c := share.Begin(g.Group)
		c.Deleted(topics)
		records = c.Records
	}
	return coord.Result{Records: records, Done: func(err error) coord.Result {
		a.give(code(err))
		return coord.None()
	}}
}
