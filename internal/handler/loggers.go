package handler

import (
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/internal/loglevel"
)

// alterLogLevels changes the levels of this node's log lines. They are not stored: a restart forgets them, as in
// Kafka. All changes are judged before one is made.
func (h *Handler) alterLogLevels(name string, changes []config.Change, validateOnly bool) error {
	if err := h.thisNode(name); err != nil {
		return err
	}
	for _, c := range changes {
		if err := h.judgeLogLevel(c); err != nil {
			return err
		}
	}
	if validateOnly {
		return nil
	}
	for _, c := range changes {
		if c.Op == config.OpDelete {
			h.deps.Levels.Unset(c.Name)
			continue
		}
		level, _ := loglevel.Parse(*c.Value) // judged above
		h.deps.Levels.Set(c.Name, level)
	}
	return nil
}

func (h *Handler) judgeLogLevel(c config.Change) error {
	switch c.Op {
	case config.OpSet, config.OpDelete:
	case config.OpAppend, config.OpSubtract:
		return faultf(kerr.InvalidRequest, "a log level is no list: nothing can be added to or taken from it")
	default:
		return &config.OpError{Op: c.Op}
	}
	if h.deps.Levels == nil || !h.deps.Levels.Has(c.Name) {
		return faultf(kerr.InvalidConfig, "there is no logger %s", c.Name)
	}
	if c.Op == config.OpDelete {
		if c.Name == loglevel.Root {
			return faultf(kerr.InvalidRequest, "the level of the %s logger cannot be removed", loglevel.Root)
		}
		return nil
	}
	if _, ok := loglevel.Parse(*c.Value); !ok {
		return faultf(kerr.InvalidConfig, "%s is not a log level; there are %s", *c.Value, strings.Join(loglevel.Names(), ", "))
	}
	return nil
}

// describeLoggers describes the levels of this node's log lines: one for the whole node, and one for each room.
func (h *Handler) describeLoggers(name string) ([]config.Entry, error) {
	if err := h.thisNode(name); err != nil {
		return nil, err
	}
	if h.deps.Levels == nil {
		return nil, nil
	}
	levels := h.deps.Levels.All()
	var out []config.Entry
	for _, room := range slices.Sorted(maps.Keys(levels)) {
		level := levels[room]
		out = append(out, config.Entry{Name: room, Value: &level, Source: config.SourceBrokerLogger})
	}
	return out, nil
}
