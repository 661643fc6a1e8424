package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// listPartitionReassignments lists the reassignments under way.
func (h *Handler) listPartitionReassignments(_ context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Controller.PartitionReassignments(r.Body.(*kmsg.ListPartitionReassignmentsRequest))}
}
