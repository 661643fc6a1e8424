package group

import (
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
)

// What ListGroups calls the types of the groups that are served.
const (
	classicType  = "classic"
	consumerType = "consumer"
	streamsType  = "streams" // the protocol type too
	shareType    = "share"   // likewise
)

// ListGroups answers a ListGroups request (versions 0 to 5) with the groups of all partitions led here, by name.
// Filters are matched without case; a word that is no state or type matches nothing.
func (s *Service) ListGroups(_ context.Context, _ Caller, req *kmsg.ListGroupsRequest) *kmsg.ListGroupsResponse {
	r := kmsg.NewPtrListGroupsResponse()
	r.Version = req.Version
	type listed struct {
		code   int16
		groups []kmsg.ListGroupsResponseGroup
	}
	for _, p := range s.runtime.Partitions() {
		got := askPartition(s, p, true, func(m *machine, a *answer[listed]) coord.Result {
			groups := m.list(req.StatesFilter, req.TypesFilter)
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

// matches reports whether a filter lets a word through; an empty one lets all through.
func matches(filter []string, word string) bool {
	return len(filter) == 0 || slices.ContainsFunc(filter, func(f string) bool { return strings.EqualFold(f, word) })
}

func (m *machine) list(states, types []string) []kmsg.ListGroupsResponseGroup {
	var out []kmsg.ListGroupsResponseGroup
	add := func(id, protocolType, state, groupType string) {
		if matches(states, state) && matches(types, groupType) {
			l := kmsg.NewListGroupsResponseGroup()
			l.Group, l.ProtocolType, l.GroupState, l.GroupType = id, protocolType, state, groupType
			out = append(out, l)
		}
	}
	for _, g := range m.groups {
		add(g.id, g.protocolType, g.state.String(), classicType)
	}
	for id := range m.consumers {
		if k := m.consumerOf(id); k != nil {
			add(id, consumerProtocolType, k.State(), consumerType)
		}
	}
	for id := range m.streams {
		if g := m.streamsOf(id); g != nil {
			add(id, streamsType, g.State(), streamsType)
		}
	}
	for id := range m.shares {
		if g := m.shareOf(id); g != nil {
			add(id, shareType, g.State(), shareType)
		}
	}
	return out
}
