package loglevel

import (
	"context"
	"log/slog"
	"maps"
	"math"
	"sync"
	"sync/atomic"
)

// Room is the attribute key that names the room of a logger.
const Room = "room"

// Root is the name of the level of the whole node.
const Root = "root"

// names are the levels that can be set, the most talkative first.
var names = []struct {
	name  string
	level slog.Level
}{
	{"TRACE", slog.LevelDebug - 4},
	{"DEBUG", slog.LevelDebug},
	{"INFO", slog.LevelInfo},
	{"WARN", slog.LevelWarn},
	{"ERROR", slog.LevelError},
	{"FATAL", slog.LevelError + 4},
}

// Parse returns the level of a name, in just this spelling.
func Parse(name string) (slog.Level, bool) {
	for _, n := range names {
		if n.name == name {
			return n.level, true
		}
	}
	return 0, false
}

// Names returns the names of all levels, the most talkative first.
func Names() []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = n.name
	}
	return out
}

// unset is a level that nobody has set.
const unset = math.MinInt32

// Levels holds the levels of a node. The zero value has only root.
type Levels struct {
	root room
	mu   struct {
		sync.Mutex
		rooms map[string]*room
	}
}

// room is one name with its level.
type room struct {
	// level is the level plus levelBias, 0 while it is not set.
	level atomic.Int64
	// inner answers what is logged until a level is set; written once, before the room can be found.
	inner slog.Handler
}

func (r *room) get() int64 {
	if v := r.level.Load(); v != 0 {
		return v - levelBias
	}
	return unset
}

// levelBias keeps stored levels away from 0, which means unset.
const levelBias = 1 << 20

func (r *room) set(l slog.Level) { r.level.Store(int64(l) + levelBias) }

// Handler returns a handler that passes on to inner what the levels let through. It is to be called once.
func (l *Levels) Handler(inner slog.Handler) slog.Handler {
	l.root.inner = inner
	return &handler{levels: l, inner: inner}
}

// All returns the name of the level in force for root and each room.
func (l *Levels) All() map[string]string {
	l.mu.Lock()
	rooms := maps.Clone(l.mu.rooms)
	l.mu.Unlock()
	out := map[string]string{Root: l.nameOf(&l.root)}
	for name, r := range rooms {
		out[name] = l.nameOf(r)
	}
	return out
}

// nameOf returns the most talkative level that would be logged.
func (l *Levels) nameOf(r *room) string {
	for _, n := range names {
		if l.enabled(r, r.inner, n.level) {
			return n.name
		}
	}
	return names[len(names)-1].name
}

// Set gives root or a room a level of its own; false if there is no such room.
func (l *Levels) Set(name string, level slog.Level) bool {
	r := l.find(name)
	if r != nil {
		r.set(level)
	}
	return r != nil
}

// Unset lets a room go by root again, and root by the handler underneath; false if there is no such room.
func (l *Levels) Unset(name string) bool {
	r := l.find(name)
	if r != nil {
		r.level.Store(0)
	}
	return r != nil
}

// Has tells whether there is such a room.
func (l *Levels) Has(name string) bool { return l.find(name) != nil }

func (l *Levels) find(name string) *room {
	if name == Root {
		return &l.root
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.rooms[name]
}

// room returns the room of that name, which begins to exist.
func (l *Levels) room(name string, inner slog.Handler) *room {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.mu.rooms[name]
	if r == nil {
		r = &room{inner: inner}
		if l.mu.rooms == nil {
			l.mu.rooms = map[string]*room{}
		}
		l.mu.rooms[name] = r
	}
	return r
}

// enabled decides by the room's level, root's, or what is underneath, in this order.
func (l *Levels) enabled(r *room, inner slog.Handler, level slog.Level) bool {
	if r != nil {
		if own := r.get(); own != unset {
			return int64(level) >= own
		}
	}
	if root := l.root.get(); root != unset {
		return int64(level) >= root
	}
	return inner != nil && inner.Enabled(context.Background(), level)
}

// handler is a slog.Handler for one room, or for none.
type handler struct {
	levels *Levels
	room   *room
	inner  slog.Handler
}

func (h *handler) Enabled(_ context.Context, level slog.Level) bool {
	return h.levels.enabled(h.room, h.inner, level)
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error { return h.inner.Handle(ctx, r) }

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.inner = h.inner.WithAttrs(attrs)
	for _, a := range attrs {
		if name := a.Value.String(); a.Key == Room && name != "" && name != Root {
			next.room = h.levels.room(name, h.inner)
		}
	}
	return &next
}

func (h *handler) WithGroup(name string) slog.Handler {
	next := *h
	next.inner = h.inner.WithGroup(name)
	return &next
}
