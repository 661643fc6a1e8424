package group

import (
	"context"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/group/share"
)

// DeleteGroups answers a DeleteGroups request (versions 0 to 3). A group that is named twice is answered once.
func (s *Service) DeleteGroups(ctx context.Context, _ Caller, req *kmsg.DeleteGroupsRequest) *kmsg.DeleteGroupsResponse {
	r := kmsg.NewPtrDeleteGroupsResponse()
	r.Version = req.Version
	for i, id := range req.Groups {
		if slices.Contains(req.Groups[:i], id) {
			continue
		}
		d := kmsg.NewDeleteGroupsResponseGroup()
		d.Group = id
		d.ErrorCode = s.deleteGroup(ctx, id)
		r.Groups = append(r.Groups, d)
	}
	return r
}

// deletion is what a shard says of the deletion of a group. While a share group has states, these are to be deleted
// first; while its states are begun or deleted, that is to be waited for.
type deletion struct {
	code   int16
	states *kmsg.DeleteShareGroupStateRequest
	idle   <-chan struct{}
}

func (s *Service) deleteGroup(ctx context.Context, id string) int16 {
	var gone *kmsg.DeleteShareGroupStateRequest // the states that were just deleted
	for {
		var d deletion
		if !s.whenIdle(ctx, func() <-chan struct{} {
			d = ask(s, id, false, func(m *machine, a *answer[deletion]) coord.Result {
				m.sharesDeleted(gone)
				return m.deleteGroup(id, gone != nil || s.o.Persister == nil, a)
			}, func(c int16) deletion { return deletion{code: c} })
			gone = nil
			return d.idle
		}) {
			return kerr.CoordinatorNotAvailable.Code
		}
		if d.states == nil {
			return d.code
		}
		if _, failed := s.deleteStates(ctx, d.states); len(failed) > 0 {
			// A shard that has ended knows nothing of it any more.
			_ = s.submit(id, coord.Op[*machine]{Run: func(m *machine) coord.Result {
				m.sharesDeleted(d.states)
				return coord.None()
			}})
			return slices.Collect(maps.Values(failed))[0]
		}
		gone = d.states
	}
}

// deleteGroup removes a group without members and its offsets, those of open transactions included.
func (m *machine) deleteGroup(id string, statesAreGone bool, a *answer[deletion]) coord.Result {
	g, h, k, x := m.groups[id], m.shareOf(id), m.consumerOf(id), m.streamsOf(id)
	switch {
	case g == nil && h == nil && k == nil && x == nil:
		a.give(deletion{code: kerr.GroupIDNotFound.Code})
		return coord.None()
	case g != nil && g.state != Empty, h != nil && len(h.Members) > 0, k != nil && len(k.Members) > 0, x != nil && len(x.Members) > 0:
		a.give(deletion{code: kerr.NonEmptyGroup.Code})
		return coord.None()
	case h != nil && h.idle != nil:
		a.give(deletion{idle: h.idle})
		return coord.None()
	case h != nil && !statesAreGone:
		if c, states := m.deleteShares(h); states != nil {
			return coord.Result{Records: c.Records, Done: func(err error) coord.Result {
				if err != nil {
					states = nil
				}
				m.deletingShares(states)
				a.give(deletion{code: code(err), states: states})
				return coord.None()
			}}
		}
	}
	records := m.tombstones(id)
	deleted := len(records)
	switch {
	case h != nil:
		records = append(records, h.Tombstones()...)
	case k != nil:
		records = append(records, k.Tombstones()...)
	case x != nil:
		records = append(records, x.Tombstones()...)
	default:
		records = append(records, groupTombstone(id))
	}
	return coord.Result{Records: records, Divisible: true, Done: func(err error) coord.Result {
		if err == nil {
			m.env.counters.offsetDeletions.Add(int64(deleted))
		}
		a.give(deletion{code: code(err)})
		return coord.None()
	}}
}

// deleteShares notes that the states of a share group are to be deleted; nil if it has none.
func (m *machine) deleteShares(g *shareGroup) (*share.Change, *kmsg.DeleteShareGroupStateRequest) {
	c := share.Begin(g.Group)
	return c, c.DeleteAll(m.view())
}

// tombstones remove all offsets of a group.
func (m *machine) tombstones(group string) []coord.Record {
	var out []coord.Record
	m.offsets.all(group, func(topic string, partition int32) {
		out = append(out, offsetTombstone(group, topic, partition))
	})
	return out
}
