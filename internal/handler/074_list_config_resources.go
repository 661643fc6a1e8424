package handler

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/wire"
)

// listConfigResources names the resources that have configs (KIP-1142): every topic and broker, and the groups and
// client metrics on which something is set. Version 0 knew client metrics only.
func (h *Handler) listConfigResources(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.ListConfigResourcesRequest)
	resp := req.ResponseKind().(*kmsg.ListConfigResourcesResponse)
	all := []int8{metadata.TopicResource, metadata.BrokerResource, metadata.BrokerLoggerResource, metadata.ClientMetricsResource, metadata.GroupResource}
	kinds := req.ResourceTypes
	switch {
	case req.Version == 0:
		kinds = []int8{metadata.ClientMetricsResource}
	case len(kinds) == 0:
		kinds = all
	case slices.ContainsFunc(kinds, func(k int8) bool { return !slices.Contains(all, k) }):
		resp.ErrorCode = kerr.UnsupportedVersion.Code
		return wire.Reply{Body: resp}
	}
	image := h.deps.Metadata.Image()
	for _, kind := range all {
		if !slices.Contains(kinds, kind) {
			continue
		}
		for _, name := range resourceNames(image, kind) {
			out := kmsg.NewListConfigResourcesResponseConfigResource()
			out.Name, out.Type = name, kind
			resp.ConfigResources = append(resp.ConfigResources, out)
		}
	}
	return wire.Reply{Body: resp}
}

// resourceNames returns the names of the resources of a type, in order.
func resourceNames(i *metadata.Image, kind int8) []string {
	var names []string
	switch kind {
	case metadata.TopicResource:
		for t := range i.Topics.All() {
			names = append(names, t.Name)
		}
	case metadata.BrokerResource, metadata.BrokerLoggerResource:
		for id := range i.Brokers {
			names = append(names, strconv.Itoa(int(id)))
		}
	default:
		for r := range i.ConfigResources() {
			if r.Type == kind {
				names = append(names, r.Name)
			}
		}
	}
	slices.SortFunc(names, cmp.Compare[string])
	return names
}
