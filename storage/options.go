package storage

import (
	"math/rand/v2"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/vfs"
)

// DefaultProducerExpiry is Kafka's producer.id.expiration.ms.
const DefaultProducerExpiry = 24 * time.Hour

// Options is all that a Log is given.
type Options struct {
	FS      vfs.FS
	Handles *vfs.Handles
	// Dir is the partition's directory; it is created when missing.
	Dir            string
	TopicPartition record.TopicPartition
	// TopicID must equal the one in partition.metadata; zero: none is known, whatever stands there is taken.
	TopicID record.UUID
	// TopicIDStored: the caller has read TopicID in partition.metadata just now, it need not be read again.
	TopicIDStored bool
	// New: the log is being created. What a failed attempt has left of it is taken over and made durable as well.
	New bool
	// ParentSynced: the caller fsyncs the directory above a new log, once for many of them.
	ParentSynced bool
	Config       Config
	// RecoveryPoint and LogStartOffset come from the directory's checkpoints; 0 when there are none.
	RecoveryPoint, LogStartOffset record.Offset
	// Clean: the directory was closed in order, so that indexes and the end of the log can be trusted.
	Clean bool
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Delay runs f after d on the owner's scheduler: unlinking, the flush after a roll. It must return at once and
	// never run f itself. nil: time.AfterFunc.
	Delay func(d time.Duration, f func())
	// Rand returns a number in 0 … n-1, for segment.jitter.ms; nil: math/rand.
	Rand func(n int64) int64
	// ProducerExpiry tells how long an idle producer is remembered, whenever idle ones are looked for; nil:
	// DefaultProducerExpiry.
	ProducerExpiry func() time.Duration
	// SkipTxnVerification accepts transactional batches that were not verified with the coordinator
	// (transaction.partition.verification.enable=false).
	SkipTxnVerification bool
	// Refuse is asked before each append of a client; an error from it is the answer. It must be quick. nil: none is
	// refused.
	Refuse func() error
	// Recovered is told of bytes that recovery has read; may be nil.
	Recovered func(bytes int)
	// OnFailure is called once, outside of every lock, with the first failed write or fsync; may be nil.
	OnFailure func(error)
	// Observe hears what a person should know; called outside of every lock; may be nil.
	Observe func(Event)
}

func (o *Options) setDefaults() {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Delay == nil {
		o.Delay = func(d time.Duration, f func()) { time.AfterFunc(d, f) }
	}
	if o.Rand == nil {
		o.Rand = rand.Int64N
	}
	if o.ProducerExpiry == nil {
		o.ProducerExpiry = producer.Fixed(DefaultProducerExpiry)
	}
	if o.Refuse == nil {
		o.Refuse = func() error { return nil }
	}
	if o.Recovered == nil {
		o.Recovered = func(int) {}
	}
	if o.OnFailure == nil {
		o.OnFailure = func(error) {}
	}
	if o.Observe == nil {
		o.Observe = func(Event) {}
	}
}
