package share

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/share/window"
	"github.com/samsalog/samsa/record"
)

// TestRecordsGoToOneMember: nobody gets what another has, and accepted records are gone.
func TestRecordsGoToOneMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.produce(0, 3, 3)
		n.want(n.fetch("a", 3, 0), acquired(0, 2, 1))
		n.want(n.fetch("b", 10, 0), acquired(3, 5, 1))
		if err := n.acknowledge("b", 0, 2, window.Accept); !errors.Is(err, kerr.InvalidRecordState) {
			t.Fatal("b acknowledges the records of a:", err)
		}
		if err := n.acknowledge("a", 0, 2, window.Accept); err != nil {
			t.Fatal(err)
		}
		if err := n.acknowledge("a", 0, 2, window.Accept); err != nil {
			t.Fatal("what is done is passed over:", err)
		}
		n.want(n.fetch("a", 10, 0))
	})
}

// TestLocksRunOut: records that nobody acknowledged come again, with their count, until they have been delivered often
// enough; all of it by one timer.
func TestLocksRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.settings.DeliveryLimit = 2
		n.produce(0, 4)
		n.want(n.fetch("a", 10, 0), acquired(0, 3, 1))
		start := time.Now()
		n.want(n.fetch("b", 10, time.Minute), acquired(0, 3, 2))
		if waited := time.Since(start); waited != 30*time.Second {
			t.Fatal("waited", waited)
		}
		n.want(n.fetch("a", 10, time.Minute))
		n.produce(0, 1)
		n.want(n.fetch("a", 10, 0), acquired(4, 4, 1))
		n.start()
		n.want(n.fetch("a", 10, 0), acquired(4, 4, 1))
	})
}

// TestRenewedLocksHoldLonger: KIP-1222.
func TestRenewedLocksHoldLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.produce(0, 2)
		n.want(n.fetch("a", 10, 0), acquired(0, 1, 1))
		time.Sleep(20 * time.Second)
		if err := n.acknowledge("a", 0, 0, window.Renew); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second)
		n.want(n.fetch("b", 10, 0), acquired(1, 1, 2))
		if err := n.acknowledge("a", 0, 0, window.Accept); err != nil {
			t.Fatal(err)
		}
		n.settings.Renew = false
		if err := n.acknowledge("b", 1, 1, window.Renew); !errors.Is(err, kerr.InvalidRecordState) {
			t.Fatal("renewed though it is forbidden:", err)
		}
	})
}

// TestFetchWaits: a fetch that finds nothing is woken by an append, by a release, and by room in the window.
func TestFetchWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.settings.RecordLocks = 4
		got := make(chan FetchResult)
		waiting := func(member string) {
			go func() { got <- n.fetch(member, 10, time.Hour) }()
			synctest.Wait()
		}
		waiting("a")
		n.produce(0, 4)
		n.want(<-got, acquired(0, 3, 1))
		waiting("b")
		n.produce(0, 4) // no room
		synctest.Wait()
		if err := n.acknowledge("a", 1, 1, window.Release); err != nil {
			t.Fatal(err)
		}
		n.want(<-got, acquired(1, 1, 2))
		waiting("b")
		if err := n.acknowledge("a", 0, 0, window.Accept); err != nil {
			t.Fatal(err)
		}
		n.want(<-got, acquired(4, 7, 1)) // the batch comes whole
	})
}

// TestAcknowledgementsWaitForThePersister is SHR-1: the answer comes after the write, and a failed write leaves the
// records where they were.
func TestAcknowledgementsWaitForThePersister(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.produce(0, 2)
		n.want(n.fetch("a", 10, 0), acquired(0, 1, 1))
		n.persister.gate = make(chan struct{})
		ack := func(o record.Offset, kind window.Type) *Outcome {
			return n.m.Acknowledge(n.key(0), "a", []window.Ack{{Span: window.Span{First: o, Last: o}, Types: []int8{int8(kind)}}})
		}
		first := ack(0, window.Accept)
		synctest.Wait()
		select {
		case <-first.Done():
			t.Fatal("answered before the write")
		default:
		}
		if second := ack(0, window.Release); !errors.Is(second.Err(), kerr.InvalidRecordState) {
			t.Fatal("a second acknowledgement while the first is written:", second.Err())
		}
		n.persister.mu.Lock()
		n.persister.fail = kerr.CoordinatorNotAvailable.Code
		n.persister.mu.Unlock()
		n.persister.gate <- struct{}{}
		<-first.Done()
		if !errors.Is(first.Err(), kerr.CoordinatorNotAvailable) {
			t.Fatal(first.Err())
		}
		n.persister.mu.Lock()
		n.persister.fail = 0
		n.persister.mu.Unlock()
		again, other := ack(0, window.Accept), ack(1, window.Accept)
		close(n.persister.gate)
		<-again.Done()
		<-other.Done()
		if again.Err() != nil || other.Err() != nil {
			t.Fatal(again.Err(), other.Err())
		}
	})
}

