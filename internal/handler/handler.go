package handler

import (
	"context"
	"log/slog"
	"time"

	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/internal/controller"
	"github.com/samsalog/samsa/internal/group"
	"github.com/samsalog/samsa/internal/loglevel"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/replica"
	"github.com/samsalog/samsa/internal/share"
	sharestate "github.com/samsalog/samsa/internal/share/coordinator"
	"github.com/samsalog/samsa/internal/txn"
	"github.com/samsalog/samsa/internal/wire"
	"github.com/samsalog/samsa/storage/logdir"
)

// Deps are the rooms that requests are passed on to. All are required, except where said.
type Deps struct {
	// Config returns the configuration in force; it is asked for each request.
	Config     func() config.Layers
	Metadata   *metadata.Store
	Controller *controller.Controller
	Replicas   *replica.Manager
	Groups     *group.Service
	// Share hands records out to share groups.
	Share *share.Manager
	// LogDirs are the node's log directories with what they hold.
	LogDirs *logdir.Manager
	// Transactions coordinates transactions and gives out producer ids.
	Transactions *txn.Service
	// ShareState keeps the state of share partitions.
	ShareState *sharestate.Service
	// CreateOffsetsTopic makes __consumer_offsets if it does not exist yet. When it returns nil, the metadata image
	// has the topic.
	CreateOffsetsTopic func() error
	// CreateTransactionsTopic does the same for __transaction_state.
	CreateTransactionsTopic func() error
	// CreateShareStateTopic does the same for __share_group_state.
	CreateShareStateTopic func() error
	Logger                *slog.Logger
	// Levels are the levels of Logger, told and changed as BROKER_LOGGER configs; nil when Logger has none to change.
	Levels *loglevel.Levels
	NodeID int32
	// ReadOnly refuses what would change records of topics; the Controller refuses the rest.
	ReadOnly bool
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Handler implements wire.Handler.
type Handler struct {
	deps     Deps
	routes   map[int16]route
	sessions *fetchSessionCache
}

// New returns the handler of a node's client listeners.
func New(d Deps) *Handler {
	if d.Now == nil {
		d.Now = time.Now
	}
	h := &Handler{deps: d}
	h.sessions = newFetchSessionCache(d.Config().Int("max.incremental.fetch.session.cache.slots"), d.Now)
	h.routes = h.table()
	return h
}

// Range implements wire.Handler. All listeners serve the same.
func (h *Handler) Range(_ *wire.Listener, key int16) (min, max int16, ok bool) {
	r, ok := h.routes[key]
	return r.min, r.max, ok
}

// Handle implements wire.Handler.
func (h *Handler) Handle(ctx context.Context, r *wire.Request) wire.Reply {
	route, ok := h.routes[r.Key]
	if !ok {
		return wire.Reply{Close: true}
	}
	return route.serve(ctx, r)
}
