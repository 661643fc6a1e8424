package group

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// consumers are members of one group that behave as clients do.
type consumers struct {
	h          *host
	partitions int
	all        []*reader
	mu         sync.Mutex
	unknown    []string
}

type reader struct {
	w       *consumers
	c       *client
	id      string
	gen     int32
	owned   []int
	stopped bool
	leave   chan struct{}
}

func (w *consumers) start() {
	c := &reader{w: w, c: w.h.client("c"), leave: make(chan struct{})}
	w.all = append(w.all, c)
	go c.run()
}

func (w *consumers) running() []*reader {
	return slices.DeleteFunc(slices.Clone(w.all), func(c *reader) bool { return c.stopped })
}

func (w *consumers) generation() int32 {
	var g int32
	for _, c := range w.all {
		g = max(g, c.gen)
	}
	return g
}

func (c *reader) stop() { c.stopped = true; close(c.leave) }

// run joins, syncs and beats until it is told to leave.
func (c *reader) run() {
	for {
		r := c.c.join(joinRequest("g", c.id, nil))
		switch r.ErrorCode {
		case 0:
		case kerr.MemberIDRequired.Code:
			c.id = r.MemberID
			continue
		case kerr.UnknownMemberID.Code:
			c.w.mu.Lock()
			c.w.unknown = append(c.w.unknown, c.id)
			c.w.mu.Unlock()
			c.id = ""
			continue
		case kerr.RebalanceInProgress.Code:
			continue
		default:
			return
		}
		c.gen = r.Generation
		assignment := map[string]string{}
		if len(r.Members) > 0 {
			for i, m := range r.Members {
				var own []string
				for p := i; p < c.w.partitions; p += len(r.Members) {
					own = append(own, fmt.Sprint(p))
				}
				assignment[m.MemberID] = strings.Join(own, ",")
			}
		}
		s := c.c.sync("g", c.id, c.gen, assignment)
		if s.ErrorCode != 0 {
			continue
		}
		c.owned = nil
		for _, p := range strings.Split(string(s.MemberAssignment), ",") {
			var n int
			if _, err := fmt.Sscan(p, &n); err == nil {
				c.owned = append(c.owned, n)
			}
		}
		if !c.beat() {
			c.owned = nil
			c.c.leave("g", c.id)
			return
		}
	}
}

// beat sends heartbeats until the group rebalances (true) or the consumer is to leave.
func (c *reader) beat() bool {
	for {
		select {
		case <-c.leave:
			return false
		case <-time.After(3 * time.Second):
			if c.c.beat("g", c.id, c.gen) != 0 {
				return true
			}
		}
	}
}

// check finds that n members own every partition once, in one generation.
func (w *consumers) check(t *testing.T, n int) {
	t.Helper()
	owners := map[int]int{}
	generations := map[int32]bool{}
	for _, c := range w.running() {
		generations[c.gen] = true
		for _, p := range c.owned {
			owners[p]++
		}
	}
	for p := range w.partitions {
		if owners[p] != 1 {
			t.Errorf("partition %d has %d owners", p, owners[p])
		}
	}
	if len(generations) != 1 {
		t.Errorf("members of several generations: %v", slices.Collect(maps.Keys(generations)))
	}
	if d := w.h.describe("g"); d.State != "Stable" || len(d.Members) != n {
		t.Errorf("the group is %s with %d members, want Stable with %d", d.State, len(d.Members), n)
	}
}
