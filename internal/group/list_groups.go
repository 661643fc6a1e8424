package group

import (
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
)

// classicType is what ListGroups calls the type of the groups that are served.
const classicType = "classic"

// ListGroups answers a ListGroups request (versions 0 to 5) with the groups of all partitions led here, by name.
// Filters are matched without case; a word that is no state or type matches nothing.
func (s *Service) ListGroups(_ context.Context, _ Caller, req *kmsg.ListGroupsRequest) *kmsg.ListGroupsResponse {
	r := kmsg.NewPtrListGroupsResponse()
	r.Version = req.Version
	if len(req.TypesFilter) > 0 && !matches(req.TypesFilter, classicType) {
		return r
	}
	type listed struct {
		code   int16
		groups []kmsg.ListGroupsResponseGroup
	}
	for _, p := range s.runtime.Partitions() {
		got := askPartition(s, p, true, func(m *machine, a *answer[listed]) coord.Result {
			groups := m.list(req.StatesFilter)
			return coord.After(func(err error) { a.give(listed{code(err), groups}) })
		}, func(c int16) listed { return listed{code: c} })
		switch got.code {
		case 0:
			r.Groups = append(r.Groups, got.groups...)
		case kerr.NotCoordinator.Code: // resigned meanwhile
		default:
			r.ErrorCode, r.Groups = got.code, nil
			return r
		}
	}
	slices.SortFunc(r.Groups, func(a, b kmsg.ListGroupsResponseGroup) int { return strings.Compare(a.Group, b.Group) })
	return r
}

func matches(filter []string, name string) bool {
	return slices.ContainsFunc(filter, func(f string) bool { return strings.EqualFold(f, name) })
}

func (m *machine) list(states []string) []kmsg.ListGroupsResponseGroup {
	var out []kmsg.ListGroupsResponseGroup
	for _, g := range m.groups {
		if len(states) > 0 && !matches(states, g.state.String()) {
			continue
		}
		l := kmsg.NewListGroupsResponseGroup()
		l.Group, l.ProtocolType, l.GroupState, l.GroupType = g.id, g.protocolType, g.state.String(), classicType
		out = append(out, l)
	}
	return out
}
