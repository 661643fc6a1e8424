package interop

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"
)

type saramaClient struct{}

func (saramaClient) name() string { return "sarama" }

func (saramaClient) sees(messages []message) []message { return messages }

func saramaConfig(version sarama.KafkaVersion) *sarama.Config {
	config := sarama.NewConfig()
	config.Version = version
	config.ClientID = "sarama-" + version.String()
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.MaxMessageBytes = 8 << 20
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Retry.Backoff = 50 * time.Millisecond
	config.Metadata.Retry.Backoff = 50 * time.Millisecond
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Group.Heartbeat.Interval = 200 * time.Millisecond
	config.Consumer.Group.Rebalance.Retry.Backoff = 100 * time.Millisecond
	config.Consumer.Retry.Backoff = 50 * time.Millisecond
	return config
}

func saramaCodec(codec string) sarama.CompressionCodec {
	return map[string]sarama.CompressionCodec{
		"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
		"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
	}[codec]
}

func saramaBytes(b []byte) sarama.Encoder {
	if b == nil {
		return nil
	}
	return sarama.ByteEncoder(b)
}

func (saramaClient) produce(_ context.Context, addr, topic, codec string, messages []message) error {
	config := saramaConfig(sarama.V2_8_0_0)
	config.Producer.Compression = saramaCodec(codec)
	return saramaProduce(config, addr, topic, messages)
}

func saramaProduce(config *sarama.Config, addr, topic string, messages []message) error {
	producer, err := sarama.NewSyncProducer([]string{addr}, config)
	if err != nil {
		return err
	}
	var out []*sarama.ProducerMessage
	for _, m := range messages {
		pm := &sarama.ProducerMessage{Topic: topic, Partition: m.partition, Key: saramaBytes(m.key), Value: saramaBytes(m.value), Timestamp: time.UnixMilli(m.timestampMs)}
		for _, h := range m.headers {
			pm.Headers = append(pm.Headers, sarama.RecordHeader{Key: []byte(h.key), Value: h.value})
		}
		out = append(out, pm)
	}
	if err := producer.SendMessages(out); err != nil {
		return fmt.Errorf("%w (closing: %v)", err, producer.Close())
	}
	return producer.Close()
}

func (saramaClient) consume(ctx context.Context, addr, topic string, partitions int32, n int) ([]message, error) {
	return saramaConsume(ctx, saramaConfig(sarama.V2_8_0_0), addr, topic, partitions, n)
}

func saramaConsume(ctx context.Context, config *sarama.Config, addr, topic string, partitions int32, n int) ([]message, error) {
	consumer, err := sarama.NewConsumer([]string{addr}, config)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	all := make(chan *sarama.ConsumerMessage)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for p := range partitions {
		pc, err := consumer.ConsumePartition(topic, p, sarama.OffsetOldest)
		if err != nil {
			return nil, err
		}
		defer pc.AsyncClose()
		go func() {
			for m := range pc.Messages() {
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
			messages = append(messages, fromSarama(m))
		case <-ctx.Done():
			return messages, ctx.Err()
		}
	}
	return messages, nil
}

func fromSarama(m *sarama.ConsumerMessage) message {
	out := message{partition: m.Partition, timestampMs: m.Timestamp.UnixMilli(), key: m.Key, value: m.Value}
	for _, h := range m.Headers {
		out.headers = append(out.headers, header{string(h.Key), h.Value})
	}
	return out
}

type saramaMember struct {
	group  sarama.ConsumerGroup
	owned  atomic.Int32
	topic  string
	out    chan<- message
	cancel context.CancelFunc
	done   chan struct{}
}

func (saramaClient) join(addr, group, topic string, out chan<- message) (member, error) {
	return saramaJoin(saramaConfig(sarama.V2_8_0_0), addr, group, topic, out)
}

func saramaJoin(config *sarama.Config, addr, group, topic string, out chan<- message) (member, error) {
	g, err := sarama.NewConsumerGroup([]string{addr}, group, config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &saramaMember{group: g, topic: topic, out: out, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(m.done)
		for ctx.Err() == nil {
			// An error here is a rebalance that failed on the way; the next round tries again, and the test
			// has its own deadline.
			_ = g.Consume(ctx, []string{topic}, m)
		}
	}()
	return m, nil
}

func (m *saramaMember) Setup(s sarama.ConsumerGroupSession) error {
	m.owned.Store(int32(len(s.Claims()[m.topic])))
	return nil
}

func (m *saramaMember) Cleanup(s sarama.ConsumerGroupSession) error {
	m.owned.Store(0)
	s.Commit()
	return nil
}

func (m *saramaMember) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case msg, ok := <-claim.Messages():
			if !ok {
				return nil
			}
			m.out <- fromSarama(msg)
			s.MarkMessage(msg, "")
		case <-s.Context().Done():
			return nil
		}
	}
}

func (m *saramaMember) assigned() int { return int(m.owned.Load()) }

func (m *saramaMember) stop() error {
	m.cancel()
	<-m.done
	return m.group.Close()
}
