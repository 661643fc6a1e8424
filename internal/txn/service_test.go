package txn

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/vfs"
)

// statePartition is the partition of the transaction topic that the host leads.
type statePartition struct {
	log   *storage.Log
	epoch record.LeaderEpoch
	// refuse is why it takes nothing; nil while it does.
	refuse atomic.Pointer[error]
}

// fail sets why the partition takes nothing.
func (p *statePartition) fail(err error) {
	if err == nil {
		p.refuse.Store(nil)
		return
	}
	p.refuse.Store(&err)
}

func (p *statePartition) Append(b []byte, o storage.AppendOptions) (storage.AppendInfo, error) {
	if err := p.refuse.Load(); err != nil {
		return storage.AppendInfo{}, *err
	}
	info, err := p.log.Append(b, o)
	p.log.SetHighWatermark(p.log.LogEndOffset())
	return info, err
}

func (p *statePartition) Log() *storage.Log               { return p.log }
func (p *statePartition) LeaderEpoch() record.LeaderEpoch { return p.epoch }

// host is a coordinator whose markers go to a list instead of partitions.
type host struct {
	*Service
	t    *testing.T
	part *statePartition
	mu   sync.Mutex
	// refuse gives the answers of partitions; absent: they take their markers.
	refuse  map[record.TopicPartition]error
	deleted map[record.TopicPartition]bool
	written map[record.TopicPartition][]record.Header
	groups  map[int32][]coord.Marker
	ids     record.ProducerID
	// quick has markers written by the shard itself, at once.
	quick bool
}

func newHost(t *testing.T) *host {
	t.Helper()
	fs := vfs.NewMem()
	l, err := storage.Open(storage.Options{
		FS: fs, Handles: vfs.NewHandles(fs, 16), Dir: "/d/" + TransactionsTopic + "-0", Config: storage.DefaultConfig(), Clean: true,
		TopicPartition: record.TopicPartition{Topic: TransactionsTopic},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := &host{t: t, part: &statePartition{log: l}, refuse: map[record.TopicPartition]error{}, deleted: map[record.TopicPartition]bool{},
		written: map[record.TopicPartition][]record.Header{}, groups: map[int32][]coord.Marker{}}
	h.begin()
	return h
}

// begin starts a coordinator on the partition.
func (h *host) begin() {
	h.Service = NewService(Options{
		Topic:          func() (Topic, bool) { return Topic{Partitions: 1}, true },
		Exists:         func(tp record.TopicPartition) bool { h.mu.Lock(); defer h.mu.Unlock(); return !h.deleted[tp] },
		Append:         h.append,
		OffsetsTopic:   "__consumer_offsets",
		AppendToGroups: h.appendToGroups,
		OffsetsPartition: func(context.Context, string) (record.TopicPartition, error) {
			return record.TopicPartition{Topic: "__consumer_offsets", Partition: 5}, nil
		},
		NextProducerID: func() (record.ProducerID, error) { h.ids++; return h.ids, nil },
	})
	if h.quick {
		h.env.end = func(x ending) {
			if h.writeMarkers(x) {
				h.report(x)
			}
		}
	}
	h.Elected(0, h.part)
	<-h.runtime.Settled(0)
}

// restart ends the coordinator wherever it stands, and starts the next one.
func (h *host) restart() {
	h.Close()
	h.part.epoch++
	h.begin()
}

func (h *host) append(tp record.TopicPartition, b []byte, o storage.AppendOptions) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.refuse[tp]; err != nil {
		return err
	}
	h.written[tp] = append(h.written[tp], record.Batch(b).Header())
	return nil
}

func (h *host) appendToGroups(p int32, m coord.Marker) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.refuse[record.TopicPartition{Topic: "__consumer_offsets", Partition: p}]; err != nil {
		return err
	}
	h.groups[p] = append(h.groups[p], m)
	return nil
}

// answer sets what a partition answers; nil: it takes its marker.
func (h *host) answer(tp record.TopicPartition, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refuse[tp] = err
}

