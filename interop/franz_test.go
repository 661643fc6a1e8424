package interop

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type franzClient struct{}

func (franzClient) name() string { return "franz-go" }

func (franzClient) sees(messages []message) []message { return messages }

func franzCodec(codec string) kgo.CompressionCodec {
	return map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}[codec]
}

func (franzClient) produce(ctx context.Context, addr, topic, codec string, messages []message) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(franzCodec(codec)), kgo.ProducerBatchMaxBytes(8<<20))
	if err != nil {
		return err
	}
	defer cl.Close()
	var records []*kgo.Record
	for _, m := range messages {
		r := &kgo.Record{Partition: m.partition, Key: m.key, Value: m.value, Timestamp: time.UnixMilli(m.timestampMs)}
		for _, h := range m.headers {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.key, Value: h.value})
		}
		records = append(records, r)
	}
	return cl.ProduceSync(ctx, records...).FirstErr()
}

func (franzClient) consume(ctx context.Context, addr, topic string, _ int32, n int) ([]message, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	var messages []message
	for len(messages) < n {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return messages, err
		}
		fetches.EachRecord(func(r *kgo.Record) { messages = append(messages, fromFranz(r)) })
	}
	return messages, nil
}

func fromFranz(r *kgo.Record) message {
	m := message{partition: r.Partition, timestampMs: r.Timestamp.UnixMilli(), key: r.Key, value: r.Value}
	for _, h := range r.Headers {
		m.headers = append(m.headers, header{h.Key, h.Value})
	}
	return m
}

type franzMember struct {
	cl     *kgo.Client
	owned  atomic.Int32
	cancel context.CancelFunc
	done   chan error
}

func (franzClient) join(addr, group, topic string, out chan<- message) (member, error) {
	m := &franzMember{done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	var err error
	count := func(sign int32) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			m.owned.Add(sign * int32(len(partitions[topic])))
		}
	}
	revoked := count(-1)
	m.cl, err = kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.AutoCommitMarks(), kgo.BlockRebalanceOnPoll(),
		kgo.HeartbeatInterval(200*time.Millisecond), kgo.OnPartitionsAssigned(count(+1)),
		kgo.OnPartitionsRevoked(func(ctx context.Context, cl *kgo.Client, partitions map[string][]int32) {
			if err := cl.CommitMarkedOffsets(ctx); err != nil {
				m.done <- fmt.Errorf("commit when revoked: %w", err)
			}
			revoked(ctx, cl, partitions)
		}), kgo.OnPartitionsLost(revoked))
	if err != nil {
		cancel()
		return nil, err
	}
	go func() {
		for ctx.Err() == nil {
			fetches := m.cl.PollFetches(ctx)
			fetches.EachRecord(func(r *kgo.Record) {
				out <- fromFranz(r)
				m.cl.MarkCommitRecords(r)
			})
			m.cl.AllowRebalance()
		}
		m.done <- m.cl.CommitMarkedOffsets(context.Background())
	}()
	return m, nil
}

func (m *franzMember) assigned() int { return int(m.owned.Load()) }

func (m *franzMember) stop() error {
	m.cancel()
	err := <-m.done
	m.cl.CloseAllowingRebalance()
	return err
}
