package controller

import (
	"crypto/rand"
	"io"
	"log/slog"

	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/internal/metadata"
)

// Config is where the controller finds settings.
type Config struct {
	// Layers returns the settings in force. It is called for each decision and must not wait for one.
	Layers func() config.Layers
}

// Options is all that a Controller is given.
type Options struct {
	Store  *metadata.Store
	NodeID int32
	Config Config
	// ReadOnly refuses every change that a client asks for. What the node itself needs is still written.
	ReadOnly bool
	// Rand is where topic ids and incarnation ids come from; nil: crypto/rand.
	Rand io.Reader
	// Logger hears what a person should know; nil: nobody does.
	Logger *slog.Logger
}

// Controller decides. Its state is the Store's.
type Controller struct {
	o Options
}

// New returns a Controller over an open Store.
func New(o Options) *Controller {
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Controller{o: o}
}

// maxRecordsPerOperation bounds what one request may write (MAX_RECORDS_PER_USER_OP).
const maxRecordsPerOperation = 10000

// isActive reports whether a broker may lead: registered, not fenced, not shutting down.
func isActive(i *metadata.Image, id int32) bool {
	b := i.Brokers[id]
	return b != nil && !b.Fenced && !b.InControlledShutdown
}

// active returns those of ids that may lead.
func active(i *metadata.Image, ids []int32) []int32 {
	out := make([]int32, 0, len(ids))
	for _, id := range ids {
		if isActive(i, id) {
			out = append(out, id)
		}
	}
	return out
}
