package share

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/replica"
	"github.com/samsalog/samsa/internal/share/window"
	"github.com/samsalog/samsa/record"
)

// postbox takes letters. It notes what the persister had when they came, and hands them over when it is let.
type postbox struct {
	n       *node
	came    []string
	let     chan struct{}
	stopped int
}

func (p *postbox) Deliver(ctx context.Context, group string, source *replica.Partition, letters []window.Letter) error {
	for _, l := range letters {
		p.came = append(p.came, fmt.Sprintf("%d-%d x%d %d of %v", l.First, l.Last, l.Count, l.Cause, p.n.states(l.First, l.Last)))
	}
	select {
	case <-p.let:
		return nil
	case <-ctx.Done():
		p.stopped++
		return ctx.Err()
	}
}

// states are those that are persisted of offsets of partition 0.
func (n *node) states(first, last record.Offset) []window.State {
	n.persister.mu.Lock()
	defer n.persister.mu.Unlock()
	var out []window.State
	for o := first; o <= last; o++ {
		out = append(out, n.persister.states[n.key(0)].records[o].State)
	}
	return out
}

func newPostbox(t *testing.T) (*node, *postbox) {
	t.Helper()
	n := newNode(t)
	p := &postbox{n: n, let: make(chan struct{})}
	n.letters, n.settings.DeadLetters = p, true
	n.start()
	return n, p
}

func (p *postbox) want(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	if !slices.Equal(p.came, want) {
		t.Fatalf("letters %q, want %q", p.came, want)
	}
	p.came = nil
}

func (n *node) start0() record.Offset {
	p := n.m.find(n.key(0))
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.window.Start()
}

// SHR-6: that a record is given up is persisted and answered, then its letter is delivered, then it is archived.
func TestLettersComeBetweenTwoStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, p := newPostbox(t)
		n.settings.DeliveryLimit = 2
		n.produce(0, 4)
		n.want(n.fetch("a", 4, 0), acquired(0, 3, 1))
		if err := n.acknowledge("a", 0, 3, window.Reject, window.Reject, window.Accept, window.Release); err != nil {
			t.Fatal(err)
		}
		p.want(t, "0-1 x1 1 of [3 3]")
		n.want(n.fetch("b", 4, 0), acquired(3, 3, 2))
		if err := n.acknowledge("b", 3, 3, window.Release); err != nil {
			t.Fatal(err)
		}
		p.want(t)
		if n.start0() != 0 {
			t.Fatal("the start passes letters that are under way")
		}
		p.let <- struct{}{}
		p.want(t, "3-3 x2 2 of [3]")
		if got := n.states(0, 3); n.start0() != 3 || got[3] != window.Archiving {
			t.Fatal(n.start0(), got)
		}
		p.let <- struct{}{}
		synctest.Wait()
		if n.start0() != 4 {
			t.Fatal("the window ends at", n.start0())
		}
	})
}

// A lock that runs out at the last delivery makes a letter, whether or not that could be persisted.
func TestLettersOfLocksThatRanOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, p := newPostbox(t)
		n.settings.DeliveryLimit = 1
		n.produce(0, 2)
		n.want(n.fetch("a", 2, 0), acquired(0, 1, 1))
		n.persister.mu.Lock()
		n.persister.fail = kerr.RequestTimedOut.Code
		n.persister.mu.Unlock()
		time.Sleep(n.settings.LockDuration + time.Second)
		p.want(t, "0-1 x1 2 of [0 0]")
		p.let <- struct{}{}
		synctest.Wait()
		if n.start0() != 2 {
			t.Fatal("the window begins at", n.start0())
		}
	})
}

// Letters that a former leader was at are delivered again by the next one, after another epoch as after a restart.
func TestLettersAreDeliveredAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, p := newPostbox(t)
		n.produce(0, 3)
		n.want(n.fetch("a", 3, 0), acquired(0, 2, 1))
		if err := n.acknowledge("a", 0, 1, window.Reject); err != nil {
			t.Fatal(err)
		}
		p.want(t, "0-1 x1 1 of [3 3]")
		n.newEpoch()
		synctest.Wait()
		if p.stopped != 1 {
			t.Fatal("a leader that is not any more goes on")
		}
		n.want(n.fetch("b", 3, time.Second), acquired(2, 2, 1))
		p.want(t, "0-1 x1 1 of [3 3]")
		n.start()
		n.settings.DeliveryLimit = 1
		n.want(n.fetch("c", 3, time.Second), acquired(2, 2, 1))
		p.want(t, "0-1 x1 2 of [3 3]") // the cause is worked out from the limit that holds now
		p.let <- struct{}{}
		synctest.Wait()
		if n.start0() != 2 {
			t.Fatal("the window begins at", n.start0())
		}
	})
}

// The share partition of a group whose last session ended stays until its letters are delivered.
func TestLettersOutliveSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, p := newPostbox(t)
		n.settings.DeliveryLimit = 1
		part := Part{n.topic, 0}
		if _, err := n.m.Session(SessionRequest{Group: testGroup, Member: "a", Add: []Part{part}, Owner: "a"}); err != nil {
			t.Fatal(err)
		}
		n.produce(0, 2)
		n.want(n.fetch("a", 2, 0), acquired(0, 1, 1))
		for _, o := range n.m.CloseSession(testGroup, "a") {
			<-o.Done()
		}
		p.want(t, "0-1 x1 2 of [3 3]")
		if n.m.Metrics().Partitions != 1 {
			t.Fatal("the share partition is gone")
		}
		p.let <- struct{}{}
		synctest.Wait()
		if n.m.Metrics().Partitions != 0 {
			t.Fatal("the share partition stays")
		}
		if got := n.states(0, 1); !slices.Equal(got, []window.State{window.Archived, window.Archived}) {
			t.Fatal("persisted states", got)
		}
	})
}
