package handler

import (
	"github.com/samsalog/samsa/internal/group"
	sharestate "github.com/samsalog/samsa/internal/share/coordinator"
	"github.com/samsalog/samsa/internal/txn"
)

// autoCreate makes a topic with the broker's defaults, or a coordinator's topic with its own.
func (h *Handler) autoCreate(name string) error {
	switch {
	case name == group.OffsetsTopic:
		return h.deps.CreateOffsetsTopic()
	case name == txn.TransactionsTopic:
		return h.deps.CreateTransactionsTopic()
	case name == sharestate.StateTopic:
		return h.deps.CreateShareStateTopic()
	}
	l := h.deps.Config()
	_, err := h.deps.Controller.CreateTopic(name, int32(l.Int("num.partitions")), int16(l.Int("default.replication.factor")), nil)
	return err
}
