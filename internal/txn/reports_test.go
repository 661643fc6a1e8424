package txn_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/record"
)

// produce sends one batch to partition 0 of a topic.
func (r *rawConn) produce(t testing.TB, version int16, txid *string, topic string, b record.Batch) kmsg.ProduceResponseTopicPartition {
	t.Helper()
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TransactionID, req.TimeoutMillis = version, -1, txid, 5000
	x, p := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	x.Topic, p.Records = topic, b
	x.Partitions = append(x.Partitions, p)
	req.Topics = append(req.Topics, x)
	return r.ask(t, req).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
}

// endOffset is the end of partition 0 of a topic for an isolation level.
func (r *rawConn) endOffset(t testing.TB, topic string, isolation int8) int64 {
	t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.IsolationLevel, req.ReplicaID = 7, isolation, -1
	x, p := kmsg.NewListOffsetsRequestTopic(), kmsg.NewListOffsetsRequestTopicPartition()
	x.Topic, p.Timestamp = topic, -1
	x.Partitions = append(x.Partitions, p)
	req.Topics = append(req.Topics, x)
	return r.ask(t, req).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].Offset
}

// fetch reads partition 0 of a topic and returns the offsets of the records that a client of the isolation level sees.
func (r *rawConn) fetch(t testing.TB, topic string, isolation int8) (offsets []int64) {
	t.Helper()
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxBytes, req.IsolationLevel, req.SessionEpoch = 11, 1<<20, isolation, -1
	x, p := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
	x.Topic, p.PartitionMaxBytes = topic, 1<<20
	x.Partitions = append(x.Partitions, p)
	req.Topics = append(req.Topics, x)
	got := r.ask(t, req).(*kmsg.FetchResponse).Topics[0].Partitions[0]
	aborted := map[record.ProducerID][]int64{}
	for _, a := range got.AbortedTransactions {
		aborted[record.ProducerID(a.ProducerID)] = append(aborted[record.ProducerID(a.ProducerID)], a.FirstOffset)
	}
	for s := record.NewScanner(got.RecordBatches); s.Next(); {
		h := s.Batch().Header()
		open := aborted[h.ProducerID]
		switch {
		case h.IsControl() && len(open) > 0 && open[0] < int64(h.BaseOffset):
			aborted[h.ProducerID] = open[1:]
		case h.IsControl(), h.IsTransactional() && len(open) > 0 && open[0] <= int64(h.BaseOffset):
		default:
			for o := h.BaseOffset; o <= h.LastOffset(); o++ {
				offsets = append(offsets, int64(o))
			}
		}
	}
	return offsets
}

func (r *rawConn) endTxn(t testing.TB, version int16, id string, p *kmsg.InitProducerIDResponse, commit bool) *kmsg.EndTxnResponse {
	t.Helper()
	req := kmsg.NewPtrEndTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = version, id, p.ProducerID, p.ProducerEpoch, commit
	for until := time.Now().Add(patience); ; { // as clients do, while a coordinator is read
		resp := r.ask(t, req).(*kmsg.EndTxnResponse)
		if resp.ErrorCode != kerr.CoordinatorLoadInProgress.Code || time.Now().After(until) {
			return resp
		}
	}
}

// who reads committed records does not see beyond the first open transaction, whatever stands behind it.
func TestX01LastStableOffset(t *testing.T) {
	b := newBroker(t)
	r := b.connect(t)
	r.createTopic(t, "t", 1)
	for range 10 {
		r.produce(t, 9, nil, "t", plainBatch())
	}
	id := "x"
	p := r.initProducer(t, id, 60000)
	if got := r.produce(t, 12, &id, "t", transactionalBatch(p.ProducerID, p.ProducerEpoch, 0, 2)); got.ErrorCode != 0 || got.BaseOffset != 10 {
		t.Fatalf("%+v", got)
	}
	for range 5 {
		r.produce(t, 9, nil, "t", plainBatch())
	}
	check := func(when string, stable int64, seen int) {
		t.Helper()
		if got := r.endOffset(t, "t", 1); got != stable {
			t.Errorf("%s: last stable offset %d, want %d", when, got, stable)
		}
		got := r.fetch(t, "t", 1)
		if len(got) != seen || got[len(got)-1] >= stable {
			t.Errorf("%s: committed records at %v", when, got)
		}
	}
	check("while open", 10, 10)
	b.restart(t)
	r = b.connect(t)
	check("after a restart", 10, 10)
	if e := r.endTxn(t, 5, id, p, false); e.ErrorCode != 0 {
		t.Fatal(kerr.ErrorForCode(e.ErrorCode))
	}
	r.awaitEnd(t, id)
	check("when aborted", 18, 15)
	if got := r.endOffset(t, "t", 0); got != 18 {
		t.Errorf("end %d", got)
	}
}

