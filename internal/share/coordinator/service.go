package coordinator

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/record"
)

// StateTopic is the topic that holds the state of share partitions.
const StateTopic = "__share_group_state"

// Topic is an incarnation of the state topic.
type Topic = coord.Topic

// Options configure a Service. Where no default is said, the field is required.
type Options struct {
	// Config gives the present settings; default DefaultSettings.
	Config func() Settings
	// Topic gives the state topic of the present metadata; false while there is none.
	Topic func() (Topic, bool)
	// CreateTopic makes the state topic; it returns nil if it exists. When it returns, this node has been told of
	// its partitions.
	CreateTopic func() error
	// Exists tells whether the metadata has a partition of a topic.
	Exists func(topic record.UUID, partition int32) bool
	// DeleteRecords deletes the records below an offset of a partition of the state topic that this node leads.
	DeleteRecords func(partition int32, before record.Offset) error
	// CommitTimeout is share.coordinator.write.timeout.ms; default 5 s. LoadBufferBytes is
	// share.coordinator.load.buffer.size; default 5 MiB.
	CommitTimeout   time.Duration
	LoadBufferBytes int
	// AppendError says what an error of Partition.Append means, see coord.Options. Optional.
	AppendError func(error) error
	// Now stamps records; default time.Now.
	Now func() time.Time
	// Logger is told what a person should know; default: nobody is told.
	Logger *slog.Logger
}

// Service is the share coordinator: it answers for the partitions of __share_group_state that this node leads. All
// methods may be called concurrently.
type Service struct {
	o       Options
	env     *env
	runtime *coord.Runtime[*machine]
	// prunings are the goroutines that raise log starts.
	prunings sync.WaitGroup
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
	s.env = &env{settings: o.Config, exists: o.Exists, prune: s.prune, now: o.Now, logger: o.Logger}
	s.runtime = coord.NewRuntime(coord.Options[*machine]{
		Topic:  StateTopic,
		Find:   o.Topic,
		Create: o.CreateTopic,
		New: func(partition int32, _ record.LeaderEpoch, t *coord.Timers) *machine {
			return newMachine(s.env, partition, t)
		},
		Codec:           func() record.Codec { return o.Config().Codec },
		CommitTimeout:   o.CommitTimeout,
		LoadBufferBytes: o.LoadBufferBytes,
		AppendError:     o.AppendError,
		Now:             o.Now,
		Logger:          o.Logger,
	})
	return s
}

// Elected makes this node the coordinator of the share partitions of a partition of __share_group_state. It does not
// wait for the partition to be read.
func (s *Service) Elected(partition int32, p coord.Partition) { s.runtime.Elected(partition, p) }

// Resigned ends that.
func (s *Service) Resigned(partition int32) { s.runtime.Resigned(partition) }

// Advanced tells that the high watermark of a partition may have moved after an append had returned.
func (s *Service) Advanced(partition int32) { s.runtime.Advanced(partition) }

// TopicsDeleted has the state of share partitions removed whose topics are no more.
func (s *Service) TopicsDeleted(ids []record.UUID) {
	gone := make(map[record.UUID]struct{}, len(ids))
	for _, id := range ids {
		gone[id] = struct{}{}
	}
	for _, p := range s.runtime.Partitions() {
		// A shard that has ended meanwhile is another node's, which hears of the topics too.
		_ = s.runtime.Submit(p, coord.Op[*machine]{Patient: true, Run: func(m *machine) coord.Result { return m.dropTopics(gone) }})
	}
}

// Shards counts the partitions of __share_group_state that are led here.
func (s *Service) Shards() coord.Counts { return s.runtime.Counts() }

// Close ends all shards. Requests that wait are answered, later ones are refused.
func (s *Service) Close() {
	s.runtime.Close()
	s.prunings.Wait()
}

// prune deletes records in the background. Runtime.Close waits for the shards that call it, so none begins after that.
func (s *Service) prune(partition int32, before record.Offset) {
	s.prunings.Go(func() {
		if err := s.o.DeleteRecords(partition, before); err != nil {
			s.o.Logger.Warn("old records of share state cannot be deleted, it is tried again when there are more", "topic", StateTopic,
				"partition", partition, "before", before, "err", err)
		}
	})
}

// Locate returns the partition of __share_group_state that holds a share partition, named as Key.String names it, see
// coord.Runtime.Locate.
func (s *Service) Locate(ctx context.Context, key string) (int32, error) {
	return s.runtime.Locate(ctx, key)
}

// decision is what a machine says about one share partition: an answer, and the record that makes it so, if any.
type decision[T any] struct {
	answer T
	record []coord.Record
}

// askEach asks about several share partitions at the same time, each on the shard that has it. The answers come in the
// order of the keys, when all are committed (SHC-1). failed makes an answer out of why there is none.
func askEach[T any](ctx context.Context, s *Service, keys []Key, run func(m *machine, i int) decision[T], failed func(i int, e *kerr.Error) T) []T {
	out := make([]T, len(keys))
	var all sync.WaitGroup
	for i, k := range keys {
		give := func(v T) { out[i] = v; all.Done() }
		all.Add(1)
		p, err := s.Locate(ctx, k.String())
		if err == nil {
			err = s.runtime.Submit(p, coord.Op[*machine]{
				Run: func(m *machine) coord.Result {
					d := run(m, i)
					return coord.Result{Records: d.record, Done: func(err error) coord.Result {
						if err != nil {
							d.answer = failed(i, fault(err))
						}
						give(d.answer)
						return coord.None()
					}}
				},
				Fail: func(err error) { give(failed(i, fault(err))) },
			})
		}
		if err != nil {
			give(failed(i, fault(err)))
		}
	}
	all.Wait()
	return out
}
