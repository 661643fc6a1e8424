package streams

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/samsalog/samsa/internal/group/modern"
	"github.com/samsalog/samsa/internal/group/view"
)

// Rules are the settings that a group follows.
type Rules struct {
	// MaxSize bounds the members (group.streams.max.size).
	MaxSize int
	// AssignmentInterval is the least time between two assignments (streams.assignment.interval.ms).
	AssignmentInterval time.Duration
	// InitialDelay is how long an empty group waits for more members (streams.initial.rebalance.delay.ms).
	InitialDelay time.Duration
	// Standbys is how many copies are kept of each task that keeps something (streams.num.standby.replicas).
	Standbys int
	// RackTags are the tags that members should have (streams.rack.aware.assignment.tags). The one assignor that there
	// is does not look at them.
	RackTags []string
}

// settings are those that an assignment depends on, as they are stored.
func (r Rules) settings() []Setting {
	out := []Setting{{"num.standby.replicas", strconv.Itoa(r.Standbys)}}
	if len(r.RackTags) > 0 {
		out = append(out, Setting{"rack.aware.assignment.tags", strings.Join(r.RackTags, ",")})
	}
	return out
}

// Change is what one request, or the passing of time, does to a group.
type Change struct{ modern.Draft[*Group] }

// Begin starts a change of a group.
func Begin(g *Group) *Change { return &Change{modern.Draft[*Group]{Group: g}} }

// assign makes a new target assignment. Nobody gets anything while topics are missing (STREAMS-7).
func (c *Change) assign(live *Live, nowMs int64, standbys int) {
	g := c.Group
	made := map[string]Assignment{}
	if live.configured.ready() {
		made = assign(g, live, standbys)
	}
	for _, m := range g.InOrder() {
		if old, ok := g.Targets[m.ID]; !ok || !old.equal(made[m.ID]) {
			c.writeTarget(m.ID, made[m.ID])
		}
	}
	c.writeTargetMetadata(g.Epoch, nowMs)
}

// AssignDelayed makes the first assignment of a group that has waited for more members. The topology is that of the
// last heartbeat; the next one makes the assignment if there was none.
func (c *Change) AssignDelayed(live *Live, r Rules, nowMs int64) {
	g := c.Group
	if len(g.Members) == 0 || !g.Wants() || live.configured == nil || !g.Rested(r.AssignmentInterval, nowMs) {
		return
	}
	c.assign(live, nowMs, standbysIn(g.Settings))
}

// standbysIn reads the number of copies out of stored settings.
func standbysIn(settings []Setting) int {
	i := slices.IndexFunc(settings, func(s Setting) bool { return s.Key == "num.standby.replicas" })
	if i < 0 {
		return 0
	}
	n, err := strconv.Atoi(settings[i].Value)
	if err != nil {
		return 0
	}
	return n
}

// hash is over the topics that a topology needs.
func (t *Topology) hash(v view.View) int64 { return view.Hash(v, t.required) }
