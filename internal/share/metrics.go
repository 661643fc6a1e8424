package share

import (
	"sync/atomic"

	"github.com/samsalog/samsa/internal/share/window"
	"github.com/samsalog/samsa/record"
)

// counters are what the manager counts.
type counters struct {
	acquired, expirations atomic.Int64
	acknowledgements      [window.Renew + 1]atomic.Int64
}

// acknowledged counts records by what was said of them, from the start of the window on: up to there ranges were found in
// it, so that their size is real.
func (c *counters) acknowledged(acks []window.Ack, start record.Offset) {
	for _, a := range acks {
		if len(a.Types) == 1 {
			c.acknowledgements[a.Types[0]].Add(max(0, int64(a.Last-max(a.First, start)+1)))
			continue
		}
		for _, t := range a.Types {
			c.acknowledgements[t].Add(1)
		}
	}
}

func (c *counters) expired(change *window.Change) {
	for _, b := range change.Batches {
		c.expirations.Add(int64(b.Last - b.First + 1))
	}
}

// Metrics is a reading of the counters (Kafka's share-group-metrics).
type Metrics struct {
	// Sessions and Partitions are how many there are now, InFlight how many offsets the windows span.
	Sessions, Partitions int
	InFlight             int64
	// Acquired, Expired and Acknowledged count records since the start: handed out, taken back because their lock ran
	// out, and acknowledged by type.
	Acquired, Expired int64
	Acknowledged      map[string]int64
}

// Metrics reads the counters.
func (m *Manager) Metrics() Metrics {
	out := Metrics{
		Sessions: m.sessions.len(), Acquired: m.counters.acquired.Load(), Expired: m.counters.expirations.Load(),
		Acknowledged: map[string]int64{},
	}
	for t, name := range []string{"gap", "accept", "release", "reject", "renew"} {
		out.Acknowledged[name] = m.counters.acknowledgements[t].Load()
	}
	for _, p := range m.matching(func(*partition) bool { return true }) {
		out.Partitions++
		p.mu.Lock()
		if p.mu.phase == active {
			out.InFlight += p.mu.window.InFlight()
		}
		p.mu.Unlock()
	}
	return out
}