// a reader sees of every committed transaction all records, of aborted ones none, in order, on all
// partitions, while several producers write at once and the broker restarts.
func TestX02X16TransactionsAreWhole(t *testing.T) {
	b := newBroker(t)
	b.connect(t).createTopic(t, "a", 1)
	b.connect(t).createTopic(t, "b", 1)
	const writers, rounds, each = 3, 12, 3
	var mu sync.Mutex
	committed := map[string]bool{}
	write := func(writer, from int) error {
		cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.TransactionalID(fmt.Sprint("w", writer)), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		if err != nil {
			return err
		}
		defer cl.Close()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for i := range rounds {
			if err := cl.BeginTransaction(); err != nil {
				return err
			}
			name := fmt.Sprintf("%d-%d", writer, from+i)
			for range each {
				for _, topic := range []string{"a", "b"} {
					cl.Produce(ctx, &kgo.Record{Topic: topic, Value: []byte(name)}, nil)
				}
			}
			if err := cl.Flush(ctx); err != nil {
				return err
			}
			commit := rand.IntN(2) == 0
			if err := cl.EndTransaction(ctx, kgo.TransactionEndTry(commit)); err != nil {
				return err
			}
			if commit {
				mu.Lock()
				committed[name] = true
				mu.Unlock()
			}
		}
		return nil
	}
	for half := range 2 {
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				if err := write(w, half*rounds); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if half == 0 {
			b.restart(t)
		}
	}
	for _, topic := range []string{"a", "b"} {
		seen := map[string]int{}
		last := map[string]int{}
		for _, name := range b.readCommitted(t, topic, len(committed)*each) {
			seen[name]++
			var writer, n int
			if _, err := fmt.Sscanf(name, "%d-%d", &writer, &n); err != nil {
				t.Fatal(err)
			}
			if key := fmt.Sprint(writer); n < last[key] {
				t.Errorf("%s: %s comes after %d", topic, name, last[key])
			} else {
				last[key] = n
			}
		}
		for name, n := range seen {
			if !committed[name] || n != each {
				t.Errorf("%s: %d records of %s, committed: %v", topic, n, name, committed[name])
			}
		}
		if len(seen) != len(committed) {
			t.Errorf("%s: %d transactions of %d", topic, len(seen), len(committed))
		}
	}
}

// readCommitted reads n records of a topic.
func (b *broker) readCommitted(t *testing.T, topic string, n int) (values []string) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxWait(10*time.Millisecond), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for len(values) < n {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("%d of %d records: %v", len(values), n, err)
		}
		for _, r := range fetches.Records() {
			values = append(values, string(r.Value))
		}
	}
	return values
}

