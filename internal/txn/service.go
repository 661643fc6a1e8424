package txn

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// TransactionsTopic is the topic that holds the state of transactions.
const TransactionsTopic = "__transaction_state"

// Topic is an incarnation of the transaction topic.
type Topic = coord.Topic

// Options configure a Service. Where no default is said, the field is required.
type Options struct {
	// Config gives the present settings; default DefaultSettings.
	Config func() Settings
	// Topic gives the transaction topic of the present metadata; false while there is none.
	Topic func() (Topic, bool)
	// CreateTopic makes the transaction topic; it returns nil if it exists. When it returns, this node has been told of
	// its partitions.
	CreateTopic func() error
	// Exists tells whether the metadata has a partition.
	Exists func(record.TopicPartition) bool
	// Append appends a marker to a partition that this node leads.
	Append func(tp record.TopicPartition, marker []byte, o storage.AppendOptions) error
	// OffsetsTopic is the topic whose markers go to AppendToGroups instead, by its partition.
	OffsetsTopic   string
	AppendToGroups func(partition int32, m coord.Marker) error
	// OffsetsPartition is the partition of the offsets topic that a group belongs to.
	OffsetsPartition func(ctx context.Context, group string) (record.TopicPartition, error)
	// NextProducerID returns an id that was never given out.
	NextProducerID func() (record.ProducerID, error)
	// LoadBufferBytes is transaction.state.log.load.buffer.size; default 5 MiB.
	LoadBufferBytes int
	// AppendError says what an error of Partition.Append means, see coord.Options. Optional.
	AppendError func(error) error
	// Now stamps records and decides what has taken too long; default time.Now.
	Now func() time.Time
	// Logger is told what a person should know; default: nobody is told.
	Logger *slog.Logger
}

// Service is the transaction coordinator: it answers the requests for the partitions of __transaction_state that this
// node leads. All methods may be called concurrently.
type Service struct {
	o       Options
	env     *env
	runtime *coord.Runtime[*machine]
	// endings are the goroutines that write markers.
	endings sync.WaitGroup
}

// NewService returns a coordinator that leads no partition yet.
func NewService(o Options) *Service {
	if o.Config == nil {
		o.Config = DefaultSettings
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{o: o}
	s.env = &env{settings: o.Config, now: o.Now, logger: o.Logger, end: s.end}
	s.runtime = coord.NewRuntime(coord.Options[*machine]{
		Topic:  TransactionsTopic,
		Find:   o.Topic,
		Create: o.CreateTopic,
		New: func(partition int32, epoch record.LeaderEpoch, t *coord.Timers) *machine {
			return newMachine(s.env, partition, epoch, t)
		},
		BaseSequence:    record.NoSequence,
		LoadBufferBytes: o.LoadBufferBytes,
		AppendError:     o.AppendError,
		Now:             o.Now,
		Logger:          o.Logger,
	})
	return s
}

// Elected makes this node the coordinator of the transactional ids of a partition of __transaction_state. It does not
// wait for the partition to be read.
func (s *Service) Elected(partition int32, p coord.Partition) { s.runtime.Elected(partition, p) }

// Resigned ends that.
func (s *Service) Resigned(partition int32) { s.runtime.Resigned(partition) }

// Advanced tells that the high watermark of a partition may have moved after an append had returned.
func (s *Service) Advanced(partition int32) { s.runtime.Advanced(partition) }

// Close ends all shards and the writing of markers. What is decided and not yet ended is ended after the next start.
func (s *Service) Close() {
	s.runtime.Close()
	s.endings.Wait()
}

// Locate returns the partition of __transaction_state that holds a transactional id, see coord.Runtime.Locate.
func (s *Service) Locate(ctx context.Context, id string) (int32, error) {
	return s.runtime.Locate(ctx, id)
}

// newProducerID takes a producer id that was never given out.
func (s *Service) newProducerID() (record.ProducerID, int16) {
	id, err := s.o.NextProducerID()
	if err != nil {
		s.o.Logger.Error("cannot take a new block of producer ids", "err", err)
		return record.NoProducerID, kerr.CoordinatorLoadInProgress.Code // which old clients try again too
	}
	return id, 0
}

// withSpareID asks, and once more with a new producer id if the outcome wants one: ids are not taken for nothing, and
// not by a shard, since that may wait for the metadata log.
func (s *Service) withSpareID(ask func(spare record.ProducerID) outcome) outcome {
	o := ask(record.NoProducerID)
	if !o.wantsID {
		return o
	}
	id, c := s.newProducerID()
	if c != 0 {
		return refused(c)
	}
	return ask(id)
}

// answer is where one request waits for its response. Its shard gives it, once.
type answer[T any] struct{ c chan T }

func (a *answer[T]) give(v T) { a.c <- v }

// ask runs an operation on the shard of a transactional id and waits for its answer. run gives the answer, exactly
// once; failed makes one out of why there is none.
func ask[T any](s *Service, id string, run func(m *machine, a *answer[T]) coord.Result, failed func(int16) T) T {
	p, err := s.runtime.PartitionOf(id)
	if err != nil {
		return failed(code(err))
	}
	return askPartition(s, p, run, failed)
}

func askPartition[T any](s *Service, partition int32, run func(m *machine, a *answer[T]) coord.Result, failed func(int16) T) T {
	a := &answer[T]{make(chan T, 1)}
	err := s.runtime.Submit(partition, coord.Op[*machine]{
		Run:  func(m *machine) coord.Result { return run(m, a) },
		Fail: func(err error) { a.give(failed(code(err))) },
	})
	if err != nil {
		return failed(code(err))
	}
	return <-a.c
}
