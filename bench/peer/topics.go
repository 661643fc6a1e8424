package peer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// adminTimeout bounds one administrative request; ten thousand partitions take a while.
const adminTimeout = 5 * time.Minute

// Ping asks for metadata once.
func (r *Running) Ping(ctx context.Context) error {
	if r.Name == NATS {
		return r.nats(ctx, func(ctx context.Context, js jetstream.JetStream) error {
			_, err := js.AccountInfo(ctx)
			return err
		})
	}
	if r.Name == Raw {
		return nil // its client dials until it is there
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(r.Addr), kgo.RequestRetries(0))
	if err != nil {
		return err
	}
	defer cl.Close()
	_, err = kadm.NewClient(cl).BrokerMetadata(ctx)
	return err
}

func (r *Running) admin(ctx context.Context, do func(ctx context.Context, a *kadm.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(r.Addr), kgo.MetadataMinAge(10*time.Millisecond))
	if err != nil {
		return err
	}
	defer cl.Close()
	a := kadm.NewClient(cl)
	a.SetTimeoutMillis(int32(adminTimeout.Milliseconds()))
	return do(ctx, a)
}

func (r *Running) nats(ctx context.Context, do func(ctx context.Context, js jetstream.JetStream) error) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := nats.Connect("nats://" + r.Addr)
	if err != nil {
		return err
	}
	defer c.Close()
	js, err := jetstream.New(c)
	if err != nil {
		return err
	}
	return do(ctx, js)
}

// partitionsAtOnce is how many partitions are created with one request: Apache Kafka refuses ten thousand.
const partitionsAtOnce = 5000

// CreateTopic makes a topic, or for JetStream a stream with files, and waits until each partition has a leader.
func (r *Running) CreateTopic(ctx context.Context, name string, partitions int, configs map[string]string) error {
	if r.Name == NATS {
		return r.nats(ctx, func(ctx context.Context, js jetstream.JetStream) error {
			_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name}, Storage: jetstream.FileStorage})
			return err
		})
	}
	values := map[string]*string{}
	for k, v := range configs {
		values[k] = &v
	}
	err := r.admin(ctx, func(ctx context.Context, a *kadm.Client) error {
		if _, err := a.CreateTopic(ctx, int32(min(partitions, partitionsAtOnce)), 1, values, name); err != nil {
			return err
		}
		for n := partitionsAtOnce; n < partitions; {
			n = min(n+partitionsAtOnce, partitions)
			if responses, err := a.UpdatePartitions(ctx, n, name); err != nil || responses.Error() != nil {
				return errors.Join(err, responses.Error())
			}
		}
		for {
			topics, err := a.ListTopics(ctx, name)
			if err != nil {
				return err
			}
			if led(topics[name], partitions) {
				return nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	if err != nil {
		return fmt.Errorf("create topic %s in %s: %w", name, r.Name, err)
	}
	return nil
}

func led(t kadm.TopicDetail, partitions int) bool {
	if t.Err != nil || len(t.Partitions) != partitions {
		return false
	}
	for _, p := range t.Partitions {
		if p.Err != nil || p.Leader < 0 {
			return false
		}
	}
	return true
}

// DeleteTopic deletes a topic or stream.
func (r *Running) DeleteTopic(ctx context.Context, name string) error {
	if r.Name == NATS {
		return r.nats(ctx, func(ctx context.Context, js jetstream.JetStream) error { return js.DeleteStream(ctx, name) })
	}
	err := r.admin(ctx, func(ctx context.Context, a *kadm.Client) error {
		_, err := a.DeleteTopic(ctx, name)
		return err
	})
	if err != nil {
		return fmt.Errorf("delete topic %s in %s: %w", name, r.Name, err)
	}
	return nil
}

// ConfigureTopic sets one setting of a topic.
func (r *Running) ConfigureTopic(ctx context.Context, name, key, value string) error {
	err := r.admin(ctx, func(ctx context.Context, a *kadm.Client) error {
		responses, err := a.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: key, Value: &value}}, name)
		if err != nil {
			return err
		}
		for _, one := range responses {
			if one.Err != nil {
				return one.Err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("configure topic %s in %s: %w", name, r.Name, err)
	}
	return nil
}

// FirstRecord produces one record as soon as the peer takes it, into the last partition of a topic that is created if
// create is set, and returns how long that was after the process was started.
func (r *Running) FirstRecord(ctx context.Context, topic string, partitions int, create bool) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	const often = 2 * time.Millisecond
	const oftenest = 10 * time.Millisecond // the client takes no less
	for dial(ctx, r.Addr) != nil {
		select {
		case <-r.done:
			return 0, fmt.Errorf("%s ended while starting:\n%s", r.Name, r.lastLines())
		case <-ctx.Done():
			return 0, fmt.Errorf("%s does not listen: %w", r.Name, ctx.Err())
		case <-time.After(often):
		}
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(r.Addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MetadataMinAge(oftenest), kgo.ProducerLinger(0),
		kgo.RetryBackoffFn(func(int) time.Duration { return often }), kgo.UnknownTopicRetries(-1),
	}
	if create {
		if err := r.createEagerly(ctx, topic, opts); err != nil {
			return 0, err
		}
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return 0, fmt.Errorf("first record: %w", err)
	}
	defer cl.Close()
	for {
		// The client gives a partition up that has no leader for long; with many partitions that is what starting is.
		record := &kgo.Record{Topic: topic, Partition: int32(partitions - 1), Value: []byte("first")}
		err := cl.ProduceSync(ctx, record).FirstErr()
		if err == nil {
			return time.Since(r.Began), nil
		}
		if !kerr.IsRetriable(err) || ctx.Err() != nil {
			return 0, fmt.Errorf("first record to %s: %w:\n%s", r.Name, err, r.lastLines())
		}
	}
}

// createEagerly creates a topic of one partition with a client that does not wait between attempts.
func (r *Running) createEagerly(ctx context.Context, topic string, opts []kgo.Opt) error {
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return fmt.Errorf("first topic: %w", err)
	}
	defer cl.Close()
	if _, err := kadm.NewClient(cl).CreateTopic(ctx, 1, 1, nil, topic); err != nil {
		return fmt.Errorf("first topic in %s: %w:\n%s", r.Name, err, r.lastLines())
	}
	return nil
}