// a topic ends with a marker, one behind its last record; a reader that wants to know gets the marker too.
func TestX05TopicEndsWithAMarker(t *testing.T) {
	b := newBroker(t)
	r := b.connect(t)
	r.createTopic(t, "t", 1)
	id := "x"
	p := r.initProducer(t, id, 60000)
	r.produce(t, 12, &id, "t", transactionalBatch(p.ProducerID, p.ProducerEpoch, 0, 3))
	r.endTxn(t, 5, id, p, true)
	r.awaitEnd(t, id)
	if got := r.endOffset(t, "t", 1); got != 4 {
		t.Errorf("end %d, want one above the marker at 3", got)
	}
	if got := r.fetch(t, "t", 1); !slices.Equal(got, []int64{0, 1, 2}) {
		t.Errorf("records at %v", got)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.ConsumeTopics("t"), kgo.KeepControlRecords(), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	records := cl.PollFetches(ctx).Records()
	if n := len(records); n != 4 || !records[3].Attrs.IsControl() || records[3].Offset != 3 {
		t.Errorf("%d records", n)
	}
}

// an offset that a transaction has committed is unstable until the transaction ends, if only by its timeout.
func TestX09UnstableOffsets(t *testing.T) {
	b := newBroker(t)
	b.restartWith(t, map[string]string{"transaction.abort.timed.out.transaction.cleanup.interval.ms": "20"})
	r := b.connect(t)
	r.createTopic(t, "t", 1)
	id := "x"
	p := r.initProducer(t, id, 300)
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.Version, commit.TransactionalID, commit.Group, commit.ProducerID, commit.ProducerEpoch = 5, id, "g", p.ProducerID, p.ProducerEpoch
	x, q := kmsg.NewTxnOffsetCommitRequestTopic(), kmsg.NewTxnOffsetCommitRequestTopicPartition()
	x.Topic, q.Offset = "t", 5
	x.Partitions = append(x.Partitions, q)
	commit.Topics = append(commit.Topics, x)
	if got := r.ask(t, commit).(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode; got != 0 {
		t.Fatal(kerr.ErrorForCode(got))
	}
	fetch := kmsg.NewPtrOffsetFetchRequest()
	g, gt := kmsg.NewOffsetFetchRequestGroup(), kmsg.NewOffsetFetchRequestGroupTopic()
	gt.Topic, gt.Partitions = "t", []int32{0}
	g.Group, g.Topics = "g", append(g.Topics, gt)
	fetch.Version, fetch.RequireStable, fetch.Groups = 8, true, append(fetch.Groups, g)
	unstable := false
	for until := time.Now().Add(patience); time.Now().Before(until); {
		got := r.ask(t, fetch).(*kmsg.OffsetFetchResponse).Groups[0].Topics[0].Partitions[0]
		if got.ErrorCode == kerr.UnstableOffsetCommit.Code {
			unstable = true
			continue
		}
		if !unstable || got.ErrorCode != 0 || got.Offset != -1 {
			t.Errorf("unstable before: %v, now %+v", unstable, got)
		}
		return
	}
	t.Error("the offset stays unstable")
}

// with Kafka's defaults, three replicas of the coordinators' topics, transactions work on one node.
func TestX12DefaultReplicationFactor(t *testing.T) {
	b := newBroker(t)
	b.restartWith(t, map[string]string{"transaction.state.log.replication.factor": "3", "transaction.state.log.min.isr": "2", "offsets.topic.replication.factor": "3"})
	r := b.connect(t)
	r.createTopic(t, "t", 1)
	id := "x"
	p := r.initProducer(t, id, 60000)
	if got := r.produce(t, 12, &id, "t", transactionalBatch(p.ProducerID, p.ProducerEpoch, 0, 1)); got.ErrorCode != 0 {
		t.Error(kerr.ErrorForCode(got.ErrorCode))
	}
	if e := r.endTxn(t, 5, id, p, true); e.ErrorCode != 0 {
		t.Error(kerr.ErrorForCode(e.ErrorCode))
	}
}

// a transaction that the coordinator does not know of holds the last stable offset; it is found by
// DescribeProducers and ended by WriteTxnMarkers, as kafka-transactions does.
func TestX14HangingTransaction(t *testing.T) {
	b := newBroker(t)
	b.restartWith(t, map[string]string{"transaction.partition.verification.enable": "false"})
	r := b.connect(t)
	r.createTopic(t, "t", 1)
	id := "x"
	p := r.initProducer(t, id, 60000)
	if got := r.produce(t, 11, &id, "t", transactionalBatch(p.ProducerID, p.ProducerEpoch, 0, 3)); got.ErrorCode != 0 {
		t.Fatal(kerr.ErrorForCode(got.ErrorCode))
	}
	if d := r.describe(t, id); d.State != "Empty" || len(d.Topics) != 0 || r.endOffset(t, "t", 1) != 0 {
		t.Fatalf("the coordinator knows of it: %+v", d)
	}
	open := r.producers(t, "t")[0]
	if open.CurrentTxnStartOffset != 0 || open.LastSequence != 2 || open.ProducerID != p.ProducerID || open.CoordinatorEpoch != -1 {
		t.Errorf("%+v", open)
	}
	w, m, x := kmsg.NewPtrWriteTxnMarkersRequest(), kmsg.NewWriteTxnMarkersRequestMarker(), kmsg.NewWriteTxnMarkersRequestMarkerTopic()
	x.Topic, x.Partitions = "t", []int32{0}
	m.ProducerID, m.ProducerEpoch, m.CoordinatorEpoch, m.Topics = open.ProducerID, int16(open.ProducerEpoch), open.CoordinatorEpoch, append(m.Topics, x)
	w.Version, w.Markers = 1, append(w.Markers, m)
	if got := r.ask(t, w).(*kmsg.WriteTxnMarkersResponse).Markers[0].Topics[0].Partitions[0].ErrorCode; got != 0 {
		t.Fatal(kerr.ErrorForCode(got))
	}
	if got := r.endOffset(t, "t", 1); got != 4 {
		t.Errorf("last stable offset %d", got)
	}
	if got := r.fetch(t, "t", 1); len(got) != 0 {
		t.Errorf("committed records at %v", got)
	}
}

func (r *rawConn) producers(t testing.TB, topic string) []kmsg.DescribeProducersResponseTopicPartitionActiveProducer {
	t.Helper()
	req, x := kmsg.NewPtrDescribeProducersRequest(), kmsg.NewDescribeProducersRequestTopic()
	x.Topic, x.Partitions = topic, []int32{0}
	req.Topics = append(req.Topics, x)
	return r.ask(t, req).(*kmsg.DescribeProducersResponse).Topics[0].Partitions[0].ActiveProducers
}

// over a restart an open transaction goes on, a batch of it that comes again is a duplicate, and what a
// marker has left of a producer stays as it was.
func TestX17ProducersOverARestart(t *testing.T) {
	b := newBroker(t)
	r := b.connect(t)
	for _, topic := range []string{"t", "u"} {
		r.createTopic(t, topic, 1)
	}
	done, open := "done", "open"
	p, q := r.initProducer(t, done, 60000), r.initProducer(t, open, 60000)
	r.produce(t, 12, &done, "u", transactionalBatch(p.ProducerID, p.ProducerEpoch, 0, 1))
	r.endTxn(t, 5, done, p, true)
	r.awaitEnd(t, done)
	batch := func() record.Batch { return transactionalBatch(q.ProducerID, q.ProducerEpoch, 0, 2) }
	first := r.produce(t, 12, &open, "t", batch())
	was := r.producers(t, "u")
	if len(was) != 1 || was[0].LastSequence != -1 || was[0].ProducerEpoch != int32(p.ProducerEpoch)+1 {
		t.Errorf("after the marker: %+v", was)
	}
	b.restart(t)
	r = b.connect(t)
	if is := r.producers(t, "u"); !slices.EqualFunc(is, was, sameProducer) {
		t.Errorf("producers %+v, were %+v", is, was)
	}
	if again := r.produce(t, 12, &open, "t", batch()); again.ErrorCode != 0 || again.BaseOffset != first.BaseOffset {
		t.Errorf("repeated: %+v, was %+v", again, first)
	}
	if next := r.produce(t, 12, &open, "t", transactionalBatch(q.ProducerID, q.ProducerEpoch, 2, 1)); next.ErrorCode != 0 || next.BaseOffset != 2 {
		t.Errorf("next: %+v", next)
	}
	if e := r.endTxn(t, 5, open, q, true); e.ErrorCode != 0 || e.ProducerEpoch != q.ProducerEpoch+1 {
		t.Errorf("end: %+v", e)
	}
	r.awaitEnd(t, open)
	if got := r.fetch(t, "t", 1); !slices.Equal(got, []int64{0, 1, 2}) {
		t.Errorf("committed records at %v", got)
	}
}

func sameProducer(a, b kmsg.DescribeProducersResponseTopicPartitionActiveProducer) bool {
	return a.ProducerID == b.ProducerID && a.ProducerEpoch == b.ProducerEpoch && a.LastSequence == b.LastSequence &&
		a.LastTimestamp == b.LastTimestamp && a.CoordinatorEpoch == b.CoordinatorEpoch && a.CurrentTxnStartOffset == b.CurrentTxnStartOffset
}

// A consumer that moves records in transactions, killed and begun again, moves each exactly once.
func TestExactlyOnce(t *testing.T) {
	b := newBroker(t)
	r := b.connect(t)
	r.createTopic(t, "from", 2)
	r.createTopic(t, "to", 2)
	const n = 200
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	source, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		source.Produce(ctx, &kgo.Record{Topic: "from", Value: fmt.Append(nil, i)}, nil)
	}
	if err := source.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	source.Close()
	for moved := 0; moved < n; {
		s, err := kgo.NewGroupTransactSession(kgo.SeedBrokers(b.Addr()), kgo.TransactionalID("mover"), kgo.ConsumerGroup("movers"), kgo.ConsumeTopics("from"),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.RequireStableFetchOffsets(), kgo.FetchMaxWait(10*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		count, err := move(ctx, s, min(n/3, n-moved), n-moved)
		if err != nil {
			t.Fatal(err)
		}
		moved += count
		s.Close() // with a transaction open
	}
	seen := map[string]int{}
	for _, v := range b.readCommitted(t, "to", n) {
		seen[v]++
	}
	for v, times := range seen {
		if times != 1 {
			t.Errorf("%s was moved %d times", v, times)
		}
	}
	if len(seen) != n {
		t.Errorf("%d of %d records", len(seen), n)
	}
}

// move moves at least limit records, of those that are left, and then leaves a transaction open.
func move(ctx context.Context, s *kgo.GroupTransactSession, limit, left int) (moved int, err error) {
	for moved < left {
		fetches := s.PollRecords(ctx, 40)
		if err := fetches.Err(); err != nil {
			return moved, err
		}
		if err := s.Begin(); err != nil {
			return moved, err
		}
		records := fetches.Records()
		for _, r := range records {
			s.Produce(ctx, &kgo.Record{Topic: "to", Value: r.Value}, nil)
		}
		if moved >= limit {
			return moved, s.Client().Flush(ctx)
		}
		committed, err := s.End(ctx, kgo.TryCommit)
		if err != nil && !errors.Is(err, kerr.RebalanceInProgress) {
			return moved, err
		}
		if committed {
			moved += len(records)
		}
	}
	return moved, nil
}

// a timeout above transaction.max.timeout.ms, and none at all, is INVALID_TRANSACTION_TIMEOUT in every version; the
// limit itself is fine.
func TestX10TransactionTimeouts(t *testing.T) {
	r := newBroker(t).connect(t)
	id := "x"
	r.initProducer(t, id, 900_000)
	for version := range int16(6) {
		for timeout, want := range map[int32]int16{3_600_000: kerr.InvalidTransactionTimeout.Code, 900_001: kerr.InvalidTransactionTimeout.Code, 0: kerr.InvalidTransactionTimeout.Code, 900_000: 0} {
			req := kmsg.NewPtrInitProducerIDRequest()
			req.Version, req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = version, &id, timeout, -1, -1
			if got := r.ask(t, req).(*kmsg.InitProducerIDResponse).ErrorCode; got != want {
				t.Errorf("version %d, %d ms: %v, want %v", version, timeout, kerr.ErrorForCode(got), kerr.ErrorForCode(want))
			}
		}
	}
}
