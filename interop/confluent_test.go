package interop

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

type confluentClient struct{}

func (confluentClient) name() string { return "librdkafka" }

func (confluentClient) sees(messages []message) []message { return messages }

func (confluentClient) produce(ctx context.Context, addr, topic, codec string, messages []message) error {
	p, err := kafka.NewProducer(&kafka.ConfigMap{
		"bootstrap.servers": addr, "acks": "all", "compression.codec": codec, "enable.idempotence": true,
		"message.max.bytes": 8 << 20, "linger.ms": 10,
	})
	if err != nil {
		return err
	}
	defer p.Close()
	delivered := make(chan kafka.Event, len(messages))
	for _, m := range messages {
		km := &kafka.Message{TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: m.partition}, Key: m.key, Value: m.value, Timestamp: time.UnixMilli(m.timestampMs)}
		for _, h := range m.headers {
			km.Headers = append(km.Headers, kafka.Header{Key: h.key, Value: h.value})
		}
		if err := p.Produce(km, delivered); err != nil {
			return err
		}
	}
	for range messages {
		select {
		case e := <-delivered:
			if err := e.(*kafka.Message).TopicPartition.Error; err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func confluentConsumer(addr, group string) (*kafka.Consumer, error) {
	return kafka.NewConsumer(&kafka.ConfigMap{
		"bootstrap.servers": addr, "group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": false,
		"heartbeat.interval.ms": 200, "session.timeout.ms": 10000, "fetch.wait.max.ms": 100,
	})
}

func (confluentClient) consume(ctx context.Context, addr, topic string, partitions int32, n int) ([]message, error) {
	c, err := confluentConsumer(addr, "assigned-by-hand")
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var assigned []kafka.TopicPartition
	for p := range partitions {
		assigned = append(assigned, kafka.TopicPartition{Topic: &topic, Partition: p, Offset: kafka.OffsetBeginning})
	}
	if err := c.Assign(assigned); err != nil {
		return nil, err
	}
	var messages []message
	for len(messages) < n {
		if ctx.Err() != nil {
			return messages, ctx.Err()
		}
		switch e := c.Poll(100).(type) {
		case *kafka.Message:
			if e.TopicPartition.Error != nil {
				return messages, e.TopicPartition.Error
			}
			messages = append(messages, fromConfluent(e))
		case kafka.Error:
			if e.IsFatal() {
				return messages, e
			}
		}
	}
	return messages, nil
}

func fromConfluent(m *kafka.Message) message {
	out := message{partition: m.TopicPartition.Partition, timestampMs: m.Timestamp.UnixMilli(), key: m.Key, value: m.Value}
	for _, h := range m.Headers {
		out.headers = append(out.headers, header{h.Key, h.Value})
	}
	return out
}

type confluentMember struct {
	owned  atomic.Int32
	cancel context.CancelFunc
	done   chan error
}

func (confluentClient) join(addr, group, topic string, out chan<- message) (member, error) {
	c, err := confluentConsumer(addr, group)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &confluentMember{cancel: cancel, done: make(chan error, 1)}
	if err := c.Subscribe(topic, m.rebalanced); err != nil {
		cancel()
		return nil, errors.Join(err, c.Close())
	}
	go func() {
		for ctx.Err() == nil {
			if msg, ok := c.Poll(50).(*kafka.Message); ok && msg.TopicPartition.Error == nil {
				out <- fromConfluent(msg)
			}
		}
		_, err := c.Commit()
		var code kafka.Error
		if errors.As(err, &code) && code.Code() == kafka.ErrNoOffset {
			err = nil
		}
		m.done <- errors.Join(err, c.Close())
	}()
	return m, nil
}

// rebalanced commits what was delivered before partitions are given away.
func (m *confluentMember) rebalanced(c *kafka.Consumer, e kafka.Event) error {
	switch e := e.(type) {
	case kafka.AssignedPartitions:
		m.owned.Store(int32(len(e.Partitions)))
		return c.Assign(e.Partitions)
	case kafka.RevokedPartitions:
		m.owned.Store(0)
		_, err := c.Commit()
		var code kafka.Error
		if errors.As(err, &code) && code.Code() != kafka.ErrNoOffset {
			return fmt.Errorf("commit when revoked: %w", err)
		}
		return c.Unassign()
	}
	return nil
}

func (m *confluentMember) assigned() int { return int(m.owned.Load()) }

func (m *confluentMember) stop() error {
	m.cancel()
	return <-m.done
}
