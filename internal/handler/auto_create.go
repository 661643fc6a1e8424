package handler

import (
	"errors"

	"github.com/samsalog/samsa/internal/group"
	"github.com/samsalog/samsa/internal/txn"
)

// errNotServed refuses to create the topics of coordinators that are not served: as ordinary topics they would be in
// the way of the real ones.
var errNotServed = errors.New("the coordinator that the topic belongs to is not served")

// autoCreate makes a topic with the broker's defaults, or a coordinator's topic with its own.
func (h *Handler) autoCreate(name string) error {
	switch {
	case name == group.OffsetsTopic:
		return h.deps.CreateOffsetsTopic()
	case name == txn.TransactionsTopic:
		return h.deps.CreateTransactionsTopic()
	case internalTopic(name):
		return errNotServed
	}
	l := h.deps.Config()
	_, err := h.deps.Controller.CreateTopic(name, int32(l.Int("num.partitions")), int16(l.Int("default.replication.factor")), nil)
	return err
}
