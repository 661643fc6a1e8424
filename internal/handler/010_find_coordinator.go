package handler

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/group"
	"github.com/samsalog/samsa/internal/metadata"
	sharestate "github.com/samsalog/samsa/internal/share/coordinator"
	"github.com/samsalog/samsa/internal/txn"
	"github.com/samsalog/samsa/internal/wire"
)

// The version of FindCoordinator from which …
const (
	coordinatorMessage = 1 // … errors have a text
	coordinatorBatch   = 4 // … several keys are asked at once (KIP-699)
	coordinatorShare   = 6 // … coordinators of share partitions exist (KIP-932)
)

// The kinds of coordinators.
const (
	groupCoordinator       = 0
	transactionCoordinator = 1
	shareCoordinator       = 2
)

// findCoordinator tells which node coordinates groups, transactions and share partitions (V-04: one key or several).
func (h *Handler) findCoordinator(ctx context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.FindCoordinatorRequest)
	resp := kmsg.NewPtrFindCoordinatorResponse()
	if r.Version >= coordinatorBatch {
		for _, key := range req.CoordinatorKeys {
			resp.Coordinators = append(resp.Coordinators, h.coordinator(ctx, r, req.CoordinatorType, key))
		}
		return wire.Reply{Body: resp}
	}
	kind := req.CoordinatorType
	if r.Version < coordinatorMessage {
		kind = groupCoordinator
	}
	c := h.coordinator(ctx, r, kind, req.CoordinatorKey)
	resp.ErrorCode, resp.ErrorMessage, resp.NodeID, resp.Host, resp.Port = c.ErrorCode, c.ErrorMessage, c.NodeID, c.Host, c.Port
	if c.ErrorCode == 0 {
		resp.ErrorMessage = kmsg.StringPtr("NONE") // the name of the code: in these versions Kafka has it there
	}
	return wire.Reply{Body: resp}
}

// coordinator answers for one key.
func (h *Handler) coordinator(ctx context.Context, r *wire.Request, kind int8, key string) kmsg.FindCoordinatorResponseCoordinator {
	out := kmsg.NewFindCoordinatorResponseCoordinator()
	out.Key, out.NodeID, out.Port = key, -1, -1
	out.ErrorMessage = kmsg.StringPtr("")
	node, fault := h.coordinatorNode(ctx, r.Version, kind, key)
	if fault != nil {
		out.ErrorCode, out.ErrorMessage = fault.code.Code, &fault.text
		return out
	}
	image := h.deps.Metadata.Image()
	b := image.Brokers[node]
	host, port, ok := endpoint(b, r.Listener.Name)
	if !ok || b.Fenced {
		out.ErrorCode = kerr.CoordinatorNotAvailable.Code
		return out
	}
	out.NodeID, out.Host, out.Port = node, host, port
	return out
}

// coordinatorNode returns the node that coordinates a key.
func (h *Handler) coordinatorNode(ctx context.Context, version int16, kind int8, key string) (int32, *fault) {
	switch {
	case kind == groupCoordinator:
		return h.coordinatorOf(ctx, "group", key, group.OffsetsTopic, h.deps.Groups.Locate)
	case kind == transactionCoordinator:
		return h.coordinatorOf(ctx, "transactional_id", key, txn.TransactionsTopic, h.deps.Transactions.Locate)
	case kind == shareCoordinator && (version < coordinatorShare || !sharePartitionKey(key)):
		return -1, &fault{code: kerr.InvalidRequest}
	case kind == shareCoordinator:
		return h.coordinatorOf(ctx, "share_partition", key, sharestate.StateTopic, h.deps.ShareState.Locate)
	}
	return -1, &fault{kerr.InvalidRequest, "there are no coordinators of type " + strconv.Itoa(int(kind))}
}

// coordinatorOf returns the leader of a key's partition of a coordinator's topic, which is made if need be.
func (h *Handler) coordinatorOf(ctx context.Context, what, key, topic string, locate func(context.Context, string) (int32, error)) (int32, *fault) {
	partition, err := locate(ctx, key)
	if err != nil {
		h.deps.Logger.Warn("cannot tell a coordinator", what, key, "err", err)
		return -1, &fault{kerr.CoordinatorNotAvailable, ""}
	}
	if p := partitionOf(h.deps.Metadata.Image(), topic, partition); p != nil && p.Leader >= 0 {
		return p.Leader, nil
	}
	return -1, &fault{kerr.CoordinatorNotAvailable, ""}
}

// partitionOf is a partition by topic name; nil when there is none.
func partitionOf(image *metadata.Image, topic string, partition int32) *metadata.Partition {
	t := image.Topics.ByName(topic)
	if t == nil || partition < 0 || int(partition) >= len(t.Partitions) {
		return nil
	}
	return t.Partitions[partition]
}

// sharePartitionKey checks a key of the form group:topicId:partition. The group may have colons in it.
func sharePartitionKey(key string) bool {
	parts := strings.Split(key, ":")
	if len(parts) < 3 {
		return false
	}
	id, err := base64.RawURLEncoding.DecodeString(parts[len(parts)-2])
	if err != nil || len(id) != 16 {
		return false
	}
	_, err = strconv.ParseInt(parts[len(parts)-1], 10, 32)
	return err == nil && len(key) > len(parts[len(parts)-2])+len(parts[len(parts)-1])+2
}
