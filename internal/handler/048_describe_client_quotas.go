package handler

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/wire"
)

// How a part of a filter matches the part of an entity.
const (
	matchExact   = 0 // the name
	matchDefault = 1 // the default of the type
	matchAny     = 2 // whatever the name
)

// describeClientQuotas lists the quotas of entities that match a filter.
func (h *Handler) describeClientQuotas(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.DescribeClientQuotasRequest)
	resp := req.ResponseKind().(*kmsg.DescribeClientQuotasResponse)
	if err, text := checkQuotaFilter(req.Components); err != nil {
		resp.ErrorCode, resp.ErrorMessage = err.Code, &text
		return wire.Reply{Body: resp}
	}
	resp.ErrorMessage, resp.Entries = new(string), []kmsg.DescribeClientQuotasResponseEntry{}
	for entity, values := range h.deps.Metadata.Image().ClientQuotas() {
		if quotaMatches(req, entity) {
			resp.Entries = append(resp.Entries, describeQuota(entity, values))
		}
	}
	return wire.Reply{Body: resp}
}

func checkQuotaFilter(parts []kmsg.DescribeClientQuotasRequestComponent) (*kerr.Error, string) {
	types := map[string]bool{}
	for _, p := range parts {
		switch {
		case p.EntityType == "":
			return kerr.InvalidRequest, "an entity type is empty"
		case types[p.EntityType]:
			return kerr.InvalidRequest, "the entity type " + p.EntityType + " stands twice"
		case !slices.Contains([]string{"user", "client-id", "ip"}, p.EntityType):
			return kerr.UnsupportedVersion, "there is no entity type " + p.EntityType
		case p.MatchType != matchExact && p.MatchType != matchDefault && p.MatchType != matchAny:
			return kerr.InvalidRequest, "there is no such match type"
		case (p.MatchType == matchExact) != (p.Match != nil):
			return kerr.InvalidRequest, "an exact match, and no other, needs a name"
		}
		types[p.EntityType] = true
	}
	if types["ip"] && len(types) > 1 {
		return kerr.InvalidRequest, "ip cannot be combined with other entity types"
	}
	return nil, ""
}

// quotaMatches: every part of the filter has its part of the entity; a strict filter allows the entity no others, and
// without parts matches nothing.
func quotaMatches(req *kmsg.DescribeClientQuotasRequest, e metadata.QuotaEntity) bool {
	if req.Strict && len(e) != len(req.Components) {
		return false
	}
	for _, p := range req.Components {
		name, ok := e[p.EntityType]
		switch {
		case !ok,
			p.MatchType == matchDefault && name != nil,
			p.MatchType == matchExact && (name == nil || *name != *p.Match):
			return false
		}
	}
	return true
}

func describeQuota(e metadata.QuotaEntity, values map[string]float64) kmsg.DescribeClientQuotasResponseEntry {
	out := kmsg.NewDescribeClientQuotasResponseEntry()
	for _, d := range e.Data() {
		part := kmsg.NewDescribeClientQuotasResponseEntryEntity()
		part.Type, part.Name = d.EntityType, d.EntityName
		out.Entity = append(out.Entity, part)
	}
	for key, value := range values {
		v := kmsg.NewDescribeClientQuotasResponseEntryValue()
		v.Key, v.Value = key, value
		out.Values = append(out.Values, v)
	}
	return out
}
