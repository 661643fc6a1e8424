package interop

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
)

type segmentioClient struct{}

func (segmentioClient) name() string { return "kafka-go" }

// sees: kafka-go reads empty bytes as nil.
func (segmentioClient) sees(messages []message) []message { return emptyAsNull(messages) }

// chosenPartition is a balancer for messages that carry their partition in WriterData.
func chosenPartition(m kafka.Message, _ ...int) int { return m.WriterData.(int) }

func segmentioCodec(codec string) kafka.Compression {
	return map[string]kafka.Compression{"none": 0, "gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd}[codec]
}

func (segmentioClient) produce(ctx context.Context, addr, topic, codec string, messages []message) error {
	w := &kafka.Writer{
		Addr: kafka.TCP(addr), Topic: topic, Balancer: kafka.BalancerFunc(chosenPartition), Compression: segmentioCodec(codec),
		RequiredAcks: kafka.RequireAll, BatchBytes: 8 << 20, BatchTimeout: 10 * time.Millisecond, Transport: &kafka.Transport{},
	}
	var out []kafka.Message
	for _, m := range messages {
		km := kafka.Message{Key: m.key, Value: m.value, Time: time.UnixMilli(m.timestampMs), WriterData: int(m.partition)}
		for _, h := range m.headers {
			km.Headers = append(km.Headers, kafka.Header{Key: h.key, Value: h.value})
		}
		out = append(out, km)
	}
	return errors.Join(w.WriteMessages(ctx, out...), w.Close())
}

func (segmentioClient) consume(ctx context.Context, addr, topic string, partitions int32, n int) ([]message, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	all := make(chan kafka.Message)
	var readers sync.WaitGroup
	defer readers.Wait()
	for p := range partitions {
		readers.Add(1)
		go func() {
			defer readers.Done()
			r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{addr}, Topic: topic, Partition: int(p), MinBytes: 1, MaxBytes: 16 << 20, MaxWait: 250 * time.Millisecond})
			defer r.Close()
			for {
				m, err := r.ReadMessage(ctx)
				if err != nil {
					if ctx.Err() == nil {
						cancel(fmt.Errorf("partition %d: %w", p, err))
					}
					return
				}
				select {
				case all <- m:
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	var messages []message
	for len(messages) < n {
		select {
		case m := <-all:
			messages = append(messages, fromSegmentio(m))
		case <-ctx.Done():
			return messages, context.Cause(ctx)
		}
	}
	cancel(nil)
	return messages, nil
}

func fromSegmentio(m kafka.Message) message {
	out := message{partition: int32(m.Partition), timestampMs: m.Time.UnixMilli(), key: m.Key, value: m.Value}
	for _, h := range m.Headers {
		out.headers = append(out.headers, header{h.Key, h.Value})
	}
	return out
}

type segmentioMember struct {
	group  *kafka.ConsumerGroup
	owned  atomic.Int32
	cancel context.CancelFunc
	done   chan error
}

// join uses the group API under kafka-go's Reader, which tells what is assigned.
func (segmentioClient) join(addr, group, topic string, out chan<- message) (member, error) {
	g, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: group, Brokers: []string{addr}, Topics: []string{topic}, StartOffset: kafka.FirstOffset,
		HeartbeatInterval: 200 * time.Millisecond, JoinGroupBackoff: 100 * time.Millisecond, SessionTimeout: 10 * time.Second, RebalanceTimeout: 10 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &segmentioMember{group: g, cancel: cancel, done: make(chan error, 1)}
	go func() {
		for {
			gen, err := g.Next(ctx)
			switch {
			case ctx.Err() != nil || errors.Is(err, kafka.ErrGroupClosed):
				m.done <- nil
				return
			case err != nil:
				// A rebalance that failed on the way: the next round tries again.
				continue
			}
			m.owned.Store(int32(len(gen.Assignments[topic])))
			for _, a := range gen.Assignments[topic] {
				gen.Start(func(ctx context.Context) { readGeneration(ctx, addr, topic, gen, a, out) })
			}
		}
	}()
	return m, nil
}

// readGeneration reads one partition until the generation ends, committing after each record.
func readGeneration(ctx context.Context, addr, topic string, gen *kafka.Generation, a kafka.PartitionAssignment, out chan<- message) {
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{addr}, Topic: topic, Partition: a.ID, MinBytes: 1, MaxBytes: 16 << 20, MaxWait: 250 * time.Millisecond})
	defer r.Close()
	if err := r.SetOffset(a.Offset); err != nil {
		return
	}
	for {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			return
		}
		out <- fromSegmentio(m)
		if err := gen.CommitOffsets(map[string]map[int]int64{topic: {a.ID: m.Offset + 1}}); err != nil {
			return
		}
	}
}

func (m *segmentioMember) assigned() int { return int(m.owned.Load()) }

func (m *segmentioMember) stop() error {
	m.cancel()
	err := m.group.Close()
	return errors.Join(err, <-m.done)
}
