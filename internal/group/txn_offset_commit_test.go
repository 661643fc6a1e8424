package group

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/record"
)

// txnCommit commits offset 7 of partition 0 in the transaction of a producer.
func (h *host) txnCommit(version int16, group, topic string, id int64, change func(*kmsg.TxnOffsetCommitRequest)) int16 {
	h.t.Helper()
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version, req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch = version, "x", group, id, 3
	req.Generation = -1
	t, p := kmsg.NewTxnOffsetCommitRequestTopic(), kmsg.NewTxnOffsetCommitRequestTopicPartition()
	t.Topic, p.Offset = topic, 7
	if found := h.topics.ByName(topic); found != nil {
		t.TopicID = found.ID
	}
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	if change != nil {
		change(req)
	}
	return h.TxnOffsetCommit(context.Background(), Caller{}, req).Topics[0].Partitions[0].ErrorCode
}

// mark ends the transaction of a producer for a group.
func (h *host) mark(group string, id record.ProducerID, commit bool) error {
	h.t.Helper()
	p, err := h.partition(group)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.WriteMarker(p, coord.Marker{ProducerID: id, ProducerEpoch: 4, Commit: commit, TxnVersion: 2})
}

func (h *host) stable(group, topic string) (offset int64, code int16) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.RequireStable = 8, true
	g, t := kmsg.NewOffsetFetchRequestGroup(), kmsg.NewOffsetFetchRequestGroupTopic()
	t.Topic, t.Partitions = topic, []int32{0}
	g.Group, g.Topics = group, append(g.Topics, t)
	req.Groups = append(req.Groups, g)
	p := h.OffsetFetch(context.Background(), Caller{}, req).Groups[0].Topics[0].Partitions[0]
	return p.Offset, p.ErrorCode
}

// offsets of a transaction are unstable until its end, also after a restart.
func TestX09PendingOffsets(t *testing.T) {
	for _, commit := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, nil)
			h.topics.add("t", 1)
			h.o.VerifyTxn = func(context.Context, TxnVerification) int16 { return 0 }
			if c := h.txnCommit(5, "g", "t", 1, nil); c != 0 {
				t.Fatal(c)
			}
			for range 2 {
				if o, c := h.stable("g", "t"); o != -1 || c != kerr.UnstableOffsetCommit.Code {
					t.Errorf("while open: %d, %d", o, c)
				}
				h.restart()
			}
			if err := h.mark("g", 1, commit); err != nil {
				t.Fatal(err)
			}
			want := int64(-1)
			if commit {
				want = 7
			}
			for range 2 {
				if o, c := h.stable("g", "t"); o != want || c != 0 {
					t.Errorf("commit %v: %d, %d", commit, o, c)
				}
				h.restart()
			}
			// What comes late is of the past.
			if c := h.txnCommit(5, "g", "t", 1, nil); c != kerr.InvalidProducerEpoch.Code {
				t.Errorf("a commit after the end: %d", c)
			}
			h.Close()
		})
	}
}

// The transaction coordinator's answers in the words of each version.
func TestVerificationOfCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		h.topics.add("t", 1)
		for _, c := range []struct {
			answer *kerr.Error
			want   map[int16]*kerr.Error
		}{
			{kerr.TransactionAbortable, map[int16]*kerr.Error{0: kerr.InvalidTxnState, 3: kerr.InvalidTxnState, 4: kerr.TransactionAbortable, 6: kerr.TransactionAbortable}},
			{kerr.ProducerFenced, map[int16]*kerr.Error{0: kerr.InvalidProducerEpoch, 6: kerr.InvalidProducerEpoch}},
			{kerr.ConcurrentTransactions, map[int16]*kerr.Error{1: kerr.CoordinatorNotAvailable, 4: kerr.CoordinatorLoadInProgress, 5: kerr.ConcurrentTransactions}},
			{kerr.NotCoordinator, map[int16]*kerr.Error{1: kerr.CoordinatorNotAvailable, 2: kerr.CoordinatorLoadInProgress, 6: kerr.CoordinatorLoadInProgress}},
			{kerr.InvalidProducerIDMapping, map[int16]*kerr.Error{0: kerr.InvalidProducerIDMapping, 6: kerr.InvalidProducerIDMapping}},
		} {
			for version, want := range c.want {
				h.o.VerifyTxn = func(_ context.Context, v TxnVerification) int16 {
					if v.Add != (version >= 5) || v.Partition.Topic != OffsetsTopic || v.TransactionalID != "x" {
						t.Errorf("v%d: %+v", version, v)
					}
					return c.answer.Code
				}
				if got := h.txnCommit(version, "g", "t", 2, nil); got != want.Code {
					t.Errorf("%v, v%d: %d, want %v", c.answer, version, got, want)
				}
			}
		}
		if _, c := h.stable("g", "t"); c != 0 {
			t.Errorf("a refused commit is pending: %d", c)
		}
		h.Close()
	})
}

// Who commits is checked like a plain commit, but that a producer may say nothing about it, and that a rebalance is no
// obstacle.
func TestMembersInTransactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		h.topics.add("t", 1)
		h.o.VerifyTxn = func(context.Context, TxnVerification) int16 { return 0 }
		as := func(member string, generation int32, instance *string) func(*kmsg.TxnOffsetCommitRequest) {
			return func(r *kmsg.TxnOffsetCommitRequest) {
				r.MemberID, r.Generation, r.InstanceID = member, generation, instance
			}
		}
		var group *classicGroup
		h.on("g", func(m *machine) {
			group = newClassicGroup("g", m.nowMs())
			group.generation, group.state = 4, CompletingRebalance
			group.add(&member{id: "m", sessionTimeoutMs: 10000, rebalanceTimeoutMs: 10000}, nil)
			m.insert(group)
		})
		for _, c := range []struct {
			what   string
			change func(*kmsg.TxnOffsetCommitRequest)
			want   int16
		}{
			{"nobody", nil, 0},
			{"the member", as("m", 4, nil), 0},
			{"an old generation", as("m", 3, nil), kerr.IllegalGeneration.Code},
			{"a stranger", as("s", 4, nil), kerr.UnknownMemberID.Code},
			{"an unknown instance", as("m", 4, kmsg.StringPtr("i")), kerr.UnknownMemberID.Code},
		} {
			if got := h.txnCommit(5, "g", "t", 3, c.change); got != c.want {
				t.Errorf("%s: %d, want %d", c.what, got, c.want)
			}
		}
		h.Close()
	})
}