// TestWritesOfOnePartitionGoTogether is SHR-2: what comes during a write is one more write.
func TestWritesOfOnePartitionGoTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.produce(0, 50)
		n.want(n.fetch("a", 50, 0), acquired(0, 49, 1))
		n.persister.gate = make(chan struct{})
		var all []*Outcome
		for o := range record.Offset(50) {
			all = append(all, n.m.Acknowledge(n.key(0), "a", []window.Ack{{Span: window.Span{First: o, Last: o}, Types: []int8{1}}}))
			synctest.Wait()
		}
		close(n.persister.gate)
		for _, o := range all {
			<-o.Done()
			if o.Err() != nil {
				t.Fatal(o.Err())
			}
		}
		if n.persister.writes != 2 {
			t.Fatal(n.persister.writes, "writes")
		}
	})
}

// TestRestartGoesOnWithWhatIsPersisted: after a restart nothing that was accepted comes again, everything else does.
func TestRestartGoesOnWithWhatIsPersisted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.produce(0, 5, 5)
		n.want(n.fetch("a", 10, 0), acquired(0, 9, 1))
		if err := n.acknowledge("a", 3, 6, window.Accept, window.Release, window.Reject, window.Accept); err != nil {
			t.Fatal(err)
		}
		n.start()
		n.want(n.fetch("a", 10, time.Second), acquired(0, 2, 1), acquired(4, 4, 2), acquired(7, 9, 1))
	})
}

// TestFencedStateIsLoadedAnew is SHR-3: when the state was made anew, or another leader epoch began, the share partition
// starts from what is persisted.
func TestFencedStateIsLoadedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.produce(0, 6)
		n.want(n.fetch("a", 10, 0), acquired(0, 5, 1))
		n.persister.initialize(n.key(0), 2, 4)
		if err := n.acknowledge("a", 0, 5, window.Accept); !errors.Is(err, kerr.NotLeaderForPartition) {
			t.Fatal(err)
		}
		n.want(n.fetch("a", 10, time.Second), acquired(4, 5, 1))
		n.newEpoch()
		n.want(n.fetch("b", 10, time.Second), acquired(4, 5, 1))
		if err := n.acknowledge("a", 4, 5, window.Accept); !errors.Is(err, kerr.InvalidRecordState) {
			t.Fatal("the old leader's lock holds:", err)
		}
	})
}

// TestLogStartMoves: what DeleteRecords took away is neither delivered nor waited for.
func TestLogStartMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.produce(0, 4, 4)
		n.want(n.fetch("a", 4, 0), acquired(0, 3, 1))
		if _, err := n.leader(0).DeleteRecords(6); err != nil {
			t.Fatal(err)
		}
		n.want(n.fetch("b", 10, 0), acquired(6, 7, 1))
		if err := n.acknowledge("a", 0, 3, window.Accept); err != nil {
			t.Fatal("what is gone is passed over:", err)
		}
	})
}

// TestResets: where a group begins.
func TestResets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for reset, first := range map[string]window.AcquiredRecords{
			"earliest": acquired(0, 5, 1), "by_duration:PT1H30M": acquired(2, 5, 1), "latest": acquired(4, 5, 1), "by_duration:PT0S": acquired(4, 5, 1),
		} {
			n := newNode(t)
			n.settings.Reset = reset
			n.produce(0, 2)
			time.Sleep(2 * time.Hour)
			n.produce(0, 2)
			time.Sleep(time.Minute)
			got := make(chan FetchResult)
			go func() { got <- n.fetch("a", 10, time.Second, func(r *FetchRequest) { r.MinBytes = 1000 }) }()
			synctest.Wait()
			n.produce(0, 2)
			n.want(<-got, first)
		}
	})
}

