package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/wire"
)

// incrementalAlterConfigs sets, unsets and extends single configs of each resource (KIP-339).
func (h *Handler) incrementalAlterConfigs(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.IncrementalAlterConfigsRequest)
	resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	double := twice(len(req.Resources), func(i int) metadata.ConfigResource {
		return metadata.ConfigResource{Type: int8(req.Resources[i].ResourceType), Name: req.Resources[i].ResourceName}
	})
	for i, res := range req.Resources {
		out := kmsg.NewIncrementalAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName = res.ResourceType, res.ResourceName
		err := errTwice()
		if !double[i] {
			err = h.amend(res, req.ValidateOnly)
		}
		out.ErrorCode, out.ErrorMessage = configCode(err)
		resp.Resources = append(resp.Resources, out)
	}
	return wire.Reply{Body: resp}
}

func (h *Handler) amend(res kmsg.IncrementalAlterConfigsRequestResource, validateOnly bool) error {
	changes := make([]config.Change, len(res.Configs))
	for i, c := range res.Configs {
		changes[i] = config.Change{Name: c.Name, Op: config.Op(c.Op), Value: c.Value}
	}
	if err := config.CheckChanges(changes); err != nil {
		return err
	}
	if int8(res.ResourceType) == metadata.BrokerLoggerResource {
		return h.alterLogLevels(res.ResourceName, changes, validateOnly)
	}
	return h.edit(int8(res.ResourceType), res.ResourceName, func(keys *config.Set, current map[string]string) (map[string]string, error) {
		return config.Apply(keys, current, changes)
	}, validateOnly)
}
