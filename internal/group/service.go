package group

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
)

// Options configure a Service.
type Options struct {
	// Config gives the present settings; default DefaultSettings.
	Config func() Settings
	// Metadata gives the present image; it may return nil before there is one.
	Metadata func() *metadata.Image
	// ConsumerConfig gives what holds for one group of the consumer protocol; default DefaultConsumerConfig.
	ConsumerConfig func(group string) ConsumerConfig
	// StreamsConfig gives what holds for one group of the streams protocol; default DefaultStreamsConfig.
	StreamsConfig func(group string) StreamsConfig
	// ShareConfig gives what holds for one share group; default DefaultShareConfig.
	ShareConfig func(group string) ShareConfig
	// Persister keeps the states of share partitions; nil: share groups are not served.
	Persister SharePersister
	// HighWatermark is that of a partition; false if it is not known here. nil: nobody is told how far share groups are
	// behind.
	HighWatermark func(tp record.TopicPartition) (record.Offset, bool)
	// CreateInternalTopic makes a topic that a streams application needs for itself; it returns nil if the topic exists.
	// replicationFactor is 0 for the broker's default. nil: such topics are never made.
	CreateInternalTopic func(name string, partitions int32, replicationFactor int16, configs map[string]string) error
	// CreateOffsetsTopic makes __consumer_offsets; it returns nil if the topic exists. When it returns, this
	// node has been told of its partitions. nil: the topic is never made.
	CreateOffsetsTopic func() error
	// VerifyTxn asks the transaction coordinator about a partition of __consumer_offsets, see TxnVerification. It
	// returns a Kafka error code. nil: there is no transaction coordinator, all transactional commits are refused.
	VerifyTxn func(ctx context.Context, v TxnVerification) int16
	// CommitTimeout bounds how long an answer waits for its records to be committed (offsets.commit.timeout.ms);
	// default 5 s. LoadBufferBytes is offsets.load.buffer.size; default 5 MiB.
	CommitTimeout   time.Duration
	LoadBufferBytes int
	// AppendError says what an error of Partition.Append means, see coord.Options. Optional.
	AppendError func(error) error
	// Now stamps commits and group states and decides what has expired; default time.Now.
	Now func() time.Time
	// Rand makes member ids; default crypto/rand.
	Rand io.Reader
	// Logger is told what a person should know; default: nobody is told.
	Logger *slog.Logger
}

// Service is the group coordinator: it answers the group and offset requests of the partitions of
// __consumer_offsets that this node leads. All methods may be called concurrently.
type Service struct {
	o       Options
	env     *env
	runtime *coord.Runtime[*machine]
	// watchers are the goroutines that wait for connections to end, background those that wait for the share coordinator;
	// ctx ends with Close.
	watchers, background sync.WaitGroup
	ctx                  context.Context
	cancel               context.CancelFunc
	closed               chan struct{}
	closing              sync.Once
}

// NewService returns a coordinator that leads no partition yet.
func NewService(o Options) *Service {
	if o.Config == nil {
		o.Config = DefaultSettings
	}
	if o.ConsumerConfig == nil {
		o.ConsumerConfig = func(string) ConsumerConfig { return DefaultConsumerConfig() }
	}
	if o.StreamsConfig == nil {
		o.StreamsConfig = func(string) StreamsConfig { return DefaultStreamsConfig() }
	}
	if o.ShareConfig == nil {
		o.ShareConfig = func(string) ShareConfig { return DefaultShareConfig() }
	}
	if o.Metadata == nil {
		o.Metadata = func() *metadata.Image { return nil }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		o: o, closed: make(chan struct{}),
		env: &env{
			settings: o.Config, topics: topicsOf(o.Metadata), image: o.Metadata, consumerConfig: o.ConsumerConfig, streamsConfig: o.StreamsConfig,
			shareConfig: o.ShareConfig, now: o.Now, rand: o.Rand, logger: o.Logger,
		},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.env.beginShares = s.beginStates
	s.runtime = coord.NewRuntime(coord.Options[*machine]{
		Topic:           OffsetsTopic,
		Find:            s.offsetsTopic,
		Create:          o.CreateOffsetsTopic,
		New:             func(_ int32, _ record.LeaderEpoch, t *coord.Timers) *machine { return newMachine(s.env, t) },
		Codec:           func() record.Codec { return o.Config().Codec },
		CommitTimeout:   o.CommitTimeout,
		LoadBufferBytes: o.LoadBufferBytes,
		AppendError:     o.AppendError,
		Now:             o.Now,
		Logger:          o.Logger,
	})
	return s
}

// Elected makes this node the coordinator of the groups of a partition of __consumer_offsets. It does not wait
// for the partition to be read.
func (s *Service) Elected(partition int32, p coord.Partition) { s.runtime.Elected(partition, p) }

// Resigned ends that. Clients that wait are told to look for the coordinator again.
func (s *Service) Resigned(partition int32) { s.runtime.Resigned(partition) }

// Advanced tells that the high watermark of a partition may have moved after an append had returned.
func (s *Service) Advanced(partition int32) { s.runtime.Advanced(partition) }

// Close ends all shards. Requests that wait are answered, later ones are refused.
func (s *Service) Close() {
	s.closing.Do(func() { close(s.closed) })
	s.cancel()
	s.runtime.Close()
	s.watchers.Wait()
	s.background.Wait()
}

// Locate returns the partition of __consumer_offsets that holds a group, see coord.Runtime.Locate.
func (s *Service) Locate(ctx context.Context, group string) (int32, error) {
	return s.runtime.Locate(ctx, group)
}

// offsetsTopic is the offsets topic of the present image; false while there is none.
func (s *Service) offsetsTopic() (coord.Topic, bool) {
	t := lookup(s.env.topics(), false, OffsetsTopic, record.UUID{})
	if t == nil {
		return coord.Topic{}, false
	}
	return coord.Topic{ID: t.ID, Partitions: int32(len(t.Partitions))}, true
}

// topicsOf reads the topics of an image each time it is asked.
func topicsOf(image func() *metadata.Image) func() topicFinder {
	return func() topicFinder {
		if image == nil {
			return nil
		}
		if i := image(); i != nil {
			return i.Topics
		}
		return nil
	}
}

// partition is the partition of a group (GROUP-4).
func (s *Service) partition(group string) (int32, error) { return s.runtime.PartitionOf(group) }

// submit hands an operation to the shard of a group.
func (s *Service) submit(group string, op coord.Op[*machine]) error {
	p, err := s.partition(group)
	if err != nil {
		return err
	}
	return s.runtime.Submit(p, op)
}

// ask runs an operation on the shard of a group and waits for its answer: a short wait, for nothing but appends
// and their commit, which ends when the shard does. It does not end with the client, so run may use what the
// request lends. run gives the answer; failed makes one out of why there is none.
func ask[T any](s *Service, group string, shares bool, run func(m *machine, a *answer[T]) coord.Result, failed func(int16) T) T {
	p, err := s.partition(group)
	if err != nil {
		return failed(code(err))
	}
	return askPartition(s, p, shares, run, failed)
}

func askPartition[T any](s *Service, partition int32, shares bool, run func(m *machine, a *answer[T]) coord.Result, failed func(int16) T) T {
	a := newAnswer[T]()
	err := s.runtime.Submit(partition, coord.Op[*machine]{
		Run:    func(m *machine) coord.Result { return run(m, a) },
		Fail:   func(err error) { a.give(failed(code(err))) },
		Shares: shares,
	})
	if err != nil {
		return failed(code(err))
	}
	<-a.done
	return a.value
}
