package streams

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Offsets are how far a member has come with its copies of tasks, and how far there is to go, as it last reported.
type Offsets struct{ at, end map[task]int64 }

// Live is what is known of a group beside its records. It is lost when the shard goes to another node, and found again
// by and by.
type Live struct {
	// EndpointEpoch is raised when instances, or what they run, change for those who ask queries.
	EndpointEpoch int32
	offsets       map[string]Offsets
	// configured is the topology as topics make it; nil when it was not looked at yet.
	configured *Configured
	// shutdown is the member that asked for the end of the application; "" if none did.
	shutdown string
}

// NewLive is what is known of a group that nobody was heard of yet.
func NewLive() *Live { return &Live{offsets: map[string]Offsets{}} }

// Follow forgets what is over: members that are gone, and the request to end when all are.
func (l *Live) Follow(g *Group) {
	for id := range l.offsets {
		if g.Members[id] == nil {
			delete(l.offsets, id)
		}
	}
	if len(g.Members) == 0 {
		l.shutdown = ""
	}
}

// Shutdown notes that a member asks for the end of the application. The first counts.
func (l *Live) Shutdown(member string) {
	if l.shutdown == "" {
		l.shutdown = member
	}
}

// report takes over what a member says of its offsets; nil lists leave what was said. A task that is named twice is an
// error.
func (l *Live) report(id string, at, end []kmsg.TaskOffset) *kerr.Error {
	if at == nil && end == nil {
		return nil
	}
	o := l.offsets[id]
	for _, x := range []struct {
		to   *map[task]int64
		said []kmsg.TaskOffset
	}{{&o.at, at}, {&o.end, end}} {
		if x.said == nil {
			continue
		}
		m := map[task]int64{}
		for _, t := range x.said {
			at := task{strings.Clone(t.SubtopologyID), t.Partition}
			if _, again := m[at]; again {
				return kerr.InvalidRequest
			}
			m[at] = t.Offset
		}
		*x.to = m
	}
	l.offsets[id] = o
	return nil
}
