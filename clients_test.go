package samsa_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/samsalog/samsa"
)

// codecs are the codecs of a producer by Kafka's names.
func codecs() map[string]kgo.CompressionCodec {
	return map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
}

// difficultRecords are what is easily lost on the way: null, empty and binary bytes, repeated and empty
// headers, timestamps that go back, a record of 5 MB.
func difficultRecords(partitions int32) []*kgo.Record {
	random := rand.New(rand.NewPCG(3, 4))
	blob := make([]byte, 5_000_000)
	for i := range blob {
		blob[i] = byte(random.IntN(256))
	}
	contents := [][]byte{nil, {}, []byte("text"), {0xff, 0, '\n'}, blob[:1000]}
	const base = 1_700_000_000_000
	var records []*kgo.Record
	add := func(r kgo.Record, timestampMs int64) {
		r.Partition, r.Timestamp = int32(len(records))%partitions, time.UnixMilli(timestampMs)
		records = append(records, &r)
	}
	for i, key := range contents {
		for j, value := range contents {
			add(kgo.Record{Key: key, Value: value}, int64(base+i*100-j))
		}
	}
	add(kgo.Record{Value: []byte("h"), Headers: []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "a", Value: nil}, {Key: "", Value: []byte{}}, {Key: "é", Value: []byte{0, 255}}}}, base)
	add(kgo.Record{Value: bytes.Repeat([]byte("compressible "), 50_000)}, 1)
	add(kgo.Record{Key: []byte("large"), Value: blob}, base+1)
	return records
}

// describe renders all of a record that a producer chooses.
func describe(r *kgo.Record) string {
	text := func(b []byte) string {
		switch {
		case b == nil:
			return "null"
		case len(b) > 40:
			return fmt.Sprintf("%d bytes %x", len(b), hashOf(b))
		}
		return strconv.Quote(string(b))
	}
	s := fmt.Sprintf("%d: %s=%s @%d", r.Partition, text(r.Key), text(r.Value), r.Timestamp.UnixMilli())
	for _, h := range r.Headers {
		s += fmt.Sprintf(" %q:%s", h.Key, text(h.Value))
	}
	return s
}

func hashOf(b []byte) uint64 {
	h := uint64(14695981039346656037) // FNV-1a
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// consumeAll reads n records of a topic from the beginning.
func consumeAll(t *testing.T, b *samsa.Broker, topic string, n int) []*kgo.Record {
	t.Helper()
	cl := clientOf(t, b, kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var records []*kgo.Record
	for len(records) < n {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %d of %d records: %v", len(records), n, err)
		}
		records = append(records, fetches.Records()...)
	}
	return records
}

// compareByPartition checks that got has the records of want, in order within each partition, at offsets
// 0, 1, 2, …
func compareByPartition(t *testing.T, want, got []*kgo.Record) {
	t.Helper()
	byPartition := map[int32][]*kgo.Record{}
	for _, r := range want {
		byPartition[r.Partition] = append(byPartition[r.Partition], r)
	}
	if len(want) != len(got) {
		t.Errorf("got %d records, want %d", len(got), len(want))
	}
	next := map[int32]int{}
	for _, r := range got {
		i := next[r.Partition]
		next[r.Partition]++
		if i >= len(byPartition[r.Partition]) || describe(r) != describe(byPartition[r.Partition][i]) || r.Offset != int64(i) {
			t.Fatalf("offset %d of partition %d (record %d) is %s", r.Offset, r.Partition, i, describe(r))
		}
	}
}

// TestEveryByteUnderEveryCodec produces the difficult records and reads them back, also after a restart.
func TestEveryByteUnderEveryCodec(t *testing.T) {
	const partitions = 3
	dir := t.TempDir()
	keep := map[string]string{"message.max.bytes": "8000000", "log.retention.ms": "-1"} // some records are old on purpose
	b := startIn(t, dir, keep)
	want := difficultRecords(partitions)
	for name, codec := range codecs() {
		cl := clientOf(t, b, kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(8_000_000), kgo.DefaultProduceTopic(name))
		createTopic(t, cl, name, partitions)
		var sent []*kgo.Record
		for _, r := range want {
			c := *r
			sent = append(sent, &c)
		}
		if err := cl.ProduceSync(t.Context(), sent...).FirstErr(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		compareByPartition(t, want, consumeAll(t, b, name, len(want)))
	}
	stop(t, b)
	b = startIn(t, dir, keep)
	for name := range codecs() {
		compareByPartition(t, want, consumeAll(t, b, name, len(want)))
	}
}

// groupMember reads in a group, commits what it has taken, and notes how many partitions it owns.
type groupMember struct {
	cl     *kgo.Client
	cancel context.CancelFunc
	done   chan error
	mu     sync.Mutex
	owned  int
}

func joinGroup(t *testing.T, addr, group, topic string, take func(*kgo.Record)) *groupMember {
	t.Helper()
	m := &groupMember{done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	change := func(sign int) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(ctx context.Context, cl *kgo.Client, partitions map[string][]int32) {
			if sign < 0 {
				// What the next owner must not read again.
				_ = cl.CommitMarkedOffsets(ctx)
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			m.owned += sign * len(partitions[topic])
		}
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.AutoCommitMarks(), kgo.BlockRebalanceOnPoll(), kgo.HeartbeatInterval(100*time.Millisecond),
		kgo.OnPartitionsAssigned(change(+1)), kgo.OnPartitionsRevoked(change(-1)), kgo.OnPartitionsLost(change(-1)))
	if err != nil {
		t.Fatal(err)
	}
	m.cl = cl
	go func() {
		for ctx.Err() == nil {
			cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
				take(r)
				cl.MarkCommitRecords(r)
			})
			cl.AllowRebalance()
		}
		m.done <- cl.CommitMarkedOffsets(context.Background())
	}()
	return m
}

func (m *groupMember) owns() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.owned
}

