package handler

import (
	"context"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/wire"
)

// describeConfigs tells the configs of topics, brokers, groups, client metrics and loggers, with where each value
// comes from.
func (h *Handler) describeConfigs(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.DescribeConfigsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
	image, l := h.deps.Metadata.Image(), h.deps.Config()
	for _, res := range req.Resources {
		out := kmsg.NewDescribeConfigsResponseResource()
		out.ResourceType, out.ResourceName = res.ResourceType, res.ResourceName
		entries, err := h.describe(image, l, metadata.ConfigResource{Type: int8(res.ResourceType), Name: res.ResourceName})
		out.ErrorCode, out.ErrorMessage = configCode(err)
		if out.ErrorMessage == nil || out.ErrorCode == kerr.UnknownTopicOrPartition.Code {
			out.ErrorMessage = new(string) // Kafka has the empty text here, not null
		}
		wanted := make(map[string]bool, len(res.ConfigNames))
		for _, name := range res.ConfigNames {
			wanted[name] = true
		}
		for _, e := range entries {
			if len(wanted) == 0 || wanted[e.Name] {
				out.Configs = append(out.Configs, describedConfig(e, req))
			}
		}
		resp.Resources = append(resp.Resources, out)
	}
	return wire.Reply{Body: resp}
}

// describe returns what there is to tell of a resource.
func (h *Handler) describe(i *metadata.Image, l config.Layers, r metadata.ConfigResource) ([]config.Entry, error) {
	switch r.Type {
	case metadata.TopicResource:
		if why := topicNameFault(r.Name); why != "" {
			return nil, faultf(kerr.InvalidTopicException, "%s", why)
		}
		if i.Topics.ByName(r.Name) == nil {
			return nil, faultf(kerr.UnknownTopicOrPartition, "there is no topic %s", r.Name)
		}
		return l.DescribeTopic(i.Config(r)), nil
	case metadata.BrokerResource:
		if r.Name == "" {
			return l.DescribeCluster(), nil
		}
		if id, err := strconv.ParseInt(r.Name, 10, 32); err != nil || int32(id) != h.deps.NodeID {
			return nil, faultf(kerr.InvalidRequest, "this is node %d; configs are told of it and, under an empty name, of all brokers, not of %q", h.deps.NodeID, r.Name)
		}
		return l.DescribeBroker(), nil
	case metadata.BrokerLoggerResource:
		return h.describeLoggers(r.Name)
	case metadata.GroupResource:
		if r.Name == "" {
			return nil, faultf(kerr.InvalidRequest, "a group must have a name")
		}
		return l.DescribeGroup(i.Config(r)), nil
	case metadata.ClientMetricsResource:
		if r.Name == "" {
			return nil, faultf(kerr.InvalidRequest, "a subscription to client metrics must have a name")
		}
		return l.DescribeClientMetrics(i.Config(r)), nil
	}
	return nil, faultf(kerr.InvalidRequest, "there are no configs of resource type %d", r.Type)
}

// describedConfig writes an entry as the request wants it.
func describedConfig(e config.Entry, req *kmsg.DescribeConfigsRequest) kmsg.DescribeConfigsResponseResourceConfig {
	c := kmsg.NewDescribeConfigsResponseResourceConfig()
	c.Name, c.Value = e.Name, e.Value
	c.ReadOnly, c.IsSensitive = e.ReadOnly, e.Sensitive
	c.Source, c.ConfigType = kmsg.ConfigSource(e.Source), kmsg.ConfigType(e.Type)
	c.IsDefault = req.Version == 0 && e.Source == config.SourceDefault
	if req.IncludeDocumentation && e.Doc != "" {
		c.Documentation = &e.Doc
	}
	if !req.IncludeSynonyms {
		return c
	}
	for _, s := range e.Synonyms {
		out := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
		out.Name, out.Value, out.Source = s.Name, s.Value, kmsg.ConfigSource(s.Source)
		c.ConfigSynonyms = append(c.ConfigSynonyms, out)
	}
	return c
}
