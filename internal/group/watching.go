package group

import (
	"time"

	"github.com/samsalog/samsa/internal/coord"
)

// clocks remove a member of a group with epochs, of type M: session when it was silent, rebalance when it does not give up
// in time what it must. A member of the classic protocol in a consumer group has join and sync instead of the second: when
// it does not send these in time.
type clocks[M any] struct {
	session, rebalance, join, sync *coord.Timer
	// asked is the member as it was when rebalance was started: whoever is asked for more gets the time again.
	asked M
}

func (c *clocks[M]) stop() {
	for _, x := range []*coord.Timer{c.session, c.rebalance, c.join, c.sync} {
		x.Stop()
	}
}

// clocksOf are those of a member, stopped ones if it has none yet.
func clocksOf[M any](of map[string]*clocks[M], member string) *clocks[M] {
	c := of[member]
	if c == nil {
		c = &clocks[M]{}
		of[member] = c
	}
	return c
}

// stopGone stops the clocks of who is no member any more.
func stopGone[M any](of map[string]*clocks[M], members map[string]M) {
	for id, c := range of {
		if _, stays := members[id]; !stays {
			c.stop()
			delete(of, id)
		}
	}
}

// wind starts a timer; one that runs begins again.
func (m *machine) wind(at **coord.Timer, d time.Duration, f func() coord.Result) {
	if *at != nil {
		(*at).Reset(d)
		return
	}
	*at = m.timers.AfterFunc(d, f)
}

// giveWay clears an id for a group of a kind of which a record was read: what is left of another kind goes, and so does a
// simple group, made because offsets were read first (GROUP-5).
func (m *machine) giveWay(id string, to kind) {
	if to != consumerKind {
		m.dropConsumer(m.consumers[id])
	}
	if to != streamsKind {
		m.dropStreams(m.streams[id])
	}
	if to != shareKind {
		m.dropShare(m.shares[id])
	}
	if old := m.groups[id]; old != nil && old.isSimple() {
		m.remove(old)
	}
}
