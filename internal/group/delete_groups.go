package group

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
)

// DeleteGroups answers a DeleteGroups request (versions 0 to 3). A group that is named twice is answered once.
func (s *Service) DeleteGroups(_ context.Context, _ Caller, req *kmsg.DeleteGroupsRequest) *kmsg.DeleteGroupsResponse {
	r := kmsg.NewPtrDeleteGroupsResponse()
	r.Version = req.Version
	for i, id := range req.Groups {
		if slices.Contains(req.Groups[:i], id) {
			continue
		}
		d := kmsg.NewDeleteGroupsResponseGroup()
		d.Group = id
		d.ErrorCode = ask(s, id, false, func(m *machine, a *answer[int16]) coord.Result {
			return m.deleteGroup(id, a)
		}, func(c int16) int16 { return c })
		r.Groups = append(r.Groups, d)
	}
	return r
}

// deleteGroup removes a group without members and its offsets, those of open transactions included.
func (m *machine) deleteGroup(id string, a *answer[int16]) coord.Result {
	g, f, k, x := m.groups[id], m.foreignTo(id), m.consumerOf(id), m.streamsOf(id)
	switch {
	case g == nil && f == nil && k == nil && x == nil:
		a.give(kerr.GroupIDNotFound.Code)
		return coord.None()
	case g != nil && g.state != Empty, f != nil && !f.empty(), k != nil && len(k.Members) > 0, x != nil && len(x.Members) > 0:
		a.give(kerr.NonEmptyGroup.Code)
		return coord.None()
	}
	records := m.tombstones(id)
	deleted := len(records)
	switch {
	case f != nil:
		records = append(records, f.tombstones()...)
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
		a.give(code(err))
		return coord.None()
	}}
}

// tombstones remove all offsets of a group.
func (m *machine) tombstones(group string) []coord.Record {
	var out []coord.Record
	m.offsets.all(group, func(topic string, partition int32) {
		out = append(out, offsetTombstone(group, topic, partition))
	})
	return out
}