// markers is how many markers each of the partitions has.
func (h *host) markers(partitions ...record.TopicPartition) (out []int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, tp := range partitions {
		out = append(out, len(h.written[tp]))
	}
	return out
}

// open begins a transaction on the partitions.
func (h *host) open(id string, partitions ...record.TopicPartition) identity {
	h.t.Helper()
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = 5, &id, 60000, -1, -1
	r := h.InitProducerID(h.t.Context(), req)
	if r.ErrorCode != 0 {
		h.t.Fatal(kerr.ErrorForCode(r.ErrorCode))
	}
	p := identity{record.ProducerID(r.ProducerID), record.ProducerEpoch(r.ProducerEpoch)}
	if len(partitions) > 0 {
		if c := h.add(addition{id: id, identity: p, partitions: partitions, version: 2}).code; c != 0 {
			h.t.Fatal(kerr.ErrorForCode(c))
		}
	}
	return p
}

func (h *host) end(id string, p identity, commit bool) identity {
	h.t.Helper()
	req := kmsg.NewPtrEndTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = 5, id, int64(p.id), int16(p.epoch), commit
	r := h.EndTxn(h.t.Context(), req)
	if r.ErrorCode != 0 {
		h.t.Fatal(kerr.ErrorForCode(r.ErrorCode))
	}
	return identity{record.ProducerID(r.ProducerID), record.ProducerEpoch(r.ProducerEpoch)}
}

func (h *host) state(id string) string {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{id}
	return h.DescribeTransactions(h.t.Context(), req).TransactionStates[0].State
}

var errNotHosted = errors.New("no such partition here yet")

// a commit that was decided before a stop is finished after it, on every partition, however long some of them are
// not to be found; only one that the metadata does not have any more gets no marker.
func TestX21DecidedTransactionsAreFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		a, b, gone := record.TopicPartition{Topic: "t"}, record.TopicPartition{Topic: "t", Partition: 1}, record.TopicPartition{Topic: "gone"}
		offsets := record.TopicPartition{Topic: "__consumer_offsets", Partition: 5}
		for _, tp := range []record.TopicPartition{a, b, gone, offsets} {
			h.answer(tp, errNotHosted)
		}
		p := h.open("x", a, b, gone, offsets)
		h.end("x", p, true)
		for range 3 { // stopped again and again before any marker was written
			time.Sleep(time.Minute)
			h.restart()
			if s := h.state("x"); s != "PrepareCommit" {
				t.Fatalf("state %s", s)
			}
		}
		h.answer(a, nil)
		time.Sleep(time.Minute)
		if got := h.markers(a, b); !slices.Equal(got, []int{1, 0}) {
			t.Errorf("markers %v", got)
		}
		h.restart() // the marker that a has is written again, which it takes as a repetition
		h.mu.Lock()
		h.deleted[gone] = true
		h.mu.Unlock()
		h.answer(b, nil)
		time.Sleep(time.Hour)
		if s := h.state("x"); s != "PrepareCommit" {
			t.Errorf("complete without the groups' marker: %s", s)
		}
		h.answer(offsets, nil)
		time.Sleep(time.Minute)
		if s := h.state("x"); s != "CompleteCommit" {
			t.Errorf("state %s", s)
		}
		if got := h.markers(a, b, gone); !slices.Equal(got, []int{2, 1, 0}) || len(h.groups[5]) != 1 || !h.groups[5][0].Commit {
			t.Errorf("markers %v, of the groups %+v", got, h.groups)
		}
		if last := h.written[b][0]; last.ProducerEpoch != p.epoch+1 || !last.IsControl() {
			t.Errorf("marker %+v", last)
		}
		if m := h.groups[5][0]; m.CoordinatorEpoch != int32(h.part.epoch) || m.TxnVersion != 2 {
			t.Errorf("marker %+v in epoch %d", m, h.part.epoch)
		}
		h.Close()
		if err := h.part.log.Close(); err != nil {
			t.Error(err)
		}
	})
}

