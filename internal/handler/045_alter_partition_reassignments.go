package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// alterPartitionReassignments has the controller begin, change or cancel reassignments of replicas.
func (h *Handler) alterPartitionReassignments(_ context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Controller.AlterPartitionAssignments(r.Body.(*kmsg.AlterPartitionAssignmentsRequest))}
}
