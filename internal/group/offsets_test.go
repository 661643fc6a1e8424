package group

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// transact writes offsets of a group in a transaction of a producer, as a transactional client of Kafka does.
func (h *host) transact(id record.ProducerID, group, topic string, partition int32, offset int64) {
	h.t.Helper()
	o := record.DefaultBuilderOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = id, 0, 0, true
	r := offsetRecord(group, topic, partition, committed{offset: offset, leaderEpoch: -1, commitMs: 1, expireMs: -1})
	h.append(group, o, r.Key, r.Value)
}

// end writes the marker that ends a producer's transaction.
func (h *host) end(id record.ProducerID, group string, kind record.ControlType) {
	h.t.Helper()
	o := record.DefaultBuilderOptions()
	o.ProducerID, o.ProducerEpoch, o.Transactional, o.Control = id, 0, true, true
	h.append(group, o, record.ControlKey(kind), record.EndTxnMarker{Type: kind}.Value())
}

func (h *host) append(group string, o record.BuilderOptions, key, value []byte) {
	h.t.Helper()
	p, err := h.partition(group)
	if err != nil {
		h.t.Fatal(err)
	}
	b := record.NewBuilder(o)
	b.Append(time.Now().UnixMilli(), key, value, nil)
	if _, err := h.parts[p].Append(b.Build(), storage.AppendOptions{Origin: storage.Coordinator}); err != nil {
		h.t.Fatal(err)
	}
}

// Offsets of a transaction are seen when it is committed, never when it is aborted, and not while it is open.
func TestTransactionalOffsetsAreReplayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		for _, topic := range []string{"committed", "aborted", "open", "later"} {
			h.topics.add(topic, 1)
		}
		c := h.client("c")
		h.transact(1, "g", "committed", 0, 10)
		h.end(1, "g", record.ControlCommit)
		h.transact(2, "g", "aborted", 0, 20)
		h.end(2, "g", record.ControlAbort)
		h.transact(3, "g", "open", 0, 30)
		// GROUP-7: the plain commit stands later in the log than the one of the transaction that ends after it.
		h.transact(4, "g", "later", 0, 40)
		h.restart()
		wantCode(t, "commit", c.commit("g", "", -1, "later", 0, 41, nil), nil)
		h.end(4, "g", record.ControlCommit)
		h.restart()
		for topic, want := range map[string]int64{"committed": 10, "aborted": -1, "open": -1, "later": 41} {
			if p := c.fetch("g", topic, 0, false); p.Offset != want || p.ErrorCode != 0 {
				t.Errorf("%s: offset %d, %s, want %d", topic, p.Offset, codeName(p.ErrorCode), want)
			}
			p := c.fetch("g", topic, 0, true)
			if topic == "open" {
				wantCode(t, "stable fetch of an open transaction's offset", p.ErrorCode, kerr.UnstableOffsetCommit)
			} else if p.ErrorCode != 0 || p.Offset != want {
				t.Errorf("%s, stable: offset %d, %s, want %d", topic, p.Offset, codeName(p.ErrorCode), want)
			}
		}
		h.Close()
	})
}

// A group is not expired while a transaction has offsets for it (15.1 item 20); deleting it takes those along.
func TestGroupsWithOpenTransactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, func(s *Settings) { s.OffsetsRetention = time.Hour })
		h.topics.add("topic", 2)
		h.transact(1, "g", "topic", 0, 10)
		h.transact(2, "gone", "topic", 0, 10)
		wantCode(t, "commit", h.client("c").commit("both", "", -1, "topic", 0, 3, nil), nil)
		wantCode(t, "commit", h.client("c").commit("both", "", -1, "topic", 1, 4, nil), nil)
		h.transact(3, "both", "topic", 0, 5)
		h.restart()
		time.Sleep(24 * time.Hour)
		if p := h.client("c").fetch("both", "topic", 0, false); p.Offset != 3 {
			t.Errorf("an offset that a transaction may replace has expired: %d", p.Offset)
		}
		if p := h.client("c").fetch("both", "topic", 1, false); p.Offset != -1 {
			t.Errorf("an offset is kept beyond the retention: %d", p.Offset)
		}
		if s := h.describe("g").State; s != "Empty" {
			t.Errorf("a group with an open transaction is %s", s)
		}
		wantCode(t, "delete a group of an open transaction", h.deleteGroup("gone"), nil)
		h.end(1, "g", record.ControlCommit)
		h.end(2, "gone", record.ControlCommit)
		h.restart()
		c := h.client("c")
		if p := c.fetch("g", "topic", 0, false); p.Offset != 10 {
			t.Errorf("offset %d, want 10", p.Offset)
		}
		if p := c.fetch("gone", "topic", 0, false); p.Offset != -1 {
			t.Errorf("an offset came back that was deleted before its transaction ended: %d", p.Offset)
		}
		h.Close()
	})
}

