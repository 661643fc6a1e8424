package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/wire"
)

// alterConfigs replaces all configs of each resource by those given: what is not named is unset.
func (h *Handler) alterConfigs(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.AlterConfigsRequest)
	resp := req.ResponseKind().(*kmsg.AlterConfigsResponse)
	double := twice(len(req.Resources), func(i int) metadata.ConfigResource {
		return metadata.ConfigResource{Type: int8(req.Resources[i].ResourceType), Name: req.Resources[i].ResourceName}
	})
	for i, res := range req.Resources {
		out := kmsg.NewAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName = res.ResourceType, res.ResourceName
		err := errTwice()
		if !double[i] {
			err = h.replace(res, req.ValidateOnly)
		}
		out.ErrorCode, out.ErrorMessage = configCode(err)
		resp.Resources = append(resp.Resources, out)
	}
	return wire.Reply{Body: resp}
}

func (h *Handler) replace(res kmsg.AlterConfigsRequestResource, validateOnly bool) error {
	changes := make([]config.Change, len(res.Configs))
	for i, c := range res.Configs {
		changes[i] = config.Change{Name: c.Name, Op: config.OpSet, Value: c.Value}
	}
	if err := config.CheckChanges(changes); err != nil {
		return err
	}
	if int8(res.ResourceType) == metadata.BrokerLoggerResource {
		return faultf(kerr.InvalidRequest, "log levels are changed with IncrementalAlterConfigs only")
	}
	return h.edit(int8(res.ResourceType), res.ResourceName, func(keys *config.Set, _ map[string]string) (map[string]string, error) {
		return config.Apply(keys, nil, changes)
	}, validateOnly)
}
