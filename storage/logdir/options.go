package logdir

import (
	"crypto/rand"
	"io"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/cleaner"
	"github.com/samsalog/samsa/vfs"
)

// Options is all that a Manager is given. A period of 0 or less means that the task never runs by itself.
type Options struct {
	FS vfs.FS
	// Dirs are log.dirs, at least one. MetadataDir holds __cluster_metadata-0; it may be one of Dirs (empty: the
	// first). That log is never touched here, only its directory is locked.
	Dirs        []string
	MetadataDir string
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Rand is the source of new directory ids and unique names; nil: crypto/rand.
	Rand io.Reader
	// RecoveryThreads is how many logs of one directory are opened or closed at the same time; 0: 2.
	RecoveryThreads int
	// RetentionCheckInterval is the period of retention, FlushCheckInterval that of the look for logs whose flush.ms
	// has passed, the others are those of the three checkpoints. InitialDelay passes before the first run.
	RetentionCheckInterval, FlushCheckInterval, RecoveryPointInterval time.Duration
	LogStartInterval, HighWatermarkInterval, InitialDelay             time.Duration
	// DeleteDelay is after what time a -delete directory that Load finds is removed; 0: a minute.
	DeleteDelay time.Duration
	// ProducerExpiry tells how long an idle producer is remembered; nil: a day.
	ProducerExpiry func() time.Duration
	// Cleaner is asked for the settings of compaction whenever they matter; nil: nothing is compacted
	// (log.cleaner.enable=false), and the retention task looks after compacted logs too.
	Cleaner func() cleaner.Settings
	// MaxOpenFiles bounds the descriptors of segments and indexes; 0: 4096.
	MaxOpenFiles int
	// ReserveBytes is how much must stay free in each directory for clients to be allowed to append (DIR-8); nil or 0:
	// they try. It is asked at each check.
	ReserveBytes func() int64
	// SpaceCheckInterval is the period of the look at the free space.
	SpaceCheckInterval time.Duration
	// BallastBytes is the size of a file in the metadata directory that gives the metadata log its room on a full disk;
	// 0: there is none.
	BallastBytes int
	// OnRoom is told when a directory has room again in which something could not be written or opened; then Create
	// succeeds where it has failed. It runs on the goroutine of the check, and must not call Close. May be nil.
	OnRoom func()
	// MoveThreads is how many logs are moved between directories at a time; 0: as many as there are directories.
	// MoveBytesPerSecond bounds what all moves copy together; nil or 0: no limit.
	MoveThreads        int
	MoveBytesPerSecond func() int64
	// OnMoved is told that Log returns another log for a partition: it was moved. May be nil. It runs on a goroutine of
	// its own and must not call Close.
	OnMoved func(tp record.TopicPartition)
	// BrokerEpoch is asked for the epoch that goes into the clean-shutdown marker; nil: -1.
	BrokerEpoch func() int64
	// Cordoned tells which directories get no new partitions; nil: none.
	Cordoned func(dir string) bool
	// Observe hears what a person should know; may be nil. It must not call back.
	Observe func(Event)
	// OnDirFailure is told once of each directory that fails, at Open too; dirID is zero when it is not known. May be
	// nil. It runs on a goroutine of its own, for which Close waits: it must not call Close itself.
	OnDirFailure func(dirID record.UUID, dir string, err error)
}

const (
	defaultRecoveryThreads = 2    // num.recovery.threads.per.data.dir
	defaultMaxOpenFiles    = 4096 // far below the usual hard limits, far above what is busy at one time
)

func (o *Options) setDefaults() {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.MetadataDir == "" && len(o.Dirs) > 0 {
		o.MetadataDir = o.Dirs[0]
	}
	if o.RecoveryThreads <= 0 {
		o.RecoveryThreads = defaultRecoveryThreads
	}
	if o.DeleteDelay <= 0 {
		o.DeleteDelay = time.Minute
	}
	if o.MaxOpenFiles <= 0 {
		o.MaxOpenFiles = defaultMaxOpenFiles
	}
	if o.ReserveBytes == nil {
		o.ReserveBytes = func() int64 { return 0 }
	}
	if o.MoveThreads <= 0 {
		o.MoveThreads = max(len(o.Dirs), 1)
	}
	if o.MoveBytesPerSecond == nil {
		o.MoveBytesPerSecond = func() int64 { return 0 }
	}
	if o.OnMoved == nil {
		o.OnMoved = func(record.TopicPartition) {}
	}
	if o.OnRoom == nil {
		o.OnRoom = func() {}
	}
	if o.BrokerEpoch == nil {
		o.BrokerEpoch = func() int64 { return checkpoint.UnknownBrokerEpoch }
	}
	if o.Cordoned == nil {
		o.Cordoned = func(string) bool { return false }
	}
	if o.Observe == nil {
		o.Observe = func(Event) {}
	}
	if o.OnDirFailure == nil {
		o.OnDirFailure = func(record.UUID, string, error) {}
	}
}