// markers that are written before the shard that asked for them lets operations in are not forgotten; their
// transactional id would take nothing new for ever.
func TestX21MarkersWrittenWhileLoading(t *testing.T) {
	h := newHost(t)
	tp := record.TopicPartition{Topic: "t"}
	h.answer(tp, errNotHosted)
	h.end("x", h.open("x", tp), true)
	h.answer(tp, nil)
	h.quick = true
	h.restart()
	limit, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if !h.Settle(limit) || h.state("x") != "CompleteCommit" {
		t.Errorf("state %s", h.state("x"))
	}
	h.Close()
	if err := h.part.log.Close(); err != nil {
		t.Error(err)
	}
}

// A partition that has seen a newer producer epoch needs no marker; a coordinator that it calls fenced tries on.
func TestMarkersThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		newer, stubborn := record.TopicPartition{Topic: "newer"}, record.TopicPartition{Topic: "stubborn"}
		h.answer(newer, producer.ErrInvalidProducerEpoch)
		h.answer(stubborn, producer.ErrCoordinatorFenced)
		p := h.open("x", newer, stubborn)
		h.end("x", p, false)
		time.Sleep(time.Hour)
		if s := h.state("x"); s != "PrepareAbort" {
			t.Errorf("state %s", s)
		}
		h.answer(stubborn, nil)
		time.Sleep(time.Minute)
		if s := h.state("x"); s != "CompleteAbort" || h.markers(stubborn)[0] != 1 {
			t.Errorf("state %s, markers %v", s, h.markers(stubborn))
		}
		h.Close()
		if err := h.part.log.Close(); err != nil {
			t.Error(err)
		}
	})
}

// An implicit add goes on as soon as the transaction before it has ended, and gives up after
// add.partitions.to.txn.retry.backoff.max.ms.
func TestImplicitAddWaitsForTheEndBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		tp := record.TopicPartition{Topic: "t"}
		h.answer(tp, errNotHosted)
		p := h.end("x", h.open("x", tp), true)
		v := Verification{TransactionalID: "x", ProducerID: p.id, ProducerEpoch: p.epoch, Partitions: []record.TopicPartition{tp}, Add: true}
		began := time.Now()
		if c := h.Verify(t.Context(), v); c[0] != concurrent || time.Since(began) != 100*time.Millisecond {
			t.Errorf("%v after %v", c, time.Since(began))
		}
		codes := make(chan []int16)
		began = time.Now()
		go func() { codes <- h.Verify(t.Context(), v) }()
		synctest.Wait()
		h.answer(tp, nil)
		if c := <-codes; c[0] != 0 || time.Since(began) >= 100*time.Millisecond {
			t.Errorf("%v after %v", c, time.Since(began))
		}
		if s := h.state("x"); s != "Ongoing" {
			t.Errorf("state %s", s)
		}
		// Clients of version 1 are told at once.
		h.answer(tp, errNotHosted)
		p = h.end("x", p, true)
		v.Add, v.ProducerEpoch = false, p.epoch
		began = time.Now()
		if c := h.Verify(t.Context(), v); c[0] != concurrent || time.Since(began) != 0 {
			t.Errorf("%v after %v", c, time.Since(began))
		}
		h.Close()
		if err := h.part.log.Close(); err != nil {
			t.Error(err)
		}
	})
}

// What has no coordinator here is refused with what makes clients look for another.
func TestWithoutPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		p := h.open("x")
		h.Resigned(0)
		req := kmsg.NewPtrEndTxnRequest()
		req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = 5, "x", int64(p.id), int16(p.epoch)
		if r := h.EndTxn(t.Context(), req); r.ErrorCode != kerr.NotCoordinator.Code {
			t.Errorf("EndTxn: %d", r.ErrorCode)
		}
		if c := h.Verify(t.Context(), Verification{TransactionalID: "x", Partitions: make([]record.TopicPartition, 2)}); !slices.Equal(c, []int16{16, 16}) {
			t.Errorf("Verify: %v", c)
		}
		h.Close()
		if err := h.part.log.Close(); err != nil {
			t.Error(err)
		}
	})
}
