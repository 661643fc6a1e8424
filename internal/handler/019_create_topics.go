package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// createTopics has the controller create topics.
func (h *Handler) createTopics(_ context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Controller.CreateTopics(r.Body.(*kmsg.CreateTopicsRequest))}
}