func TestOffsetTables(t *testing.T) {
	o := newOffsets()
	at := func(n int64) committed { return committed{recordOffset: record.Offset(n), offset: n} }
	o.stable.put("g", "b", 1, at(1))
	o.stable.put("g", "a", 7, at(2))
	o.stable.put("g", "a", 0, at(3))
	if o.stable.put("g", "a", 0, at(4)) {
		t.Error("an offset was added twice")
	}
	o.putPending(9, "g", "a", 0, at(5))
	o.putPending(9, "g", "c", 0, at(6))
	o.putPending(8, "g", "c", 0, at(7))
	var all []record.TopicPartition
	o.all("g", func(topic string, p int32) { all = append(all, record.TopicPartition{Topic: topic, Partition: p}) })
	want := []record.TopicPartition{{Topic: "a", Partition: 0}, {Topic: "a", Partition: 7}, {Topic: "b", Partition: 1}, {Topic: "c", Partition: 0}}
	if len(all) != len(want) {
		t.Fatalf("all: %v, want %v", all, want)
	}
	for i := range want {
		if all[i] != want[i] {
			t.Errorf("all: %v, want %v", all, want)
		}
	}
	if !o.isPending("g", "c", 0) || o.isPending("g", "b", 1) {
		t.Error("pending offsets are not told from others")
	}
	if n := o.end(8, true); n != 1 {
		t.Errorf("%d offsets were added, want 1", n)
	}
	if n := o.end(9, true); n != 0 {
		t.Errorf("%d offsets were added, want none: one is newer, one has a newer one", n)
	}
	if c, _ := o.stable.get("g", "a", 0); c.offset != 5 {
		t.Errorf("offset %d, want 5", c.offset)
	}
	if c, _ := o.stable.get("g", "c", 0); c.offset != 7 {
		t.Errorf("offset %d, want 7: its record is the later one", c.offset)
	}
	for _, tp := range want {
		if !o.remove("g", tp.Topic, tp.Partition) {
			t.Errorf("%v was not there", tp)
		}
	}
	if len(o.stable) != 0 || len(o.pending) != 0 || len(o.open) != 0 || o.remove("g", "a", 0) {
		t.Errorf("something is left: %+v", o)
	}
}

// Who may commit, by the state of the group (7.5); the recorded answers cover the rest.
func TestWhoMayDeleteOffsets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		h.topics.add("topic", 1)
		h.topics.add("other", 1)
		c := h.client("c")
		connect := func(r *kmsg.JoinGroupRequest) { r.ProtocolType = "connect" }
		for _, g := range []string{"consumer", "connect"} {
			for _, topic := range []string{"topic", "other"} {
				wantCode(t, "commit", c.commit(g, "", -1, topic, 0, 5, nil), nil)
			}
		}
		r := c.enter("consumer", nil)
		c.sync("consumer", r.MemberID, r.Generation, nil)
		q := c.enter("connect", connect)
		wantCode(t, "a topic that members read", h.deleteOffset("consumer", "topic"), kerr.GroupSubscribedToTopic)
		wantCode(t, "a topic that they do not read", h.deleteOffset("consumer", "other"), nil)
		wantCode(t, "a group of another type with members", h.deleteOffset("connect", "other"), kerr.NonEmptyGroup)
		c.leave("connect", q.MemberID)
		wantCode(t, "a group of another type without", h.deleteOffset("connect", "other"), nil)
		wantCode(t, "the empty group id", h.deleteOffset("", "other"), kerr.InvalidGroupID)
		wantCode(t, "again", h.deleteOffset("connect", "other"), nil)
		if p := c.fetch("connect", "other", 0, false); p.Offset != -1 {
			t.Errorf("offset %d is left", p.Offset)
		}
		if m := h.Metrics(); m.OffsetDeletions != 2 || m.OffsetCommits != 4 || m.Offsets != 2 {
			t.Errorf("metrics %+v, want 2 deletions, 4 commits, 2 offsets", m)
		}
		h.Close()
	})
}

// Offsets that many requests commit at the same time stand in few batches.
func TestCommitsShareBatches(t *testing.T) {
	h := newHost(t, nil)
	h.topics.add("topic", 100)
	p := h.parts[PartitionFor("g", hostPartitions)]
	begun, hold := make(chan struct{}), make(chan struct{})
	err := h.submit("g", coordOp(func(m *machine) { close(begun); <-hold }))
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	done := make(chan int16, 100)
	for i := range 100 {
		go func() { done <- h.client("c").commit("g", "", -1, "topic", int32(i), int64(i), nil) }()
	}
	for queued := 0; queued < 100; { // all of them wait for the shard
		queued = h.runtime.Queued(PartitionFor("g", hostPartitions))
	}
	close(hold)
	for range 100 {
		wantCode(t, "commit", <-done, nil)
	}
	batches := 0
	eachBatch(h, p, func(b record.Batch) { batches++ })
	if batches != 1 {
		t.Errorf("100 commits stand in %d batches, want 1", batches)
	}
	all := kmsg.NewPtrOffsetFetchRequest()
	all.Version, all.Group = 7, "g"
	if r := h.OffsetFetch(context.Background(), Caller{}, all); len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 100 {
		t.Errorf("all offsets: %d topics", len(r.Topics))
	}
}

func coordOp(f func(m *machine)) coord.Op[*machine] {
	return coord.Op[*machine]{Run: func(m *machine) coord.Result { f(m); return coord.None() }}
}

func eachBatch(h *host, p *led, f func(record.Batch)) { eachBatchFrom(h, p, 0, f) }

func eachBatchFrom(h *host, p *led, at record.Offset, f func(record.Batch)) {
	h.t.Helper()
	info, err := p.log.Read(at, storage.LogEnd, 1<<20, true)
	if err != nil {
		h.t.Fatal(err)
	}
	defer info.Region.Release()
	b := make([]byte, info.Region.Length)
	if err := info.Region.ReadInto(b); err != nil {
		h.t.Fatal(err)
	}
	for s := record.NewScanner(b); s.Next(); {
		f(s.Batch())
	}
}
