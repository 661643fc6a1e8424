package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// deleteTopics has the controller delete topics, by name or by id.
func (h *Handler) deleteTopics(_ context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Controller.DeleteTopics(r.Body.(*kmsg.DeleteTopicsRequest))}
}