func (m *groupMember) leave(t *testing.T) {
	t.Helper()
	m.cancel()
	if err := <-m.done; err != nil {
		t.Errorf("last commit: %v", err)
	}
	m.cl.CloseAllowingRebalance()
}

// tally counts deliveries of each value.
type tally struct {
	mu  sync.Mutex
	got map[string]int
}

func (c *tally) take(r *kgo.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.got == nil {
		c.got = map[string]int{}
	}
	c.got[string(r.Value)]++
}

func (c *tally) distinct() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.got)
}

// once fails unless the values first … first+n-1, and no others, were delivered exactly once.
func (c *tally) once(t *testing.T, first, n int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.got) != n {
		t.Errorf("%d distinct records, want %d", len(c.got), n)
	}
	for i := first; i < first+n; i++ {
		if times := c.got[strconv.Itoa(i)]; times != 1 {
			t.Errorf("record %d was delivered %d times", i, times)
		}
	}
}

// eventually polls until ok; a condition that never comes fails the test and not the whole run.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("never came: %s", what)
		}
	}
}

func produceNumbers(t *testing.T, cl *kgo.Client, topic string, first, n int, partitions int32) {
	t.Helper()
	var records []*kgo.Record
	for i := first; i < first+n; i++ {
		records = append(records, &kgo.Record{Topic: topic, Partition: int32(i) % partitions, Value: []byte(strconv.Itoa(i))})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// TestGroupSharesAndHandsOver: two members share the partitions, one leaves, all leave, one comes back. At
// each step every record is delivered exactly once, because each owner commits before it gives away.
func TestGroupSharesAndHandsOver(t *testing.T) {
	const partitions, n = 4, 200
	b := startBroker(t, nil)
	cl := clientOf(t, b)
	createTopic(t, cl, "shared", partitions)
	var seen tally
	produceNumbers(t, cl, "shared", 0, n, partitions)
	first := joinGroup(t, b.Addr(), "g", "shared", seen.take)
	eventually(t, "the first member owns everything and reads it", func() bool { return first.owns() == partitions && seen.distinct() == n })
	second := joinGroup(t, b.Addr(), "g", "shared", seen.take)
	eventually(t, "the members share the partitions", func() bool { return first.owns() == 2 && second.owns() == 2 })
	produceNumbers(t, cl, "shared", n, n, partitions)
	eventually(t, "both together read what is new", func() bool { return seen.distinct() == 2*n })
	first.leave(t)
	eventually(t, "the second member owns everything", func() bool { return second.owns() == partitions })
	produceNumbers(t, cl, "shared", 2*n, n, partitions)
	eventually(t, "the second member reads what is new", func() bool { return seen.distinct() == 3*n })
	second.leave(t)
	seen.once(t, 0, 3*n)

	produceNumbers(t, cl, "shared", 3*n, n, partitions)
	var later tally
	third := joinGroup(t, b.Addr(), "g", "shared", later.take)
	eventually(t, "who comes back reads what is new", func() bool { return later.distinct() >= n })
	third.leave(t)
	later.once(t, 3*n, n)
}

// TestClientsGoOnAfterARestart keeps one producer and one group member over a clean restart at the same
// address: nothing is lost, nothing comes twice, the member goes on behind what it had committed.
func TestClientsGoOnAfterARestart(t *testing.T) {
	const partitions, n = 2, 100
	dir := t.TempDir()
	b := startIn(t, dir, nil)
	addr := b.Addr()
	cl := clientOf(t, b)
	createTopic(t, cl, "kept", partitions)
	var seen tally
	member := joinGroup(t, addr, "g", "kept", seen.take)
	produceNumbers(t, cl, "kept", 0, n, partitions)
	eventually(t, "the member reads", func() bool { return seen.distinct() == n })
	stop(t, b)
	again, err := samsa.Start(t.Context(), samsa.Config{Dirs: []string{dir}, Listen: addr, Properties: map[string]string{"group.initial.rebalance.delay.ms": "0"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, again) })
	produceNumbers(t, cl, "kept", n, n, partitions)
	eventually(t, "the member reads on", func() bool { return seen.distinct() == 2*n })
	member.leave(t)
	compareOffsets(t, clientOf(t, again), "kept", 2*n)
	got := consumeAll(t, again, "kept", 2*n)
	var all tally
	for _, r := range got {
		all.take(r)
	}
	all.once(t, 0, 2*n)
}

// compareOffsets checks that group g has committed everything that the topic holds.
func compareOffsets(t *testing.T, cl *kgo.Client, topic string, want int64) {
	t.Helper()
	commits, err := kadm.NewClient(cl).FetchOffsets(t.Context(), "g")
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, o := range commits[topic] {
		sum += o.At
	}
	if sum != want {
		t.Errorf("the group has committed %d records of %d", sum, want)
	}
}