// TestSessions: epochs, limits, and what ends with a session.
func TestSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.m.sessions.slots = 2
		part := Part{n.topic, 0}
		open := func(member string, epoch int32, add ...Part) ([]Part, error) {
			return n.m.Session(SessionRequest{Group: testGroup, Member: member, Epoch: epoch, Add: add, Owner: member + "'s connection"})
		}
		refuse := func(what string, got, want error) {
			t.Helper()
			if !errors.Is(got, want) {
				t.Fatalf("%s: %v, want %v", what, got, want)
			}
		}
		_, err := open("a", 1)
		refuse("no session", err, kerr.ShareSessionNotFound)
		_, err = open("a", FinalEpoch)
		refuse("no session to close", err, kerr.ShareSessionNotFound)
		refuse("opened by an acknowledgement", n.m.AcknowledgeSession(testGroup, "a", 0), kerr.InvalidShareSessionEpoch)
		_, err = n.m.Session(SessionRequest{Group: testGroup, Member: "a", Acknowledges: true})
		refuse("acknowledges while opening", err, kerr.InvalidRequest)
		parts, err := open("a", 0, part)
		if err != nil || !slices.Equal(parts, []Part{part}) {
			t.Fatal(parts, err)
		}
		_, err = open("a", 9)
		refuse("wrong epoch", err, kerr.InvalidShareSessionEpoch)
		refuse("acknowledgement", n.m.AcknowledgeSession(testGroup, "a", 1), nil)
		other := Part{n.topic, 1}
		if parts, err = open("a", 2, other, part); err != nil || !slices.Equal(parts, []Part{part, other}) {
			t.Fatal(parts, err)
		}
		if parts, err = n.m.Session(SessionRequest{Group: testGroup, Member: "a", Epoch: 3, Forget: []Part{other}}); err != nil || !slices.Equal(parts, []Part{part}) {
			t.Fatal(parts, err)
		}
		if _, err = open("b", 0, part); err != nil {
			t.Fatal(err)
		}
		_, err = open("c", 0)
		refuse("too many", err, kerr.ShareSessionLimitReached)

		n.produce(0, 2, 2)
		n.want(n.fetch("a", 2, 0), acquired(0, 1, 1))
		n.want(n.fetch("b", 2, 0), acquired(2, 3, 1))
		n.m.Disconnected("a's connection")
		synctest.Wait()
		n.want(n.fetch("b", 4, 0), acquired(0, 1, 2))
		for _, o := range n.m.CloseSession(testGroup, "b") {
			<-o.Done()
		}
		synctest.Wait()
		if got := n.m.Metrics(); got.Sessions != 0 || got.Partitions != 0 {
			t.Fatal("a group without sessions is in memory:", got)
		}
		n.want(n.fetch("b", 4, time.Second), acquired(0, 1, 3), acquired(2, 3, 2))
	})
}

// TestGoneClientsAcquireNothing: records are not locked for a connection that ended while its fetch waited.
func TestGoneClientsAcquireNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		ctx, cancel := context.WithCancel(t.Context())
		n.fetch("a", 1, 0)
		r := FetchRequest{Group: testGroup, Member: "a", Parts: []Part{{n.topic, 0}}, MinBytes: 1, MaxBytes: 1000, MaxWait: time.Hour, MaxRecords: 10, BatchSize: 10}
		done := make(chan []FetchResult)
		go func() {
			done <- n.fetchWith(ctx, r, func(c <-chan struct{}, d time.Duration) bool {
				select {
				case <-ctx.Done():
				case <-c:
				}
				n.produce(0, 3)
				return false
			})
		}()
		synctest.Wait()
		cancel()
		if got := <-done; len(got[0].Acquired) != 0 {
			t.Fatal(got)
		}
		n.want(n.fetch("b", 10, 0), acquired(0, 2, 1))
	})
}
